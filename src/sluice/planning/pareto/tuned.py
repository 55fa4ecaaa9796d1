"""Plan entries of a job with tuned task counts, on one VM type.

For each number of VMs the entry is the fastest choice of maps and reduces. If the I/O cost depends
on the number of maps, a slower choice with cheaper I/O can be worthwhile. Then every map count is
priced, in blocks of many numbers of VMs at once. VMs rise from block to block, so a row of an
earlier block that dominates a later one also needs fewer VMs. If jobs share a cap, a block is a
single number of VMs, so that no entry with fewer VMs is lost. Source: pareto, sections 4.1, 4.3,
4.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sluice.model.errors import InvalidInput
from sluice.model.machines import VmOffer, time_at_speed_s
from sluice.planning.pareto.choice_arrays import (
    ChoiceArrays,
    joined,
    no_choices,
    not_dominated_by,
    undominated_choices,
)
from sluice.planning.pareto.pricing import JobChoice, JobPricing, PhaseTimes, PlanEntry
from sluice.planning.pareto.problem import BufferTuning, TaskTuning
from sluice.planning.pareto.rounding import is_below
from sluice.planning.pareto.task_counts import (
    PhaseChoices,
    PhaseCounts,
    best_with_at_most,
    tuned_choices,
)

if TYPE_CHECKING:
    from sluice.planning.pareto.choice_arrays import Counts, Numbers

ROWS_MAX, SHARED_ROWS_MAX = 25_000_000, 4_000_000
_BLOCK_ROWS = 1_000_000
_HOUR_S = 3600.0
_DRAWN = (BufferTuning.RANDOM, BufferTuning.RECURSIVE_RANDOM)
_DRAWN_COUNTS_MAX = 1000  # each count takes thousands of draws


class TunedPhase:
    """A phase with tuned task counts. best: the fastest choice for 1 slot, 2 slots and so on."""

    def __init__(self, times: PhaseTimes, tuning: TaskTuning) -> None:
        self.phase = PhaseCounts(times)
        self._is_scanned = tuning is TaskTuning.SCAN
        self._choices = tuned_choices(self.phase, tuning)
        self.best = best_with_at_most(self._choices)

    @property
    def limit(self) -> int:
        """The most tasks, and so the most useful slots."""
        return self.phase.limit

    def choices(self, slots: int) -> PhaseChoices:
        """Every choice on at most `slots` slots that can be the cheapest for its time."""
        if not self._is_scanned:
            return self._choices.where(np.arange(slots))
        counts = self.phase.counts
        useful = np.where(counts <= slots, self._useful_slots, slots)
        return PhaseChoices(self.phase.times_s(counts, useful), useful, counts)

    @cached_property
    def _useful_slots(self) -> Counts:
        """`PhaseTimes.useful_slots` for each count, on as many slots as tasks."""
        counts, phase = self.phase.counts, self.phase
        is_wide = phase.times_s(counts, np.maximum(1, counts - 1)) < phase.times_s(counts, counts)
        fewer: Counts = counts - is_wide
        return fewer


def io_prices_usd(maps: TunedPhase, pricing: JobPricing) -> Numbers | None:
    """I/O price by number of maps, from 1 on; None if it is the same for all numbers.

    Raises InvalidInput if random tuning would have to draw buffers for too many counts.
    """
    if pricing.has_flat_io:
        return None
    if pricing.buffer_tuning in _DRAWN and maps.limit > _DRAWN_COUNTS_MAX:
        raise InvalidInput(
            f"maps.tasks_max is {maps.limit}: too many counts to draw a buffer for each",
            where=f"job {pricing.job.job_id!r}",
            hint=f"give at most {_DRAWN_COUNTS_MAX}, or --tune buffers",
        )
    counted = map(pricing.io_usd, range(1, maps.limit + 1))
    prices_usd = np.fromiter(counted, np.float64, maps.limit)
    return prices_usd if is_below(float(prices_usd.min()), float(prices_usd.max())) else None


class TunedJob:
    """One job with both phases tuned; gives its entries for any VM type."""

    def __init__(self, pricing: JobPricing, tuning: TaskTuning) -> None:
        self._pricing = pricing
        self.maps = TunedPhase(pricing.maps, tuning)
        self.reduces = TunedPhase(pricing.reduces, tuning)
        self._io_usd = io_prices_usd(self.maps, pricing)

    def entries(
        self, offer: VmOffer, vms_max: int | None, *, is_shared: bool
    ) -> Iterator[PlanEntry]:
        """Yield entries that include all undominated ones in time and cost.

        vms_max: most VMs of the job.  is_shared: include all undominated in time, cost and VMs.
        """
        on_offer = _OnOffer(self._pricing, offer, self.maps, self.reduces)
        vms = on_offer.vms(vms_max)
        if self._io_usd is None:
            return on_offer.fastest(vms, is_shared=is_shared)
        self._check_rows(len(vms), SHARED_ROWS_MAX if is_shared else ROWS_MAX)
        return on_offer.priced(vms, self._io_usd, is_shared=is_shared)

    def _check_rows(self, vms: int, rows_max: int) -> None:
        if vms * self.maps.limit > rows_max:
            raise InvalidInput(
                f"maps.tasks_max is {self.maps.limit}: too many for {vms} numbers of VMs, because"
                " each count has its own I/O price",
                where=f"job {self._pricing.job.job_id!r}",
                hint="give a lower one, tune the buffers as well, or set a lower limits.vms_max",
            )


class _OnOffer:
    """One job on one VM type."""

    def __init__(
        self, pricing: JobPricing, offer: VmOffer, maps: TunedPhase, reduces: TunedPhase
    ) -> None:
        self._pricing, self._offer = pricing, offer
        self._maps, self._reduces = maps, reduces

    def vms(self, vms_max: int | None) -> Counts:
        """The useful numbers of VMs, rising."""
        shape = self._offer.shape
        most = shape.vms(map_slots=self._maps.limit, reduce_slots=self._reduces.limit)
        return np.arange(1, min(most, vms_max or most) + 1, dtype=np.int64)

    def fastest(self, vms: Counts, *, is_shared: bool) -> Iterator[PlanEntry]:
        """Yield the fastest entry for each number of VMs that is faster than fewer VMs."""
        slots = np.minimum(vms * self._offer.shape.map_slots, self._maps.limit)
        rows = self._rows(self._maps.best.where(slots - 1), self._reduce_slots(vms), 0.0)
        is_faster = np.append(True, rows.seconds[1:] < rows.seconds[:-1])
        return self._entries(rows.where(is_faster) if is_shared else undominated_choices(rows))

    def priced(self, vms: Counts, io_usd: Numbers, *, is_shared: bool) -> Iterator[PlanEntry]:
        """Yield undominated entries over all map counts. io_usd: by map count, from 1 on."""
        size = 1 if is_shared else max(1, _BLOCK_ROWS // self._maps.limit)
        known = no_choices()
        for first in range(0, len(vms), size):
            block = vms[first : first + size].tolist()
            fresh = undominated_choices(
                joined([self._choices_on(one, io_usd, known) for one in block])
            )
            known = undominated_choices(joined([known, fresh]))
            if is_shared:
                yield from self._entries(fresh)
        if not is_shared:
            yield from self._entries(known)

    def _choices_on(self, vms: int, io_usd: Numbers, known: ChoiceArrays) -> ChoiceArrays:
        """All map choices on `vms` VMs that no known row equals or dominates."""
        choices = self._maps.choices(min(vms * self._offer.shape.map_slots, self._maps.limit))
        reduce_slots = np.full(len(choices.tasks), self._reduce_slots(np.array(vms)))
        return not_dominated_by(self._rows(choices, reduce_slots, io_usd[choices.tasks - 1]), known)

    def _reduce_slots(self, vms: Counts) -> Counts:
        """Slots that the fastest reduces on `vms` VMs use."""
        slots = np.minimum(vms * self._offer.shape.reduce_slots, self._reduces.limit)
        used: Counts = self._reduces.best.slots[slots - 1]
        return used

    def _rows(
        self, maps: PhaseChoices, reduce_slots: Counts, io_usd: Numbers | float
    ) -> ChoiceArrays:
        """Time and cost of these map choices, each with the best reduces on its slots."""
        shape, reduces = self._offer.shape, self._reduces.best
        tasks_s = maps.seconds + reduces.seconds[reduce_slots - 1]
        seconds = time_at_speed_s(tasks_s, self._pricing.job.driver_s, self._offer.speed)
        vms = np.maximum(-(-maps.slots // shape.map_slots), -(-reduce_slots // shape.reduce_slots))
        usd = vms * self._paid_hours(seconds) * self._offer.hour_usd + io_usd
        return ChoiceArrays(seconds, usd, maps.slots, maps.tasks, reduce_slots)

    def _paid_hours(self, seconds: Numbers) -> Numbers:
        """`Prices.paid_hours` for an array of times."""
        billing_s = self._pricing.billing_s
        if not billing_s:
            return seconds / _HOUR_S
        units = seconds / billing_s
        begun: Numbers = np.ceil(units - 1e-9 * np.maximum(1.0, units))
        return np.maximum(1.0, begun) * billing_s / _HOUR_S

    def _entries(self, rows: ChoiceArrays) -> Iterator[PlanEntry]:
        reduce_tasks = self._reduces.best.tasks[rows.reduce_slots - 1]
        columns = (rows.map_slots, rows.reduce_slots, rows.map_tasks, reduce_tasks)
        for map_slots, reduce_slots, maps, reduces in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            buffer = self._pricing.buffer(maps)
            choice = JobChoice(self._offer, map_slots, reduce_slots, maps, reduces, buffer)
            yield self._pricing.entry(choice)
