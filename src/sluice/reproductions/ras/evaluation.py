"""The evaluation of Polo et al., "Resource-aware Adaptive Scheduling for MapReduce Clusters",
Middleware 2011, in the simulator.

The authors ran real jobs on 22 machines. Here jobs of the same sizes, submissions, goals and
profiles are simulated; task lengths are calibrated. Source: RAS spec, sections 8 to 10.
"""

from __future__ import annotations

from sluice.reproductions.ras.random_goals import goals_on_random_workloads
from sluice.reproductions.ras.relaxed import relaxed_goals
from sluice.reproductions.ras.sensitivity import schedulers, worlds
from sluice.reproductions.ras.tight import tight_goals
from sluice.reproductions.runner import Evaluation

EVALUATION = Evaluation(
    name="ras",
    title="RAS: placement by resources, completion-time goals (Polo et al., Middleware 2011)",
    timed={
        "experiment-1": (relaxed_goals, 1.5),
        "experiment-2": (tight_goals, 1.59),
        "sensitivity": (worlds, 1.59),
        "settings": (schedulers, 0.29),
        "random-goals": (goals_on_random_workloads, 1.35),
    },
    left_out={
        "figures 3 and 4": (
            "their curves are of the real run; `sluice simulate --plot` draws those of any workload"
        ),
        "seconds of single jobs": (
            "the paper prints no task lengths, so only makespans, ratios and goals are compared"
        ),
    },
    seeds=5,
)
