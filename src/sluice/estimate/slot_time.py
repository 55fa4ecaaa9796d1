"""The tasks of a recorded run, each from the moment at which it could have had a slot.

A task of Spark may wait although the cluster has a free core: its executor has not started yet or
was given back, an earlier attempt of it failed, it waits for a node near its data, or the driver is
busy launching others. More cores would not have shortened such a wait, so it belongs to the time of
the task. A wait for a core in use by another task does not: list scheduling finds it again, for any
number of cores.

Time in which no task runs at all is the driver's. It is left out here, see `run_anatomy`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import fsum, inf

from sluice.estimate.run_anatomy import busy_intervals
from sluice.model.history import PastPhase, PastTask


def on_slots(phases: Sequence[PastPhase], slots: int) -> list[PastPhase]:
    """The phases with timelines that begin when a task had a slot, and without driver time.

    phases: in an order in which each comes after those in its `after`.  slots: at least 1, for
    tasks of all phases. Phases are returned unchanged if one does not list all its tasks.

    >>> tasks = tuple(PastTask(started_at_s=s, finished_at_s=s + 2.0) for s in (1, 1, 3.5))
    >>> stage = PastPhase(name="scan", kind="map", tasks=3, avg_s=2, max_s=2, timeline=tasks)
    >>> [(task.started_at_s, task.finished_at_s) for task in on_slots([stage], 2)[0].timeline]
    [(0.0, 2.0), (0.0, 2.0), (2.0, 4.0)]
    """
    if any(len(phase.timeline) != phase.tasks for phase in phases):
        return list(phases)
    clock = _BusyClock([task for phase in phases for task in phase.timeline])
    in_turn = sorted(
        (task.started_at_s, at, number)
        for at, phase in enumerate(phases)
        for number, task in enumerate(phase.timeline)
    )
    followed_at_s = _followed_at_s(phases)
    free_at_s = [0.0] * slots  # a heap
    ended_at_s = [0.0] * len(phases)
    placed: list[list[PastTask]] = [[] for _ in phases]
    for _, at, number in in_turn:
        task = phases[at].timeline[number]
        ready_at_s = max((ended_at_s[one] for one in phases[at].after), default=0.0)
        start_s = max(free_at_s[0], ready_at_s)
        waited_s = max(0.0, clock.at(task.started_at_s) - start_s)
        if task.started_at_s > followed_at_s[at]:
            waited_s = 0.0  # its output was lost and it ran again: no slot was kept for it
        end_s = start_s + waited_s + task.length_s
        heapq.heapreplace(free_at_s, end_s)
        ended_at_s[at] = max(ended_at_s[at], end_s)
        placed[at].append(
            replace(task, started_at_s=start_s, finished_at_s=end_s, fetched_at_s=None)
        )
    return [with_timeline(phase, tasks) for phase, tasks in zip(phases, placed, strict=True)]


def _followed_at_s(phases: Sequence[PastPhase]) -> list[float]:
    """For each phase: when the first task of a phase that follows it started."""
    began_s = [inf] * len(phases)
    for phase in phases:
        first_s = min(task.started_at_s for task in phase.timeline)
        for at in phase.after:
            began_s[at] = min(began_s[at], first_s)
    return began_s


def with_timeline(phase: PastPhase, tasks: Sequence[PastTask]) -> PastPhase:
    """The phase with these tasks, one or more, and their average and longest length."""
    lengths_s = [task.length_s for task in tasks]
    longest_s = max(lengths_s)
    average_s = min(fsum(lengths_s) / len(tasks), longest_s)  # rounding may exceed the longest
    return replace(phase, timeline=tuple(tasks), avg_s=average_s, max_s=longest_s)


class _BusyClock:
    """Counts only the seconds in which at least one task runs."""

    def __init__(self, tasks: Sequence[PastTask]) -> None:
        spans = list(busy_intervals(tasks))
        self._starts_s = [start_s for start_s, _ in spans]
        self._lengths_s = [end_s - start_s for start_s, end_s in spans]
        self._before_s = [0.0, *accumulate(self._lengths_s)]

    def at(self, instant_s: float) -> float:
        """Return what it shows at an instant of the log's clock, not before the first task."""
        place = bisect_right(self._starts_s, instant_s) - 1
        since_s = min(instant_s - self._starts_s[place], self._lengths_s[place])
        return self._before_s[place] + since_s
