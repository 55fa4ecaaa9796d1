"""How long a phase really takes where each free slot takes the next task at once.

The estimates of `bounds` know an average and a longest task. Here the lengths of single tasks are
known, or at least how they spread about their average, and the schedule itself is played through.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heapreplace

import numpy as np

from sluice.estimate.bounds import makespan_bounds_s
from sluice.model.history import PastPhase

TASKS_PLAYED_MAX = 1000
SLOTS_PLAYED_MIN = (
    20  # with fewer, a phase of so many tasks has waves enough for its bounds to meet
)
ORDERS = 4  # orders of the tasks that are played; the outcome is their mean
RATIOS_KEPT = 64  # of one phase of one run, so that no long run drowns the others
RATIOS_MAX = 512  # of all runs of a phase
_GOLDEN = (math.sqrt(5) - 1) / 2


def mean_concurrency(tasks: int, slots: int) -> float:
    """How many tasks run side by side while a task runs, on average over the tasks.

    Alike tasks go in waves; the last one may leave slots empty, and its tasks have them for
    themselves.

    >>> mean_concurrency(tasks=5, slots=4)
    3.4
    """
    full, rest = divmod(tasks, slots)
    return (full * slots * slots + rest * rest) / tasks


def list_schedule_s(lengths_s: Iterable[float], slots: int) -> float:
    """The end of the last task, each taken in turn by the slot that is free first.

    >>> list_schedule_s([2.0, 1.0, 1.0], slots=2)
    2.0
    """
    free_at_s = [0.0] * slots
    heapify(free_at_s)
    for length_s in lengths_s:
        heapreplace(free_at_s, free_at_s[0] + length_s)
    return max(free_at_s)


@dataclass(frozen=True, slots=True)
class LengthSpread:
    """How the lengths of a phase's tasks lie about their average: rising ratios to it."""

    ratios: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, phases: Iterable[PastPhase]) -> LengthSpread:
        """What past runs of one phase tell: task by task, or from average and longest alone."""
        ratios = sorted(ratio for phase in phases for ratio in _ratios(phase))
        return cls(tuple(sampled_evenly(ratios, RATIOS_MAX)) or (1.0,))

    def lengths_s(self, tasks: int, avg_s: float) -> list[float]:
        """Lengths of so many tasks with that average, shortest first."""
        # Each ratio stands in the middle of its share; linear between them.
        places = (np.arange(tasks) + 0.5) / tasks * len(self.ratios) - 0.5
        quantiles = np.interp(places, np.arange(len(self.ratios)), self.ratios)
        scaled: list[float] = (quantiles * (avg_s * tasks / quantiles.sum())).tolist()
        return scaled

    def longest_ratio(self, tasks: int) -> float:
        """The longest of so many tasks, as a multiple of their average; at least 1.

        >>> LengthSpread((0.5, 1.0, 1.5)).longest_ratio(tasks=3)
        1.5
        """
        return max(1.0, self.lengths_s(min(tasks, 100 * RATIOS_KEPT), 1.0)[-1])


EQUAL_LENGTHS = LengthSpread()


def _ratios(phase: PastPhase) -> list[float]:
    if phase.avg_s <= 0:
        return []
    if phase.timeline:
        return sampled_evenly(sorted(task.length_s / phase.avg_s for task in phase.timeline))
    if phase.tasks == 1:
        return [1.0]
    # All but the longest alike: the only shape that average and longest alone allow to be told.
    longest = phase.max_s / phase.avg_s
    others = max(0.0, (phase.tasks - longest) / (phase.tasks - 1))
    return sampled_evenly([others] * min(phase.tasks - 1, 10 * RATIOS_KEPT) + [longest])


def sampled_evenly(rising: Sequence[float], kept: int = RATIOS_KEPT) -> list[float]:
    """At most so many of them, evenly picked, the first and the last among them.

    >>> sampled_evenly([0, 1, 2, 3, 4], kept=3)
    [0, 2, 4]
    """
    if len(rising) <= kept:
        return list(rising)
    return [rising[round(index * (len(rising) - 1) / (kept - 1))] for index in range(kept)]


def phase_s(tasks: int, slots: int, avg_s: float, spread: LengthSpread = EQUAL_LENGTHS) -> float:
    """Expected time of a phase of that average task length on so many slots.

    The mean over some fixed orders of the tasks. Very many tasks are played in small, with as many
    waves; where there are very many waves as well, it is the middle of the bounds.

    >>> phase_s(tasks=10, slots=3, avg_s=5.0)
    20.0
    """
    slots = min(slots, tasks)
    if tasks > TASKS_PLAYED_MAX:
        if slots * TASKS_PLAYED_MAX < tasks * SLOTS_PLAYED_MIN:
            longest_s = spread.longest_ratio(tasks) * avg_s
            return sum(makespan_bounds_s(tasks, slots, avg_s, longest_s)) / 2
        tasks, slots = TASKS_PLAYED_MAX, round(slots * TASKS_PLAYED_MAX / tasks)
    lengths_s = spread.lengths_s(tasks, avg_s)
    if slots in {1, tasks} or lengths_s[0] == lengths_s[-1]:
        return list_schedule_s(lengths_s, slots)
    played_s = [list_schedule_s(shuffled(lengths_s, turn), slots) for turn in range(ORDERS)]
    return math.fsum(played_s) / ORDERS


def shuffled(lengths_s: Sequence[float], turn: int) -> list[float]:
    """The same lengths in an order that has no trend, another one at each turn.

    Multiples of the golden ratio fill the unit interval evenly, wherever they start.
    """
    return [lengths_s[place] for place in _places(len(lengths_s), turn)]


@lru_cache(maxsize=1024)
def _places(count: int, turn: int) -> tuple[int, ...]:
    return tuple(sorted(range(count), key=lambda place: ((place + turn * 7919) * _GOLDEN) % 1.0))


def concurrent_tasks_max(phase: PastPhase) -> int | None:
    """The most tasks of a past phase that ran at one instant; None without its timeline."""
    if not phase.timeline:
        return None
    ends = sorted(task.finished_at_s for task in phase.timeline)
    starts = sorted(task.started_at_s for task in phase.timeline)
    # One that ends as another starts has left its slot to it.
    return max(index + 1 - bisect.bisect_right(ends, start) for index, start in enumerate(starts))
