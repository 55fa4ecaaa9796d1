"""The time between tasks: what passes before the first one starts, and before each later one.

A simulation of tasks alone leaves it out, and is too short by it: by a hair for tasks of a minute,
by half for tasks of a tenth of a second. A job that shared its cluster had waited for others as
well, so that its least run tells, and in it the median task.
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
    """Seconds from submission to the first task, and from one task's end to the next one's start.

    The latter also stand between two phases.
    """

    start_s: float = 0.0
    between_s: float = 0.0


def gaps(runs: Iterable[PastRun]) -> Gaps:
    """What runs that tell their tasks one by one tell of the gaps; 0 where none does."""
    told = [run for run in runs if any(phase.timeline for phase in run.phases)]
    between_s = [found for run in told if (found := _between_s(run)) is not None]
    starts_s = [
        min(task.started_at_s for phase in run.phases for task in phase.timeline) for run in told
    ]
    return Gaps(max(0.0, min(starts_s, default=0.0)), min(between_s, default=0.0))


def _between_s(run: PastRun) -> float | None:
    """The median over all tasks that took over a slot from another one of their phase."""
    found = [gap_s for phase in run.phases for gap_s in _gaps_s(run, phase)]
    return median(found) if found else None


def _gaps_s(run: PastRun, phase: PastPhase) -> list[float]:
    """From the last end before each start to that start; the first wave took over from nobody."""
    slots = phase_slots(run, phase) or 1
    ends = sorted(task.finished_at_s for task in phase.timeline)
    starts = sorted(task.started_at_s for task in phase.timeline)[slots:]
    places = ((start, bisect_right(ends, start)) for start in starts)
    return [start - ends[place - 1] for start, place in places if place]


def delayed(lengths: TaskLengths, gap_s: float) -> TaskLengths:
    """The lengths with a gap before each task; of an unknown form, as they are.

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
