"""The choices for one job that no other beats: faster ones cost more.

For every number of VMs worth having, the fullest allocation is best: time never rises with slots,
and a VM is paid whole. So a staircase has an entry for few of the millions of allocations that
there are, and yet none of them beats it. Where VMs come in several types, the staircases of all
types are one. Source: pareto, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from sluice.model.errors import InvalidInput
from sluice.model.machines import Offer
from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.pricing import Choice, Entry, JobPricing, PhaseTimes
from sluice.planning.pareto.problem import Problem, TaskTuning
from sluice.planning.pareto.rounding import ROUNDING, is_below
from sluice.planning.pareto.tasks import Cut, Scan, breaking_vms, climbed

_TIMED_MAX = 100_000_000
_HOUR_S = 3600.0
_CAUTION = 1e-9  # the bound is summed in another order than the cost

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Staircase = tuple[Entry, ...]


def staircases(problem: Problem, *, vms_max: int | None = None) -> tuple[Staircase, ...]:
    """For each job its entries by rising time and falling cost.

    vms_max: the most VMs that one job may use; a job may then be left without any entry.
    """
    return tuple(
        undominated(
            entry
            for entry in job_entries(problem, JobPricing(problem, number))
            if vms_max is None or entry.vms <= vms_max
        )
        for number in range(len(problem.jobs))
    )


def undominated(entries: Iterable[Entry]) -> Staircase:
    """The entries that no other beats in time and cost; the fewest VMs of equals."""
    kept: list[Entry] = []
    for entry in sorted(entries, key=_by_time):
        if not kept or is_below(entry.cost_usd, kept[-1].cost_usd):
            kept.append(entry)
    return tuple(kept)


def _by_time(entry: Entry) -> tuple[float, float, int]:
    return entry.time_s, entry.cost_usd, entry.vms


def job_entries(problem: Problem, pricing: JobPricing) -> Iterator[Entry]:
    """Entries among which are all undominated ones, for every type of VM."""
    sides = _sides_of(problem, pricing)
    for offer in problem.offers:
        yield from _entries(pricing, offer, *sides)


def _entries(pricing: JobPricing, offer: Offer, maps: _MapSide, reduces: _Side) -> Iterator[Entry]:
    shape = offer.shape
    counts = {*maps.vms(shape.map_slots), *reduces.vms(shape.reduce_slots)}
    # VMs rise, so what is beaten by an entry before it is beaten in VMs as well.
    before: Archive[None] = Archive()
    for vms in sorted(counts):
        reduce = reduces.best(vms * shape.reduce_slots)
        for cut in maps.cuts(vms * shape.map_slots):
            if not maps.is_flat and not before.takes(*_bound(pricing, offer, cut, reduce)):
                continue
            choice = Choice(
                offer, cut.slots, reduce.slots, cut.tasks, reduce.tasks, pricing.buffer(cut.tasks)
            )
            entry = pricing.entry(choice)
            if maps.is_flat or before.offer(entry.time_s, entry.cost_usd, None):
                yield entry


def _bound(pricing: JobPricing, offer: Offer, maps: Cut, reduces: Cut) -> tuple[float, float]:
    """The time of an entry, and what it costs at the least: no billing charges less than the time.

    Of thousands of entries most are beaten by this alone.
    """
    time_s = (maps.time_s + reduces.time_s) / offer.speed
    vms = offer.shape.vms(map_slots=maps.slots, reduce_slots=reduces.slots)
    rent_usd = vms * time_s / _HOUR_S * offer.hour_usd
    return time_s, (rent_usd + pricing.io_usd(maps.tasks)) * (1 - _CAUTION)


class _Side:
    """The phase that works in one kind of slots: its best cut for any number of them."""

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


class _ScannedSide(_Side):
    def __init__(self, times: PhaseTimes) -> None:
        super().__init__(times)
        self.scan = Scan(times)

    def vms(self, per_vm: int) -> Iterable[int]:
        return _all_vms(self.times, per_vm)

    def best(self, slots: int) -> Cut:
        return self.scan.best(slots)


class _ClimbedSide(_Side):
    """More slots may slow a climbed phase down, so the best of all up to so many counts."""

    def __init__(self, times: PhaseTimes) -> None:
        super().__init__(times)
        limit = times.phase.tasks_max
        self.climbs = [climbed(times, slots) for slots in range(1, limit + 1)]
        self._bests = list(accumulate(self.climbs, min))

    def vms(self, per_vm: int) -> Iterable[int]:
        return _all_vms(self.times, per_vm)

    def best(self, slots: int) -> Cut:
        return self._bests[min(slots, len(self._bests)) - 1]


def _all_vms(times: PhaseTimes, per_vm: int) -> Iterable[int]:
    return range(1, -(-times.phase.tasks_max // per_vm) + 1)


class _MapSide:
    """Maps cost I/O by their number, so that a slower cut may be the cheaper one."""

    def __init__(self, side: _Side, pricing: JobPricing) -> None:
        self._side = side
        self._pricing = pricing
        self.vms = side.vms
        # With a given count there is one price of I/O, whatever it is.
        self.is_flat = type(side) is _Side or _has_flat_io(side.times, pricing)
        if not self.is_flat and isinstance(side, _ScannedSide):
            _check_size(pricing)
            limit = side.times.phase.tasks_max
            self._io_usd = _array([pricing.io_usd(tasks) for tasks in range(1, limit + 1)])

    def cuts(self, slots: int) -> Iterable[Cut]:
        """The cuts on at most so many slots that none beats in time and price of I/O."""
        if self.is_flat:
            return (self._side.best(slots),)
        if isinstance(self._side, _ScannedSide):
            return self._scanned(self._side, slots)
        assert isinstance(self._side, _ClimbedSide), "there are three ways of tuning"
        return self._cheaper(self._side.climbs[:slots])

    def _scanned(self, side: _ScannedSide, slots: int) -> Iterator[Cut]:
        """As `_cheaper`, of all counts at once."""
        import numpy as np

        seconds = side.scan.all_times_s(slots)
        order = np.lexsort((self._io_usd, seconds))
        usd = self._io_usd[order]
        is_kept = np.ones(len(order), dtype=bool)
        is_kept[1:] = usd[1:] < np.minimum.accumulate(usd)[:-1] * (1 - ROUNDING)
        for tasks in (order[is_kept] + 1).tolist():
            yield Cut(float(seconds[tasks - 1]), min(tasks, slots), tasks)

    def _cheaper(self, cuts: Iterable[Cut]) -> Iterator[Cut]:
        """By rising time, those with cheaper I/O than all faster ones."""
        cheapest = float("inf")
        for cut in sorted(cuts):
            usd = self._pricing.io_usd(cut.tasks)
            if is_below(usd, cheapest):
                cheapest = usd
                yield cut


def _array(values: list[float]) -> NDArray[float64]:
    import numpy as np

    return np.array(values)


def _sides_of(problem: Problem, pricing: JobPricing) -> tuple[_MapSide, _Side]:
    side = {
        TaskTuning.FIXED: _Side,
        TaskTuning.SCAN: _ScannedSide,
        TaskTuning.HILL: _ClimbedSide,
    }[problem.options.tasks]
    return _MapSide(side(pricing.maps), pricing), side(pricing.reduces)


def _has_flat_io(times: PhaseTimes, pricing: JobPricing) -> bool:
    """Whether the I/O costs the same for every count of maps up to the limit."""
    if pricing.has_flat_io:
        return True
    prices_usd = [pricing.io_usd(tasks) for tasks in range(1, times.phase.tasks_max + 1)]
    return not is_below(min(prices_usd), max(prices_usd))


def _check_size(pricing: JobPricing) -> None:
    """Every count of maps must be timed on every number of slots."""
    limit = pricing.job.maps.tasks_max
    if limit * limit > _TIMED_MAX:
        raise InvalidInput(
            f"maps.tasks_max is {limit}: too many, for each count has I/O of another price",
            where=f"job {pricing.job.job_id!r}",
            mend=f"give at most {int(_TIMED_MAX**0.5)}, or tune buffers as well",
        )
