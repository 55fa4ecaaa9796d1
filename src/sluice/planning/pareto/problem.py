"""Input of a plan: jobs, VM offers and prices, limits, and tuning options."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from sluice.estimate.bounds import SingleWave
from sluice.model.buffers import BufferRanges
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, MapOutput, Phase
from sluice.model.lengths import TaskLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import VmOffer
from sluice.model.prices import Prices
from sluice.model.slot_kind import SlotKind
from sluice.planning.pareto.precedence import Precedence
from sluice.planning.pareto.rounding import ROUNDING

TUNED_TASKS_MAX = 10**6
DEFAULT_RANGES = BufferRanges()


class TaskTuning(Enum):
    """How the number of tasks of a phase is chosen. Source: pareto, section 2 (options), 4.3."""

    FIXED = "fixed"
    SCAN = "scan"
    HILL = "hill"


class BufferTuning(Enum):
    """How buffer settings are chosen. Source: pareto, section 4.4."""

    DEFAULT = "default"
    CLOSED_FORM = "closed form"
    RANDOM = "random"
    RECURSIVE_RANDOM = "recursive random"


class IoModel(Enum):
    """I/O model of spills: as in the paper, or with the merging of spills (E12)."""

    PAPER = "paper"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Tuning options and models. seed: for the random searches for buffers.

    meet_deadlines: leave out plans in which a job ends after its own deadline.
    """

    tasks: TaskTuning = TaskTuning.FIXED
    buffers: BufferTuning = BufferTuning.DEFAULT
    single_wave: SingleWave = SingleWave.ESTIMATED
    io_model: IoModel = IoModel.PAPER
    seed: int = 0
    meet_deadlines: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPhase:
    """Tasks of one phase. parts: lengths of the steps of every task, such as shuffle and work.

    tasks: as given.  tasks_max: upper limit for tuning the number of tasks.
    """

    tasks: int
    tasks_max: int
    parts: tuple[TaskLengths, ...]


