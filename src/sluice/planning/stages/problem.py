"""Jobs of stages as one task graph: each task by itself, each stage behind a barrier.

The lengths become whole numbers of a unit where they have one of at least a millisecond, so that
equal sums are equal. Submission instants count as 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase
from sluice.planning.ordering.problem import task_runs
from sluice.planning.stages.task_graph import TaskGraph

TASKS_MAX = 1_000_000
_EDGES_MAX = 100_000  # with more, a barrier is a task of no length
_UNITS = (1, 10, 100, 1000)  # of a second
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class StageProblem:
    """graph: all tasks; times are in 1 / unit of a second.  stages: their names, `job/stage`.

    stage_of: the position of each task's stage; None for a barrier.
    places: of each task within its stage, as the file has them; here the longest comes first.
    stage_graph: the stages, each as long as it must take at least.  work: of each stage.
    """

    graph: TaskGraph
    unit: int
    stages: tuple[str, ...]
    stage_of: tuple[int | None, ...]
    places: tuple[int, ...]
    stage_graph: TaskGraph
    work: tuple[float, ...]


def stage_problem(jobs: Sequence[Job], slots: int, source: str) -> StageProblem:
    """The problem of these jobs. Raises InvalidInput that names job and field."""
    stages: list[tuple[str, list[float], list[int]]] = []
    places: dict[JobId, range] = {}
    for job in jobs:
        first = len(stages)
        check_job(job, source)
        for phase in job.phases:
            lengths_s = lengths_s_of(phase, f"{source}, job {job.job_id!r}")
            after = [first + one for one in phase.after]
            stages.append((f"{job.job_id}/{phase.name}", lengths_s, after))
        places[job.job_id] = range(first, len(stages))
    for job in jobs:
        _wait_for_jobs(job, places, stages)
    if sum(len(lengths_s) for _, lengths_s, _ in stages) > TASKS_MAX:
        raise InvalidInput(
            f"its jobs have more than {TASKS_MAX} tasks", where=source, hint="give fewer jobs"
        )
    return _problem(stages, slots)


def check_job(job: Job, source: str) -> None:
    """Refuse a job that starts its tasks in other ways than one by one."""
    where = f"{source}, job {job.job_id!r}"
    if not job.phases:
        raise InvalidInput("it has no stage", where=where, hint="give it phases, or maps")
    if job.gang:
        raise InvalidInput(
            "gang is given, and an order of stages starts tasks one by one",
            where=where,
            hint="leave it out, or use `sluice simulate`",
        )
    if job.driver_s:
        raise InvalidInput(
            f"driver_s is {job.driver_s:g}, which ordering does not support",
            where=where,
            hint="leave it out, or use `sluice simulate`",
        )


def lengths_s_of(phase: Phase, where: str) -> list[float]:
    """The lengths of the tasks of a phase. Raises InvalidInput that names the job."""
    try:
        return [length_s for count, length_s in task_runs(phase) for _ in range(count)]
    except InvalidInput as error:
        raise error.within(where) from None


def _wait_for_jobs(
    job: Job, places: Mapping[JobId, range], stages: Sequence[tuple[str, list[float], list[int]]]
) -> None:
    """The first stages of a job wait for all stages of the jobs that it comes after."""
    before = [place for one in job.after for place in places[one]]
    for place in places[job.job_id]:
        _, _, after = stages[place]
        if not after:
            after += before


def _problem(stages: Sequence[tuple[str, list[float], list[int]]], slots: int) -> StageProblem:
    unit = unit_of([length_s for _, lengths_s, _ in stages for length_s in lengths_s])
    edges = sum(
        len(lengths_s) * sum(len(stages[one][1]) for one in after) for _, lengths_s, after in stages
    )
    lengths: list[float] = []
    after: list[tuple[int, ...]] = []
    stage_of: list[int | None] = []
    places: list[int] = []
    ends: dict[int, tuple[int, ...]] = {}  # of each stage, what to wait for
    # A job may wait for a later one of the file.
    for place in _stage_graph(stages, slots, unit).in_order:
        _, lengths_s, waits = stages[place]
        before = tuple(sorted({task for one in waits for task in ends[one]}))
        tasks = range(len(lengths), len(lengths) + len(lengths_s))
        # The longest first: equal ranks go by position, and that is the better order.
        of_file = sorted(range(len(lengths_s)), key=lambda at: -lengths_s[at])
        lengths += in_units([lengths_s[at] for at in of_file], unit)
        places += of_file
        after += [before] * len(tasks)
        stage_of += [place] * len(tasks)
        if edges > _EDGES_MAX:
            ends[place] = (len(lengths),)
            lengths.append(0 if unit else 0.0)
            after.append(tuple(tasks))
            stage_of.append(None)
            places.append(0)
        else:
            ends[place] = tuple(tasks)
    return StageProblem(
        graph=TaskGraph(slots=slots, lengths=tuple(lengths), after=tuple(after)),
        unit=unit or 1,
        stages=tuple(name for name, _, _ in stages),
        stage_of=tuple(stage_of),
        places=tuple(places),
        stage_graph=_stage_graph(stages, slots, unit),
        work=tuple(sum(in_units(lengths_s, unit)) for _, lengths_s, _ in stages),
    )


def in_units(lengths_s: Sequence[float], unit: int) -> list[float]:
    """Lengths in whole units of 1 / unit of a second; unit is 0 for lengths as they are."""
    return [round(one * unit) for one in lengths_s] if unit else list(lengths_s)


def _stage_graph(
    stages: Sequence[tuple[str, list[float], list[int]]], slots: int, unit: int
) -> TaskGraph:
    lengths = []
    for _, lengths_s, _ in stages:
        tasks = in_units(lengths_s, unit)
        needed = sum(tasks) / slots
        lengths.append(max(*tasks, math.ceil(needed - _ROUNDING) if unit else needed, 0))
    return TaskGraph(
        slots=slots, lengths=tuple(lengths), after=tuple(tuple(after) for _, _, after in stages)
    )


def unit_of(lengths_s: Sequence[float]) -> int:
    """The least number of units in a second in which all lengths are whole; 0 for none."""
    for unit in _UNITS:
        if (
            all(
                abs(one * unit - round(one * unit)) <= _ROUNDING * max(1.0, one * unit)
                for one in lengths_s
            )
            and min(lengths_s) * unit >= 1 - _ROUNDING
        ):
            return unit
    return 0
