"""Into how many tasks to cut a phase that has so many slots.

Three ways: the count that is given; the best of all counts up to a limit; the paper's hill climb,
which starts at one task a slot and stops where the first more no longer helps (E14: it misses the
best count in most phases, for waves make the curve a saw).

If tasks never get longer as there are more of them, then of the counts that make w + 1 waves on k
slots only w*k + 1 (whose high estimate is one wave shorter) and the largest can be best.
Source: pareto, sections 4.1, 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sluice.planning.pareto.pricing import PhaseTimes

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

    Counts = NDArray[int64]
    Seconds = NDArray[float64]


class Cut(NamedTuple):
    """A phase on so many slots, cut into so many tasks, and the seconds that it takes."""

    time_s: float
    slots: int
    tasks: int


def climbed(times: PhaseTimes, slots: int) -> Cut:
    """The paper's hill climb from one task a slot. Source: pareto, section 4.3, Algorithm 4."""
    tasks = slots
    time_s = times.time_s(tasks, slots)
    while tasks < times.phase.tasks_max:
        next_s = times.time_s(tasks + 1, slots)
        if next_s >= time_s:
            break
        tasks, time_s = tasks + 1, next_s
    return Cut(time_s, slots, tasks)


class Scan:
    """All task counts of one phase from 1 to its limit, timed at once for any number of slots."""

    def __init__(self, times: PhaseTimes) -> None:
        import numpy as np

        self._times = times
        self._limit = times.phase.tasks_max
        spans = [times.spans(tasks) for tasks in range(1, self._limit + 1)]
        # By part, then average or longest, then count.
        self._spans = np.array(spans, dtype=np.float64).transpose(1, 2, 0)
        self.counts: Counts = np.arange(1, self._limit + 1, dtype=np.int64)
        self.is_falling = bool((np.diff(self._spans, axis=2) <= 0).all())

    def best(self, slots: int, *, least: int = 1) -> Cut:
        """The count of at least `least` that is done first; the fewest tasks of equals."""
        counts = self._worth_trying(slots) if self.is_falling else self.counts
        counts = counts[counts >= least]
        seconds = self.times_s(counts, slots)
        tasks = int(counts[seconds.argmin()])
        used = min(tasks, slots)
        return Cut(self._times.time_s(tasks, used), used, tasks)

    def times_s(self, counts: Counts, slots: int) -> Seconds:
        """Seconds for these counts; as `PhaseTimes.time_s`, but for the last bit of rounding."""
        import numpy as np

        rounds = -(-counts // slots) + -(-(counts - 1) // slots)
        total: Seconds = np.zeros(len(counts))
        for avg, longest in self._spans[:, :, counts - 1]:
            seconds = (rounds * avg + longest) / 2
            if self._times.is_exact:
                seconds = np.where(counts <= slots, longest, seconds)
            total += seconds
        return total

    def _worth_trying(self, slots: int) -> Counts:
        """w*k, w*k + 1 and the limit, in rising order."""
        import numpy as np

        ends = np.arange(slots, self._limit + 1, slots, dtype=np.int64)
        begins = np.arange(1, self._limit + 1, slots, dtype=np.int64)
        return np.unique(np.concatenate([ends, begins, [self._limit]]))


def breaking_vms(tasks: int, per_vm: int) -> list[int]:
    """The numbers of VMs at which a phase of fixed tasks gets faster, the least first.

    With `per_vm` slots each. Between two of them more VMs only cost more; there are about
    4 * sqrt(tasks) of them, so that a hundred million tasks are as good as a thousand.

    >>> breaking_vms(tasks=5, per_vm=2)
    [1, 2, 3]
    """
    found = {1}
    for counted in (tasks, tasks - 1):
        vms = 1
        while counted > vms * per_vm:
            waves = -(-counted // (vms * per_vm))
            slots = -(-counted // (waves - 1))
            vms = -(-slots // per_vm)
            found.add(vms)
    return sorted(found)
