"""What is asked: jobs as a plan sees them, machines and their prices, and what may be tuned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from sluice.estimate.bounds import SingleWave
from sluice.model.buffers import BufferRanges
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, MapOutput, Phase, SlotKind
from sluice.model.lengths import TaskLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import VmOffer
from sluice.model.prices import Prices

TUNED_TASKS_MAX = 10**6


class TaskTuning(Enum):
    """Into how many tasks a phase is cut. Source: pareto, section 2 (options), 4.3."""

    FIXED = "fixed"
    SCAN = "scan"
    HILL = "hill"


class BufferTuning(Enum):
    """How buffer settings are found. Source: pareto, section 4.4."""

    DEFAULT = "default"
    CLOSED_FORM = "closed form"
    RANDOM = "random"
    RECURSIVE_RANDOM = "recursive random"


class IoModel(Enum):
    """What spilling moves: as the paper charges it, or with the merging of spills (E12)."""

    PAPER = "paper"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What may be tuned, and which model is believed. seed: of the random searches for buffers."""

    tasks: TaskTuning = TaskTuning.FIXED
    buffers: BufferTuning = BufferTuning.DEFAULT
    single_wave: SingleWave = SingleWave.ESTIMATED
    io_model: IoModel = IoModel.PAPER
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPhase:
    """Tasks of one kind of slot. parts: lengths that follow each other in every task.

    tasks: as given.  tasks_max: the most that tuning may cut the phase into.
    """

    tasks: int
    tasks_max: int
    parts: tuple[TaskLengths, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """A job as a plan sees it: a map phase, then a reduce phase that shuffles first."""

    job_id: JobId
    maps: PlannedPhase
    reduces: PlannedPhase
    output: MapOutput | None = None
    buffer: BufferRanges = field(default=BufferRanges())

    @classmethod
    def of(cls, job: Job) -> PlannedJob:
        """The job; raises InvalidInput naming what a plan needs and the job does not tell."""
        return cls(
            job_id=job.job_id,
            maps=_phase(job, SlotKind.MAP, "maps"),
            reduces=_phase(job, SlotKind.REDUCE, "reduces"),
            output=_output(job),
            buffer=job.buffer or BufferRanges(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoProblem:
    """Jobs, the machines that each may choose from, prices, limits, and options.

    offers: one where all VMs are alike.  has_types: they come from a list, and have names.
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
            raise InvalidInput("there is no VM to rent", where="plan", hint="offer at least one")
        if self.options.buffers is not BufferTuning.DEFAULT and not any(
            job.output for job in self.jobs
        ):
            raise InvalidInput(
                "buffers cannot be tuned: no job has map_output",
                where="plan",
                hint="give map_output: {bytes: ..., records: ...} to a job, or tune no buffers",
            )
        if self.options.tasks is not TaskTuning.FIXED:
            for job in self.jobs:
                _check_tunable(job)


def _phase(job: Job, kind: SlotKind, name: str) -> PlannedPhase:
    found = list(_of_kind(job, kind))
    if not found:
        raise _lacking(job, f"{name}.tasks is 0 or missing", "give at least one map and one reduce")
    if len(found) > 1:
        raise _lacking(job, f"it has {len(found)} phases of {name}", "plan its steps one by one")
    phase = found[0]
    if phase.lengths is None:
        raise _lacking(job, f"{name} has no lengths", "give avg_s, or run the job once")
    return PlannedPhase(
        tasks=phase.tasks,
        tasks_max=phase.tasks if phase.tasks_max is None else phase.tasks_max,
        parts=(phase.lengths,) if phase.fetch is None else (phase.fetch, phase.lengths),
    )


def _of_kind(job: Job, kind: SlotKind) -> Iterator[Phase]:
    return (phase for phase in job.phases if phase.kind is kind)


def _output(job: Job) -> MapOutput | None:
    output = job.map_output
    if output is None:
        return None
    for name in ("bytes", "records"):
        if not getattr(output, name) > 0:
            what = f"map_output.{name} is {getattr(output, name):g}"
            raise _lacking(job, what, "give a number above 0, or leave map_output out")
    return output


def _check_tunable(job: PlannedJob) -> None:
    for name, phase in (("maps", job.maps), ("reduces", job.reduces)):
        if phase.tasks_max > TUNED_TASKS_MAX:
            raise InvalidInput(
                f"{name}.tasks_max is {phase.tasks_max}, too many counts to try",
                where=f"job {job.job_id!r}",
                hint=f"give at most {TUNED_TASKS_MAX}, or tune no tasks",
            )


def _lacking(job: Job, what: str, hint: str) -> InvalidInput:
    return InvalidInput(what, where=f"job {job.job_id!r}", hint=hint)
