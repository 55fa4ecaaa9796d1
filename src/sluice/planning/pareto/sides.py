"""The two sides of a job, maps and reduces, each in slots of its own kind.

A side knows which numbers of VMs are worth having, and the fastest way to use so many slots. The
maps also cost I/O by their number, so that a slower cut of them may be the cheaper one; where that
is so, all cuts are handed out at once, in arrays. Source: pareto, sections 4.1, 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from sluice.model.errors import InvalidInput
from sluice.planning.pareto.pricing import JobPricing, PhaseTimes
from sluice.planning.pareto.problem import TaskTuning
from sluice.planning.pareto.rounding import is_below
from sluice.planning.pareto.tasks import Cut, Scan, breaking_vms, climbed

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_TIMED_MAX = 100_000_000


class Cuts(NamedTuple):
    """Many cuts of a phase, side by side: seconds, slots in use, tasks."""

    seconds: NDArray[float64]
    slots: NDArray[int64]
    tasks: NDArray[int64]


class Side:
    """A phase with the task count that is given."""

    def __init__(self, times: PhaseTimes) -> None:
        self.times = times

    def vms(self, per_vm: int) -> Iterable[int]:
        """The numbers of VMs worth having, at so many slots each."""
        return breaking_vms(self.times.phase.tasks, per_vm)

    def best(self, slots: int) -> Cut:
        """The fastest way to use at most so many slots."""
        tasks = self.times.phase.tasks
        used = min(tasks, slots)
        return Cut(self.times.time_s(tasks, used), used, tasks)

    def cuts(self, slots: int) -> Cuts:
        """Every way to use at most so many slots that may be the cheapest for its time."""
        import numpy as np

        time_s, used, tasks = self.best(slots)
        return Cuts(np.array([time_s]), np.array([used]), np.array([tasks]))


class ScannedSide(Side):
    """A phase with the best of all task counts up to its limit."""

    def __init__(self, times: PhaseTimes) -> None:
        super().__init__(times)
        self._scan = Scan(times)

    def vms(self, per_vm: int) -> Iterable[int]:
        return _all_vms(self.times, per_vm)

    def best(self, slots: int) -> Cut:
        return self._scan.best(slots)

    def cuts(self, slots: int) -> Cuts:
        import numpy as np

        counts = self._scan.counts
        return Cuts(self._scan.times_s(counts, slots), np.minimum(counts, slots), counts)


class ClimbedSide(Side):
    """A phase with the task count that the paper's hill climb finds.

    More slots may slow it down, so the best is that of all numbers of slots up to the given one.
    """

    def __init__(self, times: PhaseTimes) -> None:
        super().__init__(times)
        limit = times.phase.tasks_max
        self._climbs = [climbed(times, slots) for slots in range(1, limit + 1)]
        self._bests = list(accumulate(self._climbs, min))

    def vms(self, per_vm: int) -> Iterable[int]:
        return _all_vms(self.times, per_vm)

    def best(self, slots: int) -> Cut:
        return self._bests[min(slots, len(self._bests)) - 1]

    def cuts(self, slots: int) -> Cuts:
        seconds, used, tasks = self._columns
        return Cuts(seconds[:slots], used[:slots], tasks[:slots])

    @cached_property
    def _columns(self) -> Cuts:
        import numpy as np

        seconds, slots, tasks = zip(*self._climbs, strict=True)
        return Cuts(np.array(seconds), np.array(slots), np.array(tasks))


def side_of(times: PhaseTimes, tuning: TaskTuning) -> Side:
    """The side of a phase under a way of tuning its tasks."""
    if tuning is TaskTuning.SCAN:
        return ScannedSide(times)
    return ClimbedSide(times) if tuning is TaskTuning.HILL else Side(times)


def _all_vms(times: PhaseTimes, per_vm: int) -> Iterable[int]:
    return range(1, -(-times.phase.tasks_max // per_vm) + 1)


def io_prices_usd(side: Side, pricing: JobPricing) -> NDArray[float64] | None:
    """What the I/O costs by the number of maps, from 1 on; None where that makes no difference.

    Raises InvalidInput where each count would have to be timed on each number of slots, and there
    are too many of both.
    """
    import numpy as np

    if type(side) is Side or pricing.has_flat_io:
        return None
    limit = side.times.phase.tasks_max
    prices_usd = [pricing.io_usd(tasks) for tasks in range(1, limit + 1)]
    if not is_below(min(prices_usd), max(prices_usd)):
        return None
    if isinstance(side, ScannedSide) and limit * limit > _TIMED_MAX:
        raise InvalidInput(
            f"maps.tasks_max is {limit}: too many, for each count has I/O of another price",
            where=f"job {pricing.job.job_id!r}",
            mend=f"give at most {int(_TIMED_MAX**0.5)}",
        )
    return np.array(prices_usd)