NO_PHASE = PlannedPhase(tasks=0, tasks_max=0, parts=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """A job of a plan: a map phase, then a reduce phase that shuffles first; or stages.

    stages: run in turn, each in all containers of the job. Then maps and reduces are NO_PHASE.
    driver_s: time outside tasks, which no number of slots shortens.
    deadline_s: after its submission; None for none.  after: the jobs that it waits for; its
    deadline then counts from the start of the plan.
    """

    job_id: JobId
    maps: PlannedPhase = NO_PHASE
    reduces: PlannedPhase = NO_PHASE
    stages: tuple[PlannedPhase, ...] = ()
    driver_s: float = 0.0
    deadline_s: float | None = None
    output: MapOutput | None = None
    buffer: BufferRanges = DEFAULT_RANGES
    after: tuple[JobId, ...] = ()

    @classmethod
    def of(cls, job: Job, *, in_containers: bool = False) -> PlannedJob:
        """Convert a job. Raises InvalidInput that names a missing value.

        in_containers: plan maps and reduces as stages too, because VMs have no typed slots.
        """
        kinds = {phase.kind for phase in job.phases}
        if in_containers or SlotKind.CONTAINER in kinds or kinds == {SlotKind.MAP}:
            if not job.phases:
                raise _lacking(job, "phases is missing", "give phases with their tasks and avg_s")
            return cls(
                job_id=job.job_id,
                stages=tuple(_planned(job, phase, phase.name) for phase in job.phases),
                driver_s=job.driver_s,
                deadline_s=_deadline_s(job),
                output=_output(job),
                buffer=job.buffer or DEFAULT_RANGES,
                after=job.after,
            )
        return cls(
            job_id=job.job_id,
            maps=_phase(job, SlotKind.MAP, "maps"),
            reduces=_phase(job, SlotKind.REDUCE, "reduces"),
            driver_s=job.driver_s,
            deadline_s=_deadline_s(job),
            output=_output(job),
            buffer=job.buffer or DEFAULT_RANGES,
            after=job.after,
        )

    def is_late(self, end_s: float) -> bool:
        """Whether an end, after its submission, misses its deadline, rounding aside."""
        return self.deadline_s is not None and end_s > self.deadline_s * (1 + ROUNDING)

    @property
    def map_tasks(self) -> int:
        """Tasks that write the map output: maps, or the first stage."""
        return (self.stages[0] if self.stages else self.maps).tasks


@dataclass(frozen=True, kw_only=True)
class ParetoProblem:
    """Jobs, VM offers, prices, limits and options.

    offers: one if all VMs are equal.  has_types: the offers come from a price list, with names.
    """

    jobs: tuple[PlannedJob, ...]
    offers: tuple[VmOffer, ...]
    prices: Prices
    limits: PlanLimits = field(default=PlanLimits())
    options: PlanOptions = field(default=PlanOptions())
    has_types: bool = False

    def __post_init__(self) -> None:
        if not self.jobs:
            raise InvalidInput("jobs is empty", where="plan", hint="give at least one job")
        if not self.offers:
            raise InvalidInput("there is no VM to rent", where="plan", hint="give at least one VM")
        if self.tunes_buffers and not any(job.output for job in self.jobs):
            raise InvalidInput(
                "buffers cannot be tuned: no job with reduces has map_output",
                where="plan",
                hint="give map_output: {bytes: ..., records: ...} to one, or tune no buffers",
            )
        if self.options.tasks is not TaskTuning.FIXED:
            for job in self.jobs:
                _check_tunable(job)

    @property
    def tunes_buffers(self) -> bool:
        """Whether the plans set the buffers of the jobs."""
        return self.options.buffers is not BufferTuning.DEFAULT

    @cached_property
    def precedence(self) -> Precedence:
        """Which jobs wait for which, by position."""
        places = {job.job_id: place for place, job in enumerate(self.jobs)}
        return Precedence(tuple(tuple(places[one] for one in job.after) for job in self.jobs))


def _phase(job: Job, kind: SlotKind, name: str) -> PlannedPhase:
    found = [phase for phase in job.phases if phase.kind is kind]
    if not found:
        raise _lacking(job, f"{name}.tasks is 0 or missing", "give at least one map and one reduce")
    if len(found) > 1:
        raise _lacking(job, f"it has {len(found)} phases of {name}", "plan its steps one by one")
    return _planned(job, found[0], name)


def _planned(job: Job, phase: Phase, name: str) -> PlannedPhase:
    if phase.lengths is None:
        raise _lacking(job, f"{name} has no lengths", "give avg_s, or run the job once")
    return PlannedPhase(
        tasks=phase.tasks,
        tasks_max=phase.tasks if phase.tasks_max is None else phase.tasks_max,
        parts=(phase.lengths,) if phase.fetch is None else (phase.fetch, phase.lengths),
    )


def _deadline_s(job: Job) -> float | None:
    """The job's own; the share that it has in another job's deadline binds no plan."""
    deadline_at_s = job.own_deadline_at_s
    return None if deadline_at_s is None else deadline_at_s - job.submitted_at_s


def _output(job: Job) -> MapOutput | None:
    output = job.map_output
    if output is None or all(phase.kind is SlotKind.MAP for phase in job.phases):
        return None  # maps without reduces write their output without a buffer
    for name in ("bytes", "records"):
        if not getattr(output, name) > 0:
            what = f"map_output.{name} is {getattr(output, name):g}"
            raise _lacking(job, what, "give a number above 0, or leave map_output out")
    return output


def _check_tunable(job: PlannedJob) -> None:
    if job.stages:
        raise InvalidInput(
            "the tasks of its phases cannot be tuned",
            where=f"job {job.job_id!r}",
            hint="leave out --tune tasks, or give the job maps and reduces",
        )
    for name, phase in (("maps", job.maps), ("reduces", job.reduces)):
        if phase.tasks_max > TUNED_TASKS_MAX:
            raise InvalidInput(
                f"{name}.tasks_max is {phase.tasks_max}, too many counts to try",
                where=f"job {job.job_id!r}",
                hint=f"give at most {TUNED_TASKS_MAX}, or tune no tasks",
            )


def _lacking(job: Job, what: str, hint: str) -> InvalidInput:
    return InvalidInput(what, where=f"job {job.job_id!r}", hint=hint)
