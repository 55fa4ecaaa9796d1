"""The ordering problem: slots, and the task counts and lengths of the jobs.

A job has maps, reduces, and a barrier between them, as in the formulas; other jobs are refused. All
jobs count as submitted at 0, or when those end that they wait for (`after`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

TaskRuns = tuple[tuple[int, float], ...]
"""Tasks in task order, as (count, length in seconds) of equal tasks that follow each other."""

_SPAN_S_MAX = 1e300  # a larger total could overflow to infinity
_SHAPE = "give the job maps, reduces or both"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedJob:
    """A job of an ordering problem. Either phase may be empty, but not both."""

    name: str
    maps: TaskRuns = ()
    reduces: TaskRuns = ()

    def __post_init__(self) -> None:
        if not self.maps and not self.reduces:
            raise InvalidInput("it has no task", where=f"job {self.name!r}", hint=_SHAPE)
        for field, runs in (("maps", self.maps), ("reduces", self.reduces)):
            for tasks, length_s in runs:
                if tasks < 1 or not 0 < length_s < math.inf:
                    raise InvalidInput(
                        f"{field} has {tasks} tasks of {length_s} s",
                        where=f"job {self.name!r}",
                        hint="give counts of at least 1 and finite lengths above 0",
                    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingProblem:
    """Slots, and jobs in input order. An order is a permutation of the positions in `jobs`.

    after: for each job, the positions of the jobs that it waits for, without a circle; empty if no
    job waits.
    """

    map_slots: int
    reduce_slots: int
    jobs: tuple[OrderedJob, ...]
    after: tuple[tuple[int, ...], ...] = ()

    @property
    def has_waiting(self) -> bool:
        """Whether any job waits for another."""
        return any(self.after)

    def path_ends(self, lengths: Sequence[int]) -> list[int]:
        """For each job, the longest sum of lengths of jobs that wait for each other, up to it."""
        ends: dict[int, int] = {}
        open_ = list(range(len(self.jobs)))
        while open_:
            job = open_[-1]
            before = self.after[job] if self.after else ()
            missing = [one for one in before if one not in ends]
            if missing:
                open_ += missing
                continue
            open_.pop()
            ends[job] = max((ends[one] for one in before), default=0) + lengths[job]
        return [ends[job] for job in range(len(self.jobs))]

    def __post_init__(self) -> None:
        if not self.jobs:
            raise InvalidInput("jobs is empty", where="workload", hint="add a job")
        for field, slots in (("map_slots", self.map_slots), ("reduce_slots", self.reduce_slots)):
            in_need = [job.name for job in self.jobs if _runs_in(job, field)]
            if slots < 0 or (in_need and slots < 1):
                raise InvalidInput(
                    f"{field} is {slots}, but job {in_need[0]!r} needs at least one"
                    if in_need
                    else f"{field} is {slots}",
                    where="cluster",
                    hint="give a whole number of at least 1",
                )
        span_s = sum(
            tasks * length_s
            for job in self.jobs
            for runs in (job.maps, job.reduces)
            for tasks, length_s in runs
        )
        if not span_s < _SPAN_S_MAX:
            raise InvalidInput(
                f"all tasks together take {span_s:g} s", where="jobs", hint="give shorter tasks"
            )


def _runs_in(job: OrderedJob, field: str) -> TaskRuns:
    return job.maps if field == "map_slots" else job.reduces


def checked_order(order: Sequence[int], jobs: int) -> tuple[int, ...]:
    """Return the order if it is a permutation of 0 .. jobs - 1. Raises InvalidInput otherwise."""
    if sorted(order) != list(range(jobs)):
        raise InvalidInput(
            f"{list(order)[:20]} is not an order of {jobs} jobs",
            where="order",
            hint=f"name each position from 0 to {jobs - 1} once",
        )
    return tuple(order)


def problem_of(
    workload: Workload, *, map_slots: int | None = None, reduce_slots: int | None = None
) -> OrderingProblem:
    """Return the ordering problem of a workload, with the total slots of its nodes.

    map_slots, reduce_slots: used instead of the slots of the workload's cluster.
    The shuffle is part of every reduce, as in `simulate`; submission instants are ignored, and so
    is the time outside tasks of jobs from logs, which no order changes.
    Raises InvalidInput that names job and field.
    """
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job")
    jobs = tuple(
        _ordered_job(
            replace(job, driver_s=0.0) if job.job_id in workload.recorded else job, workload.source
        )
        for job in workload.jobs
    )
    given = {SlotKind.MAP: map_slots, SlotKind.REDUCE: reduce_slots}
    totals = {
        kind: workload.required_cluster().slots(kind) if slots is None else slots
        for kind, slots in given.items()
    }
    places = {job.job_id: place for place, job in enumerate(workload.jobs)}
    # Of jobs that are ordered as they arrive, those that they waited for have ended.
    after = tuple(tuple(places[one] for one in job.after if one in places) for job in workload.jobs)
    try:
        return OrderingProblem(
            map_slots=totals[SlotKind.MAP],
            reduce_slots=totals[SlotKind.REDUCE],
            jobs=jobs,
            after=after if any(after) else (),
        )
    except InvalidInput as error:
        raise error.within(workload.source) from None


def _ordered_job(job: Job, source: str) -> OrderedJob:
    runs: dict[SlotKind, TaskRuns] = {}
    try:
        _check_shape(job)
        for phase in job.phases:
            runs[phase.kind] = task_runs(phase)
    except InvalidInput as error:
        raise error.within(f"{source}, job {job.job_id!r}") from None
    return OrderedJob(
        name=job.job_id, maps=runs.get(SlotKind.MAP, ()), reduces=runs.get(SlotKind.REDUCE, ())
    )


def _check_shape(job: Job) -> None:
    """Raise InvalidInput unless the phases are maps, reduces, or maps and then reduces."""
    if not job.phases:
        because = "" if job.profile is None else f", and no profile {job.profile!r} is stored"
        raise InvalidInput(
            f"maps is missing{because}", hint="give tasks and lengths: maps: {tasks: 8, avg_s: 10}"
        )
    if not job.is_map_reduce:
        raise InvalidInput(
            f"it has {len(job.phases)} phases that are not maps and reduces, which ordering does"
            " not support",
            hint="use `sluice simulate` for jobs of stages, or give the job maps and reduces",
        )
    if job.driver_s:
        raise InvalidInput(
            f"driver_s is {job.driver_s:g}, which ordering does not support",
            hint="leave it out, or use `sluice simulate`",
        )


def task_runs(phase: Phase) -> TaskRuns:
    """The tasks of a phase, with their shuffle. Raises InvalidInput where it has no lengths."""
    field = f"{phase.name}s"
    if phase.lengths is None:
        raise InvalidInput(
            f"{field} has no lengths", hint=f"give them, as in {field}: {{tasks: 8, avg_s: 10}}"
        )
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
    if isinstance(phase.lengths, ListedLengths):
        lengths_s = phase.lengths.durations_s
        runs = tuple((len(list(same)), each_s + fetch_s) for each_s, same in groupby(lengths_s))
    else:
        runs = ((phase.tasks, phase.lengths.avg_s(phase.tasks) + fetch_s),)
    return runs
