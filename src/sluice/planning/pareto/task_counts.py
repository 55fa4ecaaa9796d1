"""Number of tasks of a phase, for every number of slots.

There are three ways: the given count; the best of all counts up to a limit (scan); the paper's hill
climb. The climb starts at one task per slot and stops when one more task no longer helps. It misses
the best count in most phases, because waves make the curve a sawtooth (E14).

Both searches handle all numbers of slots at once, in arrays, and evaluate only counts at which
something can change. With a fixed number of waves, more tasks that never get longer make the phase
shorter. So on k slots only w*k, w*k + 1 and the limit can be best, and a climb can stop only there.
For all k together these are about limit * log(limit) counts instead of limit squared.
Source: pareto, sections 4.1, 4.3.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

from sluice.model.errors import InvalidInput
from sluice.planning.pareto.pricing import PhaseTimes
from sluice.planning.pareto.problem import TaskTuning

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

    Counts = NDArray[int64]
    Seconds = NDArray[float64]

EVALUATIONS_MAX = 100_000_000  # pairs of task count and slots, for one phase
_FIRST_STRIDE = 64
_FEW_SLOTS = 32  # up to here waves end so often that each climb is done separately
_TINY = 1e-12  # a smaller relative decrease can vanish by rounding


class PhaseChoice(NamedTuple):
    """Slots and task count of a phase, and its time in seconds."""

    time_s: float
    slots: int
    tasks: int


class PhaseChoices(NamedTuple):
    """Many choices of a phase as arrays: seconds, slots in use, tasks."""

    seconds: Seconds
    slots: Counts
    tasks: Counts

    def at(self, place: int) -> PhaseChoice:
        """Return one choice."""
        return PhaseChoice(
            float(self.seconds[place]), int(self.slots[place]), int(self.tasks[place])
        )

    def where(self, places: Counts) -> PhaseChoices:
        """Select choices by position."""
        return PhaseChoices(self.seconds[places], self.slots[places], self.tasks[places])


class PhaseCounts:
    """Times of one phase for every task count from 1 to its limit, as arrays."""

    def __init__(self, times: PhaseTimes) -> None:
        import numpy as np

        self.limit = times.phase.tasks_max
        self._where = times.where
        self.counts: Counts = np.arange(1, self.limit + 1, dtype=np.int64)
        counted = range(1, self.limit + 1)
        self._is_exact = times.is_exact
        self._spans: list[tuple[Seconds, Seconds]] = [
            (
                np.fromiter(map(part.avg_s, counted), np.float64, self.limit),
                np.fromiter(map(part.max_s, counted), np.float64, self.limit),
            )
            for part in times.phase.parts
        ]

    def times_s(self, counts: Counts, slots: Counts | int) -> Seconds:
        """Seconds for each of these counts; bit for bit the result of `PhaseTimes.time_s`."""
        import numpy as np

        waves, waves_but_one = -(-counts // slots), -(-(counts - 1) // slots)
        total: Seconds = np.zeros(np.broadcast_shapes(np.shape(counts), np.shape(slots)))
        for of_avg, of_max in self._spans:
            avg, longest = of_avg[counts - 1], of_max[counts - 1]
            seconds = (waves * avg + (waves_but_one * avg + longest)) / 2
            total += np.where(counts <= slots, longest, seconds) if self._is_exact else seconds
        return total

    @property
    def is_never_rising(self) -> bool:
        """Whether more tasks never make a task longer."""
        import numpy as np

        return all(bool((np.diff(lengths) <= 0).all()) for span in self._spans for lengths in span)

    @property
    def is_falling(self) -> NDArray[bool_]:
        """For each count but the last, whether one more task shortens tasks and lengthens none."""
        import numpy as np

        lengths = [part for span in self._spans for part in span]
        steps = np.array([np.diff(one) for one in lengths])
        falling: NDArray[bool_] = (steps <= 0).all(axis=0) & (
            steps.sum(axis=0) < -_TINY * np.sum(lengths, axis=0)[:-1]
        )
        return falling

    def check_evaluations(self, evaluations: int) -> None:
        """Raise InvalidInput if a search would take too long."""
        if evaluations > EVALUATIONS_MAX:
            raise InvalidInput(
                f"tasks_max is {self.limit}, too many counts to try with such lengths",
                where=self._where,
                hint="give a lower one, or lengths that never rise with the count of tasks",
            )


def tuned_choices(phase: PhaseCounts, tuning: TaskTuning) -> PhaseChoices:
    """Return the choice that the tuning finds for 1 slot, 2 slots and so on, all in use.

    Raises InvalidInput if the search would need too many evaluations.
    """
    tasks = _climbed(phase) if tuning is TaskTuning.HILL else _scanned(phase)
    return PhaseChoices(phase.times_s(tasks, phase.counts), phase.counts, tasks)


def best_with_at_most(choices: PhaseChoices) -> PhaseChoices:
    """For 1 slot, 2 slots and so on, the fastest choice on at most that many; ties to fewer slots.

    More slots can slow a phase down after a climb, and a scan can be best with idle slots.
    """
    import numpy as np

    least = np.minimum.accumulate(choices.seconds)
    is_new = np.ones(len(least), dtype=bool)
    is_new[1:] = least[1:] < least[:-1]
    places = np.maximum.accumulate(np.where(is_new, np.arange(len(least)), 0))
    return choices.where(places)


# --- the best of all counts -----------------------------------------------------------------------


def _scanned(phase: PhaseCounts) -> Counts:
    """For each number of slots, the fastest task count that fills them."""
    if not phase.is_never_rising:
        phase.check_evaluations(phase.limit**2 // 2)
        return _scanned_whole(phase)
    return _scanned_by_waves(phase)


def _scanned_whole(phase: PhaseCounts) -> Counts:
    import numpy as np

    best = (
        slots + int(phase.times_s(phase.counts[slots - 1 :], slots).argmin())
        for slots in range(1, phase.limit + 1)
    )
    return np.fromiter(best, np.int64, phase.limit)


def _scanned_by_waves(phase: PhaseCounts) -> Counts:
    """Few slots one by one, for all their waves; many slots together, wave by wave.

    The pivot is the square root of the limit: then neither loop has more than that many rounds.
    """
    import numpy as np

    limit, pivot = phase.limit, isqrt(phase.limit)
    best: Counts = np.full(limit, limit, dtype=np.int64)
    for slots in range(1, pivot + 1):
        ends = np.arange(slots, limit + 1, slots, dtype=np.int64)
        counts = np.unique(np.concatenate([ends, ends[ends < limit] + 1, [limit]]))
        best[slots - 1] = counts[phase.times_s(counts, slots).argmin()]
    many = phase.counts[pivot:]
    least: Seconds = np.full(len(many), np.inf)
    for waves in range(1, limit // (pivot + 1) + 1):
        for more in (0, 1):
            widths = many[: max(0, (limit - more) // waves - pivot)]
            counts, end = waves * widths + more, len(widths)
            seconds = phase.times_s(counts, widths)
            is_less = seconds < least[:end]
            np.copyto(least[:end], seconds, where=is_less)
            np.copyto(best[pivot : pivot + end], counts, where=is_less)
    at_limit = phase.times_s(np.full(len(many), limit), many)
    np.copyto(best[pivot:], limit, where=at_limit < least)
    return best


# --- the paper's hill climb -----------------------------------------------------------------------


def _climbed(phase: PhaseCounts) -> Counts:
    """For each number of slots, the count at which the climb stops. Source: pareto, Algorithm 4."""
    import numpy as np

    tasks = phase.counts.copy()
    few = min(phase.limit, _FEW_SLOTS)
    for slots in range(1, few + 1):
        tasks[slots - 1] = _climbed_alone(phase, slots)
    _climb_together(phase, tasks[few:], np.arange(few + 1, phase.limit + 1))
    return tasks


def _climbed_alone(phase: PhaseCounts, slots: int) -> int:
    """The climb for one number of slots, in strides that double."""
    tasks, stride = slots, _FIRST_STRIDE
    while True:
        ahead = phase.counts[tasks - 1 : tasks + stride]
        seconds = phase.times_s(ahead, slots)
        stops = (seconds[1:] >= seconds[:-1]).nonzero()[0]
        if len(stops):
            return tasks + int(stops[0])
        if ahead[-1] == phase.limit:
            return phase.limit
        tasks, stride = int(ahead[-1]), 2 * stride


def _climb_together(phase: PhaseCounts, tasks: Counts, slots: Counts) -> None:
    """The climb for many numbers of slots; updates `tasks`.

    It jumps to the next count at which a climb can stop: the end or begin of a wave, or a count
    after which tasks do not get shorter.
    """
    import numpy as np

    steps = phase.counts[:-1]
    holds = np.where(phase.is_falling, phase.limit, steps)
    holds = np.append(np.minimum.accumulate(holds[::-1])[::-1], phase.limit)
    climbing = np.arange(len(slots))
    evaluations = 0
    while len(climbing):
        evaluations += len(climbing)
        phase.check_evaluations(evaluations)
        now, width = tasks[climbing], slots[climbing]
        beyond = now % width
        ends = np.where(beyond <= 1, now, now + width - beyond)
        now = np.minimum(ends, holds[now - 1])
        tasks[climbing] = now
        is_below = now < phase.limit
        climbing, now, width = climbing[is_below], now[is_below], width[is_below]
        is_better = phase.times_s(now + 1, width) < phase.times_s(now, width)
        climbing = climbing[is_better]
        tasks[climbing] += 1
