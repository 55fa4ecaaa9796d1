"""Idle time between tasks: before the first task starts, and before each later one.

A simulation of task lengths alone leaves these gaps out. The error is small for tasks of a minute,
but half of the time for tasks of a tenth of a second. On a shared cluster a job also waits for
other jobs. So the estimate is the smallest gap of all runs, and the median task of each run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from sluice.estimate.run_setting import phase_slots
from sluice.model.history import PastPhase, PastRun
from sluice.model.lengths import (
    ConstantLengths,
    ListedLengths,
    TableLengths,
    TaskLengths,
    WorkLengths,
)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Seconds from submission to the first task, and from the end of a task to the next start.

    between_s: also the gap between two phases.
    """

    start_s: float = 0.0
    between_s: float = 0.0


def gaps(runs: Iterable[PastRun]) -> Gaps:
    """Return the gaps measured in runs with a timeline of single tasks; 0 without such runs."""
    timed = [run for run in runs if any(phase.timeline for phase in run.phases)]
    between_s = [found for run in timed if (found := _between_s(run)) is not None]
    starts_s = [
        min(task.started_at_s for phase in run.phases for task in phase.timeline) for run in timed
    ]
    return Gaps(max(0.0, min(starts_s, default=0.0)), min(between_s, default=0.0))


def _between_s(run: PastRun) -> float | None:
    """Median gap of all tasks that follow another task of their phase on a slot."""
    found = [gap_s for phase in run.phases for gap_s in _gaps_s(run, phase)]
    return median(found) if found else None


def _gaps_s(run: PastRun, phase: PastPhase) -> list[float]:
    """Gap from the last end before each start to that start; tasks of the first wave have none."""
    slots = phase_slots(run, phase) or 1
    ends = sorted(task.finished_at_s for task in phase.timeline)
    starts = sorted(task.started_at_s for task in phase.timeline)[slots:]
    places = ((start, bisect_right(ends, start)) for start in starts)
    return [start - ends[place - 1] for start, place in places if place]


def delayed(lengths: TaskLengths, gap_s: float) -> TaskLengths:
    """Return the lengths with a gap before each task; an unknown form is returned unchanged.

    >>> delayed(ConstantLengths(2.0, 3.0), 0.5)
    ConstantLengths(average_s=2.5, longest_s=3.5)
    """
    if isinstance(lengths, ConstantLengths):
        return ConstantLengths(lengths.average_s + gap_s, lengths.longest_s + gap_s)
    if isinstance(lengths, TableLengths):
        return TableLengths(tuple((n, avg + gap_s, top + gap_s) for n, avg, top in lengths.rows))
    if isinstance(lengths, ListedLengths):
        return ListedLengths(tuple(length_s + gap_s for length_s in lengths.durations_s))
    if isinstance(lengths, WorkLengths):
        return WorkLengths(lengths.fixed_s + gap_s, lengths.work_s, lengths.max_factor)
    return lengths
