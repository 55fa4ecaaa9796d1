"""Past runs of jobs: their phases, and the measured length and resource use of the tasks.

The reader of every log format returns these values, and so do Sluice's own runs. Profiles,
predictions and replays use them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.model.errors import InvalidInput

DEADLINE = "deadline_s"  # key of the configuration: after submission, where the job had one
ENGINE = "engine"  # key of the configuration: the engine of a run, where a source has several
# Logs of systems whose cores run tasks of all stages.
SHARED_SLOTS = frozenset({"spark", "airflow", "dbt", "ray", "tez"})
# Formats that describe the same jobs, with the same ids.
_SAME_JOBS = {"jhist": "mapreduce", "rumen": "mapreduce"}


def job_kind(source: str) -> str:
    """The kind of job that a log format describes; a job id is unique within it.

    >>> job_kind("rumen") == job_kind("jhist"), job_kind("spark")
    (True, 'spark')
    """
    return _SAME_JOBS.get(source, source)


def sources_of(kind: str) -> tuple[str, ...]:
    """The log formats that describe a kind of job.

    >>> sources_of("mapreduce"), sources_of("spark")
    (('jhist', 'rumen'), ('spark',))
    """
    return tuple(one for one, described in _SAME_JOBS.items() if described == kind) or (kind,)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTask:
    """One successful attempt. Instants are seconds since the run was submitted.

    fetched_at_s: when a task that shuffles had all its input; None if it was not recorded.
    input_bytes, input_records: what it read, of the input or of a shuffle; 0 if not recorded.
    """

    started_at_s: float
    finished_at_s: float
    fetched_at_s: float | None = None
    node: str | None = None
    input_bytes: int = 0
    input_records: int = 0

    @property
    def length_s(self) -> float:
        """Seconds from launch to finish."""
        return self.finished_at_s - self.started_at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCosts:
    """The costs of the tasks of a phase besides their own work, summed over successful attempts.

    launch_s: between launch and finish, but outside the task's code: fetching the code and the
    task, sending back its result.  gc_s: collecting garbage.  fetch_wait_s: waiting for shuffled
    input.  spilled_bytes: written to disk for lack of memory.
    spilled_records: written to disk by MapReduce, which writes each at least once.
    remote_tasks, remote_s: attempts that ran on another node than their input, and their lengths.
    None: the log does not hold it.
    """

    launch_s: float = 0.0
    gc_s: float | None = None
    fetch_wait_s: float = 0.0
    spilled_bytes: int | None = None
    spilled_records: int | None = None
    remote_tasks: int | None = None
    remote_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPhase:
    """The tasks between two barriers: a map phase, a reduce phase, or a stage.

    kind: "map" for tasks that read input, "reduce" for tasks that read a shuffle.
    tasks: successful attempts; failed: failed attempts (killed attempts are not counted).
    avg_s, max_s: average and longest time of the successful attempts, from launch to finish.
    Bytes and records are sums over them.
    timeline: the single tasks in order of task number; empty if the log has no single tasks.
    after: positions of the phases whose output this phase reads.
    costs: None if the log does not hold them.
    """

    name: str
    kind: str
    tasks: int
    avg_s: float
    max_s: float
    failed: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    input_records: int = 0
    output_records: int = 0
    cpu_s: float | None = None
    rss_bytes_max: int | None = None
    timeline: tuple[PastTask, ...] = ()
    after: tuple[int, ...] = ()
    costs: TaskCosts | None = None

    def __post_init__(self) -> None:
        where = f"phase {self.name!r}"
        if self.tasks < 1:
            raise InvalidInput(f"tasks is {self.tasks}", where=where, hint="leave out the phase")
        if not 0 <= self.avg_s <= self.max_s < math.inf:
            raise InvalidInput(
                f"avg_s is {self.avg_s} and max_s is {self.max_s}",
                where=where,
                hint="give finite seconds with avg_s at most max_s",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One finished job, as its log describes it.

    run_id: unique within its source, such as `job_1329348432655_0001`.
    profile: the name that groups the runs of one job: the name of the job or application.
    source: the log format: jhist, mr1, rumen, sls, spark, swim, swf, batsim, sacct, squeue,
    sinfo, airflow, dbt, ray, tez, alibaba, philly, wfformat, kueue, volcano, rm-apps, sluice.
    submitted_at_s: seconds since the epoch of the log; None if the log has no such instant.
    slots: how many tasks could run concurrently, by kind of phase, if known.
    machine_type: the machine type, if known.  configuration: settings that affect the speed.
    notes: one sentence for each value that the log lacks, with the value used instead.
    name: the name of the job or application in the log, if the profile has another name.
    """

    run_id: str
    profile: str
    source: str
    phases: tuple[PastPhase, ...]
    succeeded: bool = True
    submitted_at_s: float | None = None
    elapsed_s: float | None = None
    queue: str | None = None
    machine_type: str | None = None
    slots: Mapping[str, int] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    name: str | None = None

    @property
    def origin(self) -> str:
        """The kind of log and the engine; runs of different origin are not compared.

        The history files of MapReduce and their Rumen form describe the same jobs.
        """
        kind = job_kind(self.source)
        engine = self.configuration.get(ENGINE)
        return kind if engine is None else f"{kind}/{engine}"

    @property
    def input_bytes(self) -> int:
        """Bytes of input that its phases read; shuffled bytes are not included."""
        return sum(phase.input_bytes for phase in self.phases)
