"""Jobs: a list of phases with barriers between them.

Most jobs have two phases, map and reduce, but nothing here assumes that; a job can be a DAG of
stages. `Phase.after` lists the phases that must end before a phase ends. Without slow-start they
must also end before the phase starts.

On rented VMs, a pool holds VMs of one type. A job with predictions runs on VMs of one pool; each
prediction is a cluster that it could get. Source: Cura, spec sections 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sluice.model.buffers import BufferRanges
from sluice.model.copies import with_checked
from sluice.model.described import in_file
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.ids import JobId, PoolId, checked_id
from sluice.model.lengths import TaskLengths
from sluice.model.number_checks import check_numbers
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind

TASKS_MAX = 10**8
STAGES_MAX = 10_000
AFTER_MAX = 10_000  # jobs that one job waits for
HIDDEN = "(hidden)"  # in place of the value of an environment variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Resources that one task of a phase uses while it works, and while it shuffles.

    fetch_per_map: added while the task shuffles, for each placed map of the job.
    Source: RAS, spec section 3.
    """

    work: Resources = NOTHING
    fetch: Resources = NOTHING
    fetch_per_map: Resources = NOTHING

    @property
    def is_zero(self) -> bool:
        """Whether a task uses nothing that is counted."""
        return self.work.is_zero and self.fetch.is_zero and self.fetch_per_map.is_zero

    @property
    def other_names(self) -> tuple[str, ...]:
        """Names of the other resources in any of them."""
        parts = (self.work, self.fetch, self.fetch_per_map)
        return tuple(name for part in parts for name, _ in part.other)

    def with_names(self, names: tuple[str, ...]) -> Demand:
        """The demand with all its parts as `Resources.with_names` has them."""
        return Demand(
            work=self.work.with_names(names),
            fetch=self.fetch.with_names(names),
            fetch_per_map=self.fetch_per_map.with_names(names),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Tasks without order among them; all of them may run concurrently.

    tasks: count, at least 1.  lengths: task lengths; None if they are not known.
    fetch: lengths of the shuffle of each task, before its own work; None for no shuffle.
    after: positions of the earlier phases whose output this phase reads.
    units, unit_weight: resource units of one task and their weight (long-term sharing).
    """

    name: str
    kind: SlotKind
    tasks: int
    lengths: TaskLengths | None = None
    fetch: TaskLengths | None = None
    after: tuple[int, ...] = ()
    demand: Demand = field(default=Demand())
    tasks_max: int | None = None
    units: float = in_file("resource units that one task takes", 1.0, above_zero=True)
    unit_weight: float = in_file("the weight of these units", 1.0, above_zero=True)

    def __post_init__(self) -> None:
        if not 1 <= self.tasks <= TASKS_MAX:
            raise wrong_value("tasks", self.tasks, self.name, f"give 1 to {TASKS_MAX}")
        check_numbers(self, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOutput:
    """Total output of all maps of a job."""

    bytes: float
    records: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRun:
    """The work of the tasks of one phase, in a job whose phases form a graph.

    name: of the phase.  follows: the phases that it reads, in the order of the file.
    input: file patterns of a phase that follows no other, as of `RunSpec`.
    One of mapper, reducer and python is given.
    """

    name: str
    follows: tuple[str, ...] = ()
    input: tuple[str, ...] = ()
    mapper: tuple[str, ...] | None = None
    combiner: tuple[str, ...] | None = None
    reducer: tuple[str, ...] | None = None
    python: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """The work of a real run: commands (argument vectors, no shell) or a Python object.

    input: file patterns as the user wrote them.  output: folder.  Both are relative to `folder`.
    python: "file.py:Name" of functions or of an mrjob class.
    env: names and values that tasks get. The values may be secrets: they are not part of the
    representation, and `Job.without_env_values` removes them.
    inherit_env: whether tasks get the environment of `sluice run` as well.
    reduces_wanted: number of part files that the workload file asks for; None if it gives none.
    stages: for each phase of a graph, what it executes; `input` has the inputs of all of them then,
    and there are no commands for the whole job.
    """

    folder: str
    input: tuple[str, ...]
    output: str
    mapper: tuple[str, ...] | None = None
    combiner: tuple[str, ...] | None = None
    reducer: tuple[str, ...] | None = None
    python: str | None = None
    split_bytes: int = 32 * 1024 * 1024
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    inherit_env: bool = True
    reduces_wanted: int | None = None
    stages: tuple[StageRun, ...] = ()

    def input_of(self, phase: str) -> tuple[str, ...]:
        """The file patterns of a phase that follows no other."""
        return next((one.input for one in self.stages if one.name == phase), self.input)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predicted run time of a job on `vms` VMs of a type, without an error margin.

    error: margin of this prediction, 0 or more; None for the margin of all predictions.
    """

    vm_type: str
    vms: int
    time_s: float
    error: float | None = None

    def __post_init__(self) -> None:
        field = f"predictions.{self.vm_type}"
        if self.vms < 1:
            raise InvalidInput(f"{field} is for {self.vms} VMs", hint="give 1 VM or more")
        if not 0 < self.time_s < math.inf:
            raise InvalidInput(
                f"{field}.{self.vms} is {self.time_s}", hint="give finite seconds above 0"
            )
        if self.error is not None and not 0 <= self.error < math.inf:
            raise InvalidInput(f"error of {field} is {self.error}", hint="give 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class VmRequest:
    """A cluster that the customer names, in place of one that the provider chooses.

    start_within_s: the job starts at most that long after its submission; None without a limit.
    Source: Cura, sections 2.1 (immediate execution, delayed start) and 2.3.
    """

    vm_type: str
    vms: int
    start_within_s: float | None = None

    def __post_init__(self) -> None:
        checked_id(self.vm_type, what="type")
        if self.vms < 1:
            raise InvalidInput(f"vm_request is for {self.vms} VMs", hint="give 1 VM or more")
        within_s = self.start_within_s
        if within_s is not None and not 0 <= within_s < math.inf:
            raise InvalidInput(
                f"vm_request.start_within_s is {within_s}", hint="give finite seconds, 0 or more"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One submitted job. Instants are seconds since the start of the workload.

    phases: may be empty only if `run` is given; the number of input splits then sets the tasks.
    penalty_usd: cost of refusing the job; None if the file gives none.
    driver_s: work outside tasks, before the first phase may start: start-up, planning, commit.
    predictions: run times on clusters of VMs, for `pools`.  customer: who owns the job.
    vm_request: the cluster that it gets of VM pools; None for one that the scheduler chooses.
    gang: so many tasks of each phase start together, or all of them if it has fewer; 0 for none.
    limit_s: how long the user says that it runs at most; None if the file does not say.
    after: the jobs that must be done before it is submitted; `submitted_at_s` is then the earliest
    instant at which it can be, and a deadline counts from there.
    shares_deadline_of: the later job whose deadline it has a share of; None if its own is the
    user's. Policies keep to it, and results do not count it.
    """

    job_id: JobId
    pool: PoolId
    phases: tuple[Phase, ...]
    submitted_at_s: float = in_file("seconds since the start of the workload", 0.0)
    deadline_at_s: float | None = None
    weight: float = in_file("a relative weight", 1.0, above_zero=True)
    map_output: MapOutput | None = None
    buffer: BufferRanges | None = None
    penalty_usd: float | None = in_file("dollars that refusing the job costs")
    profile: str | None = None
    run: RunSpec | None = None
    driver_s: float = in_file("seconds of work outside tasks, before the first phase", 0.0)
    predictions: tuple[Prediction, ...] = ()
    vm_request: VmRequest | None = None
    customer: str | None = None
    gang: int = 0
    limit_s: float | None = in_file(
        "the seconds that the user says it runs at most", above_zero=True
    )
    after: tuple[JobId, ...] = ()
    shares_deadline_of: JobId | None = None

    def __post_init__(self) -> None:
        where = f"job {self.job_id!r}"
        checked_id(self.job_id, what="job")
        check_numbers(self, where)
        if self.deadline_at_s is not None and not self.submitted_at_s < self.deadline_at_s:
            raise InvalidInput(
                f"deadline_at_s is {self.deadline_at_s}, not after submission"
                f" at {self.submitted_at_s}",
                where=where,
                hint="give a deadline after submitted_at_s (deadline_s counts from submission)",
            )
        if not 0 <= self.gang <= TASKS_MAX:
            raise wrong_value("gang", self.gang, where, f"give true, or 1 to {TASKS_MAX}")
        for index, phase in enumerate(self.phases):
            if phase.after and not 0 <= min(phase.after) <= max(phase.after) < index:
                raise InvalidInput(
                    f"phase {phase.name!r} comes after {phase.after}",
                    where=where,
                    hint="list a phase after all phases that it follows",
                )

    def with_demands(self, instead: Mapping[Demand, Demand]) -> Job:
        """The job with other demands. instead: what takes the place of a demand; else it stays."""
        phases = tuple(
            with_checked(one, demand=instead.get(one.demand, one.demand)) for one in self.phases
        )
        return with_checked(self, phases=phases)

    @property
    def own_deadline_at_s(self) -> float | None:
        """The deadline that the user gave it."""
        return None if self.shares_deadline_of is not None else self.deadline_at_s

    def without_env_values(self) -> Job:
        """The job with the names of its environment variables and without their values.

        This is the job that the driver, the core and the journal see.
        """
        if self.run is None or not self.run.env:
            return self
        names = tuple((name, HIDDEN) for name, _ in self.run.env)
        return replace(self, run=replace(self.run, env=names))

    @property
    def is_map_reduce(self) -> bool:
        """Whether the phases are maps, reduces, or maps followed by reduces that read them."""
        kinds = [phase.kind for phase in self.phases]
        known = ([SlotKind.MAP], [SlotKind.REDUCE], [SlotKind.MAP, SlotKind.REDUCE])
        return kinds in known and (len(kinds) == 1 or self.phases[1].after == (0,))

    @property
    def has_stages(self) -> bool:
        """Whether a phase runs in containers, as the stages of a DAG do."""
        return any(phase.kind is SlotKind.CONTAINER for phase in self.phases)

    def together(self, phase: Phase) -> int:
        """How many tasks of one of its phases start together; 0 or 1 if each starts alone."""
        return min(self.gang, phase.tasks)

    @property
    def tasks(self) -> int:
        """Number of tasks of all phases."""
        return sum(phase.tasks for phase in self.phases)
