"""The parts of the time of a finished run, from the start and end of each of its tasks.

Seconds of a run are of one of three kinds. Before its first task a job of Hadoop or Sluice waits
for slots; a Spark application starts its driver and its executors. While at least one task runs,
stages make progress. In all other moments Spark's driver works alone: it plans, collects results,
commits. A job of Hadoop or Sluice waits for slots between its tasks too, and commits at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask

SKEW_RATIO_MIN = 1.5  # below, a stage's longest task is like its others
_AMOUNT_EXPLAINS = 0.7  # share of the ratio of lengths that the ratio of amounts must reach
_DRIVER_STARTS_FIRST = frozenset({"spark"})  # their logs begin with the driver, not with a queue


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A stage of the critical path. s: from its first start to its last end.

    share: of the recorded time.
    """

    stage: str
    s: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """A stage with a task far longer than the median one.

    by_bytes, by_records: whether the longest task also read that many more bytes, or records;
    None if the log has none.
    """

    stage: str
    longest_s: float
    median_s: float
    ratio: float
    by_bytes: bool | None
    by_records: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnatomy:
    """Where the time of a run went.

    recorded_s: from submission, or the start of the driver, to the end.
    waited_s: before the first task, for slots.  driver_s: other time in which no task ran.
    startup_s, ending_s: of driver_s, before the first task and after the last one.
    idle_share: share of the slots' time, from the first task to the end, in which no task ran.
    critical_path: stages in order of time, each waiting for the one before it.
    skew: stages by how far their longest task exceeds the median, farthest first.
    """

    recorded_s: float
    waited_s: float
    driver_s: float
    idle_share: float
    critical_path: tuple[PathStep, ...]
    skew: tuple[Skew, ...]
    startup_s: float = 0.0
    ending_s: float = 0.0


def run_anatomy(run: PastRun, slots: int, driver_first_s: float = 0.0) -> RunAnatomy:
    """The anatomy of a run. slots: how many tasks it could run at once, at least 1.

    driver_first_s: how long its driver worked before it asked for tasks, where that is known.

    Raises InvalidInput if its log does not list single tasks.
    """
    tasks = [task for phase in run.phases for task in phase.timeline]
    if not tasks:
        raise InvalidInput(
            "its log does not list single tasks",
            where=f"run {run.run_id!r}",
            hint="give an event log of Spark, a .jhist or Rumen file, or a run of Sluice",
        )
    first_s, last_s = _span(tasks)
    recorded_s = max(last_s, run.elapsed_s or 0.0)
    before_s = max(0.0, first_s)
    waited_s = 0.0 if has_driver(run) else max(0.0, before_s - driver_first_s)
    busy_s = sum(end - start for start, end in busy_intervals(tasks))
    slot_time_s = slots * (recorded_s - before_s)
    worked_s = sum(task.length_s for task in tasks)
    return RunAnatomy(
        recorded_s=recorded_s,
        waited_s=waited_s,
        driver_s=max(0.0, recorded_s - waited_s - busy_s),
        idle_share=max(0.0, 1 - worked_s / slot_time_s) if slot_time_s > 0 else 0.0,
        critical_path=tuple(_critical_path(run.phases, recorded_s)),
        skew=tuple(sorted(_skews(run.phases), key=_by_excess)),
        startup_s=before_s - waited_s,
        ending_s=recorded_s - last_s,
    )


def has_driver(run: PastRun) -> bool:
    """Whether a program of the job's own plans its stages, and may work while no task runs."""
    return run.source in _DRIVER_STARTS_FIRST


def outside_s(run: PastRun) -> float:
    """Seconds in which no task of a run ran; 0 if its log does not hold them."""
    tasks = [task for phase in run.phases for task in phase.timeline]
    if run.elapsed_s is None or sum(phase.tasks for phase in run.phases) != len(tasks):
        return 0.0
    recorded_s = max(run.elapsed_s, *(task.finished_at_s for task in tasks))
    busy_s = sum(end_s - start_s for start_s, end_s in busy_intervals(tasks))
    return max(0.0, recorded_s - busy_s)


def _span(tasks: Iterable[PastTask]) -> tuple[float, float]:
    ends = [(task.started_at_s, task.finished_at_s) for task in tasks]
    return min(start for start, _ in ends), max(end for _, end in ends)


def busy_intervals(tasks: Iterable[PastTask]) -> Iterator[tuple[float, float]]:
    """The intervals in which at least one task runs, without overlap, in order.

    >>> tasks = [PastTask(started_at_s=s, finished_at_s=e) for s, e in [(0, 2), (1, 3), (5, 6)]]
    >>> list(busy_intervals(tasks))
    [(0, 3), (5, 6)]
    """
    spans = sorted((task.started_at_s, task.finished_at_s) for task in tasks)
    begin_s, end_s = spans[0]
    for start_s, finish_s in spans:
        if start_s > end_s:
            yield begin_s, end_s
            begin_s, end_s = start_s, finish_s
        end_s = max(end_s, finish_s)
    yield begin_s, end_s


def _critical_path(phases: Sequence[PastPhase], recorded_s: float) -> list[PathStep]:
    """From the stage that ended last, back to the stage that ended last before each began to work.

    What a stage waited for is not recorded. The last stage to end before its first task is the
    best witness: the driver submits a stage as soon as those that it reads have ended.
    """
    spans = {at: _span(phase.timeline) for at, phase in enumerate(phases) if phase.timeline}
    # Reduces of Hadoop start early and wait for the last map: their own work begins then.
    for at, (first_s, last_s) in list(spans.items()):
        ends_s = [spans[one][1] for one in phases[at].after if one in spans]
        spans[at] = min(max([first_s, *ends_s]), last_s), last_s
    left = sorted(spans, key=lambda at: (spans[at][1], at))
    steps: list[PathStep] = []
    before_s = float("inf")
    while left:
        at = left.pop()
        began_s, ended_s = spans[at]
        if ended_s > before_s or began_s >= before_s:
            continue
        share = (ended_s - began_s) / recorded_s if recorded_s else 0.0
        steps.append(PathStep(stage=phases[at].name, s=ended_s - began_s, share=share))
        before_s = began_s
    return steps[::-1]


def _skews(phases: Iterable[PastPhase]) -> Iterator[Skew]:
    for phase in phases:
        lengths_s = [task.length_s for task in phase.timeline]
        if not lengths_s or (typical_s := median(lengths_s)) <= 0:
            continue
        longest = max(phase.timeline, key=lambda task: task.length_s)
        ratio = longest.length_s / typical_s
        if ratio >= SKEW_RATIO_MIN:
            yield Skew(
                stage=phase.name,
                longest_s=longest.length_s,
                median_s=typical_s,
                ratio=ratio,
                by_bytes=_is_explained(phase, longest, ratio, lambda task: task.input_bytes),
                by_records=_is_explained(phase, longest, ratio, lambda task: task.input_records),
            )


def _by_excess(one: Skew) -> tuple[float, str]:
    """Order stages by what an even stage could save at most."""
    return one.median_s - one.longest_s, one.stage


def _is_explained(
    phase: PastPhase, longest: PastTask, ratio: float, amount: Callable[[PastTask], int]
) -> bool | None:
    typical = median(map(amount, phase.timeline))
    if not typical:
        return None
    return amount(longest) / typical >= _AMOUNT_EXPLAINS * ratio
