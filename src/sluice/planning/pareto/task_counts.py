"""Into how many tasks to cut a phase, for every number of slots that it may have.

Three ways: the count that is given; the best of all counts up to a limit; the paper's hill climb,
which starts at one task a slot and stops where the first more no longer helps (E14: it misses the
best count in most phases, for waves make the curve a saw).

Both searches are done for all numbers of slots at once, in arrays, and look only where something
can change. While the number of waves stays, tasks that never get longer make the phase shorter: so
on k slots only w*k, w*k + 1 and the limit can be best, and a climb can stop only there. There are
some limit * log(limit) such places for all k together, where all counts would be its square.
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

EVALUATIONS_MAX = 100_000_000  # at a count on a number of slots, for one phase
_FIRST_LOOK = 64
_FEW_SLOTS = 32  # so narrow waves end at so many places that each climb is made alone
_TINY = 1e-12  # a length that falls by less may leave the time as it is, by rounding


class PhaseChoice(NamedTuple):
    """A phase on so many slots, cut into so many tasks, and the seconds that it takes."""

    time_s: float
    slots: int
    tasks: int


class PhaseChoices(NamedTuple):
    """Many cuts of a phase, side by side: seconds, slots in use, tasks."""

    seconds: Seconds
    slots: Counts
    tasks: Counts

    def at(self, place: int) -> PhaseChoice:
        """One of them."""
        return PhaseChoice(
            float(self.seconds[place]), int(self.slots[place]), int(self.tasks[place])
        )

    def where(self, places: Counts) -> PhaseChoices:
        """Some of them, by position."""
        return PhaseChoices(self.seconds[places], self.slots[places], self.tasks[places])


class PhaseCounts:
    """One phase, cut into 1 task, 2 tasks and so on up to its limit, timed in arrays."""

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
        """Seconds for each of these counts; to the last bit what `PhaseTimes.time_s` says."""
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
        """No task gets longer when there are more of them."""
        import numpy as np

        return all(bool((np.diff(lengths) <= 0).all()) for span in self._spans for lengths in span)

    @property
    def is_falling(self) -> NDArray[bool_]:
        """For each count but the last: one task more makes tasks shorter, none longer."""
        import numpy as np

        lengths = [part for span in self._spans for part in span]
        steps = np.array([np.diff(one) for one in lengths])
        falling: NDArray[bool_] = (steps <= 0).all(axis=0) & (
            steps.sum(axis=0) < -_TINY * np.sum(lengths, axis=0)[:-1]
        )
        return falling

    def check_looks(self, looks: int) -> None:
        """Raises InvalidInput where a search would take too long."""
        if looks > EVALUATIONS_MAX:
            raise InvalidInput(
                f"tasks_max is {self.limit}, too many counts to try with such lengths",
                where=self._where,
                hint="give a lower one, or lengths that never rise with the count of tasks",
            )


def tuned_choices(phase: PhaseCounts, tuning: TaskTuning) -> PhaseChoices:
    """For 1 slot, 2 slots and so on, all of them in use: the cut that the tuning finds.

    Raises InvalidInput where that would be too many looks.
    """
    tasks = _climbed(phase) if tuning is TaskTuning.HILL else _scanned(phase)
    return PhaseChoices(phase.times_s(tasks, phase.counts), phase.counts, tasks)


def best_with_at_most(cuts: PhaseChoices) -> PhaseChoices:
    """For 1 slot, 2 slots and so on, the fastest cut of at most so many; of equals, on the fewest.

    More slots may slow a climbed phase down, and a scanned one may be best with slots to spare.
    """
    import numpy as np

    least = np.minimum.accumulate(cuts.seconds)
    is_new = np.ones(len(least), dtype=bool)
    is_new[1:] = least[1:] < least[:-1]
    places = np.maximum.accumulate(np.where(is_new, np.arange(len(least)), 0))
    return cuts.where(places)


# --- the best of all counts -----------------------------------------------------------------------


def _scanned(phase: PhaseCounts) -> Counts:
    """For each number of slots the count, at least as many, that is done first."""
    if not phase.is_never_rising:
        phase.check_looks(phase.limit**2 // 2)
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
    """Few slots one by one, for all their waves; many slots together, wave by wave."""
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
    """For each number of slots the count at which the climb stops. Source: pareto, Algorithm 4."""
    import numpy as np

    tasks = phase.counts.copy()
    few = min(phase.limit, _FEW_SLOTS)
    for slots in range(1, few + 1):
        tasks[slots - 1] = _climbed_alone(phase, slots)
    _climb_together(phase, tasks[few:], np.arange(few + 1, phase.limit + 1))
    return tasks


def _climbed_alone(phase: PhaseCounts, slots: int) -> int:
    """The same for one number of slots, in ever longer strides."""
    tasks, stride = slots, _FIRST_LOOK
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
    """The same for many numbers of slots, in `tasks` itself, from one place to the next at which a
    climb can stop: where a wave ends or begins, or where tasks do not get shorter.
    """
    import numpy as np

    steps = phase.counts[:-1]
    holds = np.where(phase.is_falling, phase.limit, steps)
    holds = np.append(np.minimum.accumulate(holds[::-1])[::-1], phase.limit)
    climbing = np.arange(len(slots))
    looks = 0
    while len(climbing):
        looks += len(climbing)
        phase.check_looks(looks)
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
