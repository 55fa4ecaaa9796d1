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
