"""The names that public functions take, as types: editors offer them, type checkers know them.

`make names` writes this file from what is registered; a test compares the two. Functions take any
other text as well: a name may be that of another package's policy, or FILE.py:Class, or come from a
command line. What is not known is refused with the nearest name.
"""

from __future__ import annotations

from typing import Literal

TaskPolicyName = Literal[
    "conservative", "decay", "dynamicmr", "easy", "fair", "fcfs", "fifo", "karma", "ltrf", "ltyarn",
    "mlrf", "queue-tree", "ras", "static", "vm-pools", "yarn", "yarn-like",
]  # fmt: skip
ReleasePolicyName = Literal["input", "mrorder", "on-demand"]
AdmissionPolicyName = Literal["all", "capacity", "vm-pools"]
OrderName = Literal[
    "fair", "fifo", "deadline", "fewest", "mlrf", "ltrf", "ltyarn", "karma", "decay", "queues",
    "utility", "critical-path",
]  # fmt: skip
GoalsName = Literal["off", "first", "guarded"]
SlotsName = Literal[
    "typed", "lent", "lent-by-pool", "containers", "resources", "rigid", "easy", "conservative",
]  # fmt: skip
CopiesName = Literal["none", "late", "sepb"]
DataName = Literal["none", "delay", "prescheduling"]
MachinesName = Literal["fixed", "plan", "vm-pools"]
PresetName = Literal[
    "roomy", "busy", "contended", "rented", "auto", "fifo", "fair", "static", "dynamicmr",
    "yarn-like", "queue-tree", "mlrf", "ltrf", "ltyarn", "karma", "decay", "ras", "vm-pools",
    "fcfs", "easy", "conservative",
]  # fmt: skip
VmPolicyName = Literal["vm-aware", "instant-opt", "per-job", "dedicated"]
VmServiceName = Literal["delayed", "immediate"]
SharingPolicyName = Literal["static", "mlrf", "ltrf", "karma", "decay"]
LeftoversName = Literal["keep", "drop"]
EngineName = Literal["local", "ray", "yarn"]
LogFormatName = Literal[
    "auto", "jhist", "mr1", "spark", "sluice", "rumen", "sls", "batsim", "sacct", "squeue", "sinfo",
    "airflow", "dbt", "ray", "tez", "philly", "alibaba", "wfformat", "kueue", "volcano", "rm-apps",
    "swf", "swim",
]  # fmt: skip
ChartName = Literal["gantt", "jobs", "slots", "utilisation", "waiting", "utility"]
EvaluationName = Literal[
    "backfill", "capacity", "cura", "dynamicmr", "loop", "ltyarn", "ordering", "pareto", "ras",
    "yarn",
]  # fmt: skip
BoundName = Literal["low", "avg", "up"]
OrderingMethodName = Literal[
    "input", "reverse", "mk-jr", "mk-tct-jr", "tct", "sweep", "exact", "search", "auto",
    "critical-path", "neh",
]  # fmt: skip
ObjectiveName = Literal["makespan", "tct", "both"]
PlanSearchName = Literal["exact", "slots", "slots-printed", "vms"]
TuningName = Literal["tasks", "tasks-hill", "buffers", "buffers-random", "buffers-rrs"]
SingleWaveName = Literal["estimated", "exact"]
IoModelName = Literal["paper", "merge"]
RentName = Literal["reserved", "on-demand", "spot"]
OneNightName = Literal["newest", "typical", "drawn"]
LeaveOutName = Literal["run", "setting", "nothing"]
