"""Machines that a prediction is for: slots, or VMs of a price list with what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sluice.bootstrap.forecasts.job_forecasts import cluster_slots
from sluice.estimate.job_forecasts import JobForecast, Slots
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.machines import PriceList, Rent, VmOffer
from sluice.model.prices import Prices
from sluice.model.workload import Workload
from sluice.reporting.prediction.result import Bill

VMS_TRIED = (1, 2, 4, 8, 16, 32)
SLOT_FACTORS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Where the jobs run: slots (None for those of the newest run), speed, and what VMs cost.

    interruptions: of a VM in an hour.  boot_s: until another VM takes over.
    """

    slots: Slots = None
    speed: float = 1.0
    vms: int | None = None
    offer: VmOffer | None = None
    prices: Prices | None = None
    interruptions: float = 0.0
    boot_s: float = 0.0

    def hit(self, found: JobForecast) -> JobForecast:
        """The forecast with the interruptions of the VMs."""
        if self.vms is None or not self.interruptions:
            return found
        return found.interrupted(self.interruptions, self.boot_s, self.vms)

    def bill(self, found: JobForecast) -> Bill:
        """Return what the VMs cost for the times of a forecast."""
        return Bill(
            low_usd=self._rent_usd(found.low_s),
            expected_usd=self._rent_usd(found.predicted_s),
            high_usd=self._rent_usd(found.high_s),
        )

    def _rent_usd(self, seconds: float | None) -> float | None:
        if seconds is None or self.vms is None or self.prices is None:
            return None
        return self.vms * self.prices.rent_usd(seconds)


def machines_of(
    workload: Workload | None,
    slots: int | None,
    vms: int | None,
    vm_type: str | None,
    listed: PriceList | None,
    rent: Rent,
) -> Machines:
    """Return the machines that were asked for. Raises InvalidInput where a price is missing.

    slots, vms, vm_type, rent: as for `predict`.  listed: the price list; None without one.
    """
    if vms is not None:
        return _of_offer(_offer(workload, vm_type, listed, rent), vms, _prices(workload, listed))
    if slots is not None:
        return Machines(slots=slots)
    if workload is not None and workload.cluster is not None:
        return Machines(slots=cluster_slots(workload.cluster))
    return Machines()


def _of_offer(offer: VmOffer, vms: int, prices: Prices | None) -> Machines:
    shape = offer.shape
    rented = replace(prices or Prices(vm_hour_usd=0.0), vm_hour_usd=offer.hour_usd)
    return Machines(
        slots={"map": vms * shape.map_slots, "reduce": vms * shape.reduce_slots},
        speed=offer.speed,
        vms=vms,
        offer=offer,
        prices=rented,
    )


def _offer(
    workload: Workload | None, vm_type: str | None, listed: PriceList | None, rent: Rent
) -> VmOffer:
    if vm_type is None:
        own = _own_offer(workload)
        if own is None:
            raise InvalidInput(
                "--vm-type is missing",
                where="--vms",
                hint="name a type of the price list, or give cluster.map_slots_per_vm and"
                " prices.vm_hour_usd in the file",
            )
        return own
    assert listed is not None, "a type has a price list"
    known = [offer for offer in listed.on_terms((rent,)) if offer.vm_type == vm_type]
    if not known:
        names = [str(offer.vm_type) for offer in listed.on_terms((rent,))]
        raise InvalidInput(
            f"the price list has no type {vm_type!r} on {rent.value} terms",
            where="--vm-type",
            hint=suggestion(vm_type, names),
        )
    return known[0]


def _own_offer(workload: Workload | None) -> VmOffer | None:
    """The VM of the workload file, if the file gives its slots and its price."""
    if workload is None or workload.vm is None or workload.prices is None:
        return None
    return VmOffer(
        vm_type="vm", rent=Rent.ON_DEMAND, shape=workload.vm, hour_usd=workload.prices.vm_hour_usd
    )


def _prices(workload: Workload | None, listed: PriceList | None) -> Prices | None:
    own = None if workload is None else workload.prices
    if listed is None or listed.billing_s is None:
        return own
    return replace(own or Prices(vm_hour_usd=0.0), billing_s=listed.billing_s)


def without_slowdown(listed: PriceList) -> PriceList:
    """The list with spot VMs as fast as those on other terms: interruptions are counted apart."""
    speeds = {one.vm_type: one.speed for one in listed.offers if one.rent is not Rent.SPOT}
    offers = [replace(one, speed=speeds.get(one.vm_type, one.speed)) for one in listed.offers]
    return replace(listed, offers=tuple(offers))


def tried_machines(
    found: JobForecast, workload: Workload | None, listed: PriceList | None, rent: Rent
) -> Iterator[Machines]:
    """Types of VMs times their number; without VMs, multiples of the slots."""
    offers: Iterable[VmOffer] = () if listed is None else listed.on_terms((rent,))
    own = _own_offer(workload)
    if listed is None and own is not None:
        offers = (own,)
    offers = list(offers)
    if offers:
        for offer in offers:
            for vms in VMS_TRIED:
                yield _of_offer(offer, vms, _prices(workload, listed))
    else:
        counts = (max(1, round((found.slots or 1) * factor)) for factor in SLOT_FACTORS)
        for slots in dict.fromkeys(counts):
            yield Machines(slots=slots)
