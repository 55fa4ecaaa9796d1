"""Entries of a job whose tasks are tuned, on one type of VM.

For each number of VMs: the fastest cut of maps and reduces. Where the number of maps has a price
of its own, a slower cut with cheaper I/O may be worth it, and every cut is looked at, in blocks of
many numbers of VMs at once. VMs rise, so what beats a row from an earlier block beats it in VMs as
well: where jobs share a cap, a block is one number of VMs, and nothing is lost that needs fewer.
Source: pareto, sections 4.1, 4.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sluice.model.errors import InvalidInput
from sluice.model.machines import VmOffer
from sluice.planning.pareto.choice_arrays import (
    ChoiceArrays,
    joined,
    no_choices,
    not_dominated_by,
    undominated_choices,
)
from sluice.planning.pareto.pricing import JobChoice, JobPricing, PlanEntry
from sluice.planning.pareto.problem import TaskTuning
from sluice.planning.pareto.sides import TunedPhase, io_prices_usd
from sluice.planning.pareto.task_counts import PhaseChoices

if TYPE_CHECKING:
    from sluice.planning.pareto.choice_arrays import Counts, Numbers

ROWS_MAX, SHARED_ROWS_MAX = 25_000_000, 4_000_000
_BLOCK_ROWS = 1_000_000
_HOUR_S = 3600.0


class TunedJob:
    """One job with both sides searched, ready to be entered on any type of VM."""

    def __init__(self, pricing: JobPricing, tuning: TaskTuning) -> None:
        self._pricing = pricing
        self.maps = TunedPhase(pricing.maps, tuning)
        self.reduces = TunedPhase(pricing.reduces, tuning)
        self._io_usd = io_prices_usd(self.maps, pricing)

    def entries(
        self, offer: VmOffer, vms_max: int | None, *, is_shared: bool
    ) -> Iterator[PlanEntry]:
        """Entries among which are all that none beats in time and cost.

        vms_max: of the job's VMs.  is_shared: all that none beats in time, cost and VMs.
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
                f"maps.tasks_max is {self.maps.limit}: too many, on {vms} numbers of VMs, for each"
                " count has I/O of another price",
                where=f"job {self._pricing.job.job_id!r}",
                hint="give a lower one, tune the buffers as well, or set a lower limits.vms_max",
            )


class _OnOffer:
    """The same on one type of VM."""

    def __init__(
        self, pricing: JobPricing, offer: VmOffer, maps: TunedPhase, reduces: TunedPhase
    ) -> None:
        self._pricing, self._offer = pricing, offer
        self._maps, self._reduces = maps, reduces

    def vms(self, vms_max: int | None) -> Counts:
        """The numbers of VMs worth having, the least first."""
        shape = self._offer.shape
        most = shape.vms(map_slots=self._maps.limit, reduce_slots=self._reduces.limit)
        return np.arange(1, min(most, vms_max or most) + 1, dtype=np.int64)

    def fastest(self, vms: Counts, *, is_shared: bool) -> Iterator[PlanEntry]:
        """For each number of VMs the fastest entry, as long as more VMs are faster."""
        slots = np.minimum(vms * self._offer.shape.map_slots, self._maps.limit)
        rows = self._rows(self._maps.best.where(slots - 1), self._reduce_slots(vms), 0.0)
        is_faster = np.append(True, rows.seconds[1:] < rows.seconds[:-1])
        return self._entries(rows.where(is_faster) if is_shared else undominated_choices(rows))

    def priced(self, vms: Counts, io_usd: Numbers, *, is_shared: bool) -> Iterator[PlanEntry]:
        """Entries of all cuts of the maps. io_usd: by their number, from 1 on."""
        size = 1 if is_shared else max(1, _BLOCK_ROWS // self._maps.limit)
        known = no_choices()
        for first in range(0, len(vms), size):
            block = vms[first : first + size].tolist()
            fresh = undominated_choices(
                joined([self._cuts_on(one, io_usd, known) for one in block])
            )
            known = undominated_choices(joined([known, fresh]))
            if is_shared:
                yield from self._entries(fresh)
        if not is_shared:
            yield from self._entries(known)

    def _cuts_on(self, vms: int, io_usd: Numbers, known: ChoiceArrays) -> ChoiceArrays:
        """All cuts of the maps on so many VMs that nothing known is as good as."""
        cuts = self._maps.cuts(min(vms * self._offer.shape.map_slots, self._maps.limit))
        reduce_slots = np.full(len(cuts.tasks), self._reduce_slots(np.array(vms)))
        return not_dominated_by(self._rows(cuts, reduce_slots, io_usd[cuts.tasks - 1]), known)

    def _reduce_slots(self, vms: Counts) -> Counts:
        """How many slots the fastest reduces on so many VMs really use."""
        slots = np.minimum(vms * self._offer.shape.reduce_slots, self._reduces.limit)
        used: Counts = self._reduces.best.slots[slots - 1]
        return used

    def _rows(
        self, maps: PhaseChoices, reduce_slots: Counts, io_usd: Numbers | float
    ) -> ChoiceArrays:
        """What these cuts of the maps come to, each with the best reduces on so many slots."""
        shape, reduces = self._offer.shape, self._reduces.best
        seconds = (maps.seconds + reduces.seconds[reduce_slots - 1]) / self._offer.speed
        vms = np.maximum(-(-maps.slots // shape.map_slots), -(-reduce_slots // shape.reduce_slots))
        usd = vms * self._paid_hours(seconds) * self._offer.hour_usd + io_usd
        return ChoiceArrays(seconds, usd, maps.slots, maps.tasks, reduce_slots)

    def _paid_hours(self, seconds: Numbers) -> Numbers:
        """As `Prices.paid_hours`, of many times."""
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
