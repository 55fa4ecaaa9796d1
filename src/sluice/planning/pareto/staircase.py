"""The choices for one job that no other beats: faster ones cost more.

For every number of VMs worth having, the fullest allocation is best: time never rises with slots,
and a VM is paid whole. So a staircase has an entry for few of the millions of allocations that
there are, and yet none of them beats it. Where VMs come in several types, the staircases of all
types are one. Source: pareto, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sluice.model.machines import Offer
from sluice.planning.pareto.archive import Archive
from sluice.planning.pareto.pricing import Choice, Entry, JobPricing
from sluice.planning.pareto.problem import Problem
from sluice.planning.pareto.rounding import ROUNDING, is_below
from sluice.planning.pareto.sides import Cuts, Side, io_prices_usd, side_of
from sluice.planning.pareto.tasks import Cut

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_HOUR_S = 3600.0

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
    tuning = problem.options.tasks
    maps, reduces = side_of(pricing.maps, tuning), side_of(pricing.reduces, tuning)
    io_usd = io_prices_usd(maps, pricing)
    for offer in problem.offers:
        if io_usd is None:
            yield from _fastest(pricing, offer, maps, reduces)
        else:
            yield from _Priced(pricing, offer, io_usd).entries(maps, reduces)


def _fastest(pricing: JobPricing, offer: Offer, maps: Side, reduces: Side) -> Iterator[Entry]:
    """For each number of VMs the fastest entry: no other can be cheaper."""
    for vms in _vms(offer, maps, reduces):
        yield _entry(
            pricing,
            offer,
            maps.best(vms * offer.shape.map_slots),
            reduces.best(vms * offer.shape.reduce_slots),
        )


def _vms(offer: Offer, maps: Side, reduces: Side) -> list[int]:
    """The numbers of VMs worth having, the least first."""
    shape = offer.shape
    return sorted({*maps.vms(shape.map_slots), *reduces.vms(shape.reduce_slots)})


def _entry(pricing: JobPricing, offer: Offer, maps: Cut, reduces: Cut) -> Entry:
    return pricing.entry(
        Choice(
            offer, maps.slots, reduces.slots, maps.tasks, reduces.tasks, pricing.buffer(maps.tasks)
        )
    )


class _Priced:
    """Entries of a job whose number of maps has a price: thousands of cuts for each number of VMs.

    Most are beaten; they are left out in arrays, before they become entries. VMs rise, so what an
    earlier entry beats it beats in VMs as well.
    """

    def __init__(self, pricing: JobPricing, offer: Offer, io_usd: NDArray[float64]) -> None:
        self._pricing = pricing
        self._offer = offer
        self._io_usd = io_usd
        self._before: Archive[None] = Archive()

    def entries(self, maps: Side, reduces: Side) -> Iterator[Entry]:
        """All that is not beaten by something before it."""
        shape = self._offer.shape
        for vms in _vms(self._offer, maps, reduces):
            reduce = reduces.best(vms * shape.reduce_slots)
            for cut in self._worth_pricing(maps.cuts(vms * shape.map_slots), reduce):
                entry = _entry(self._pricing, self._offer, cut, reduce)
                if self._before.offer(entry.time_s, entry.cost_usd, None):
                    yield entry

    def _worth_pricing(self, cuts: Cuts, reduce: Cut) -> Iterator[Cut]:
        """By rising time, cuts with cheaper I/O than all faster ones, if not beaten already."""
        import numpy as np

        shape, hour_usd = self._offer.shape, self._offer.hour_usd
        times = (cuts.seconds + reduce.time_s) / self._offer.speed
        vms = np.maximum(-(-cuts.slots // shape.map_slots), -(-reduce.slots // shape.reduce_slots))
        io_usd = self._io_usd[cuts.tasks - 1]
        usd = vms * self._paid_hours(times) * hour_usd + io_usd
        open_ones = np.flatnonzero(usd < self._beaten_from(times) * (1 - ROUNDING))
        order = open_ones[np.lexsort((io_usd[open_ones], cuts.seconds[open_ones]))]
        cheapest_usd = np.minimum.accumulate(io_usd[order])
        is_kept = np.ones(len(order), dtype=bool)
        is_kept[1:] = io_usd[order][1:] < cheapest_usd[:-1] * (1 - ROUNDING)
        for place in order[is_kept].tolist():
            yield Cut(float(cuts.seconds[place]), int(cuts.slots[place]), int(cuts.tasks[place]))

    def _paid_hours(self, times: NDArray[float64]) -> NDArray[float64]:
        """As `Prices.paid_hours`, of many times."""
        import numpy as np

        billing_s = self._pricing.billing_s
        if not billing_s:
            return times / _HOUR_S
        units = times / billing_s
        begun: NDArray[float64] = np.ceil(units - 1e-9 * np.maximum(1.0, units))
        return np.maximum(1.0, begun) * billing_s / _HOUR_S

    def _beaten_from(self, times: NDArray[float64]) -> NDArray[float64]:
        """For each time, the cost from which on something before it is as good."""
        import numpy as np

        known_s = np.array(self._before.makespans_s)
        known_usd = np.array([np.inf, *self._before.budgets_usd])
        places = np.searchsorted(known_s, times * (1 + ROUNDING), side="right")
        beaten: NDArray[float64] = known_usd[places]
        return beaten
