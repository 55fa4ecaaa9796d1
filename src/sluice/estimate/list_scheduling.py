"""Time of a phase under list scheduling: each free slot takes the next task at once.

The estimates in `bounds` use only the average and the longest task. Here the distribution of task
lengths is known, so the schedule itself is simulated.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heapreplace

from sluice.estimate.bounds import makespan_bounds_s
from sluice.model.history import PastPhase, PastTask

# Simulating a schedule costs O(tasks * log slots). A larger phase is scaled down to this many tasks
# with the same number of waves, which decides how uneven its end is.
TASKS_SIMULATED_MAX = 1000
# A scaled phase with fewer slots has many waves, and its two bounds nearly agree.
SLOTS_SIMULATED_MIN = 20
ORDERS = 4  # task orders that are simulated; the result is their mean
RATIOS_KEPT = 64  # of one phase of one run, so that a long run does not dominate the others
RATIOS_MAX = 512  # of all runs of a phase
_GOLDEN = (math.sqrt(5) - 1) / 2


def mean_concurrency(tasks: int, slots: int) -> float:
    """Number of concurrent tasks that a task sees, averaged over the tasks.

    Equal tasks run in waves. The last wave may be smaller, and its tasks share the node with fewer
    others.

    >>> mean_concurrency(tasks=5, slots=4)
    3.4
    """
    full, rest = divmod(tasks, slots)
    return (full * slots * slots + rest * rest) / tasks


def list_schedule_s(lengths_s: Iterable[float], slots: int) -> float:
    """Makespan if the slot that is free first always takes the next task. O(tasks * log slots).

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
    """Distribution of task lengths in a phase: ratios to the average, in rising order."""

    ratios: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, phases: Iterable[PastPhase]) -> LengthSpread:
        """Distribution measured in past runs of one phase, from single tasks if there are any."""
        ratios = sorted(ratio for phase in phases for ratio in _ratios(phase))
        return cls(tuple(sampled_evenly(ratios, RATIOS_MAX)) or (1.0,))

    def lengths_s(self, tasks: int, avg_s: float) -> list[float]:
        """Lengths of `tasks` tasks with that average, shortest first."""
        # Each ratio is the middle of its share of the distribution; interpolate between them.
        import numpy as np  # a tenth of a second, which most commands need not wait

        places = (np.arange(tasks) + 0.5) / tasks * len(self.ratios) - 0.5
        quantiles = np.interp(places, np.arange(len(self.ratios)), self.ratios)
        scaled: list[float] = (quantiles * (avg_s * tasks / quantiles.sum())).tolist()
        return scaled

    def longest_ratio(self, tasks: int) -> float:
        """Longest of `tasks` tasks, as a multiple of their average; at least 1.

        >>> LengthSpread((0.5, 1.0, 1.5)).longest_ratio(tasks=3)
        1.5
        """
        return _longest_ratio(self, min(tasks, 100 * RATIOS_KEPT))


@lru_cache(maxsize=4096)
def _longest_ratio(spread: LengthSpread, tasks: int) -> float:
    return max(1.0, spread.lengths_s(tasks, 1.0)[-1])


EQUAL_LENGTHS = LengthSpread()


def _ratios(phase: PastPhase) -> list[float]:
    if phase.avg_s <= 0:
        return []
    if phase.timeline:
        return sampled_evenly(sorted(task.length_s / phase.avg_s for task in phase.timeline))
    if phase.tasks == 1:
        return [1.0]
    # Only average and maximum are known, so assume that all tasks but the longest are equal.
    longest = phase.max_s / phase.avg_s
    others = max(0.0, (phase.tasks - longest) / (phase.tasks - 1))
    return sampled_evenly([others] * min(phase.tasks - 1, 10 * RATIOS_KEPT) + [longest])


def sampled_evenly(rising: Sequence[float], kept: int = RATIOS_KEPT) -> list[float]:
    """At most `kept` of the values, evenly picked, with the first and the last.

    >>> sampled_evenly([0, 1, 2, 3, 4], kept=3)
    [0, 2, 4]
    """
    if len(rising) <= kept:
        return list(rising)
    return [rising[round(index * (len(rising) - 1) / (kept - 1))] for index in range(kept)]


def phase_s(tasks: int, slots: int, avg_s: float, spread: LengthSpread = EQUAL_LENGTHS) -> float:
    """Expected time of a phase with that average task length.

    This is the mean over a few fixed task orders. A phase with more than TASKS_SIMULATED_MAX tasks
    is scaled down with the same number of waves. If that leaves too few slots, the result is the
    middle of the makespan bounds.

    >>> phase_s(tasks=10, slots=3, avg_s=5.0)
    20.0
    """
    return avg_s * _unit_phase_s(tasks, min(slots, tasks), spread)


# A fit asks for the same phase at each run of a setting, and again when it looks for outliers.
@lru_cache(maxsize=4096)
def _unit_phase_s(tasks: int, slots: int, spread: LengthSpread) -> float:
    """The time of a phase with an average task of 1 s."""
    if tasks > TASKS_SIMULATED_MAX:
        if slots * TASKS_SIMULATED_MAX < tasks * SLOTS_SIMULATED_MIN:
            return sum(makespan_bounds_s(tasks, slots, 1.0, spread.longest_ratio(tasks))) / 2
        tasks, slots = TASKS_SIMULATED_MAX, round(slots * TASKS_SIMULATED_MAX / tasks)
    lengths_s = spread.lengths_s(tasks, 1.0)
    if slots in {1, tasks} or lengths_s[0] == lengths_s[-1]:
        return list_schedule_s(lengths_s, slots)
    played_s = [list_schedule_s(shuffled(lengths_s, turn), slots) for turn in range(ORDERS)]
    return math.fsum(played_s) / ORDERS


def shuffled(lengths_s: Sequence[float], turn: int) -> list[float]:
    """Return the same lengths in an order without a trend, a different one for each turn.

    Multiples of the golden ratio, modulo 1, fill the unit interval evenly from any start. A random
    shuffle would need a seed and would vary more from turn to turn.
    """
    return [lengths_s[place] for place in _places(len(lengths_s), turn)]


@lru_cache(maxsize=1024)
def _places(count: int, turn: int) -> tuple[int, ...]:
    return tuple(sorted(range(count), key=lambda place: ((place + turn * 7919) * _GOLDEN) % 1.0))


def concurrent_tasks_max(timeline: Sequence[PastTask]) -> int | None:
    """Most concurrent tasks of a past phase; None without a timeline."""
    if not timeline:
        return None
    ends = sorted(task.finished_at_s for task in timeline)
    starts = sorted(task.started_at_s for task in timeline)
    # A task that ends at the start of another has already freed its slot.
    return max(index + 1 - bisect.bisect_right(ends, start) for index, start in enumerate(starts))
