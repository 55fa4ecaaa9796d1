"""Nodes that a cluster for a night may be rented of: their slots, their speed and their price.

Some of the nodes may be reserved: those are used first, and the others are rented on demand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.bootstrap.nights.simulation import NodeShape
from sluice.ingest.price_lists import EXAMPLE, load_price_list
from sluice.ingest.suggestions import known_choice, known_word
from sluice.model.classes import CapacityPrices
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.model.machines import PriceList, Rent, VmOffer, VmShape
from sluice.model.prices import Prices
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.planning.capacity.problem import RentalPrices

SLOTS_PER_NODE = 4  # where neither a VM type nor the file says
ANY_TYPE = "any"
_SHARED_SLOTS = frozenset({"spark"})
_HOURLY = Prices(vm_hour_usd=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A node to rent.

    rental: dollars for a node and hour, and how many are reserved; None if no price is known.
    billing: how hours are counted.  is_spot: spot nodes are neither reserved nor on demand.
    """

    shape: NodeShape
    rental: RentalPrices | None = None
    billing: Prices = _HOURLY
    name: str | None = None
    is_spot: bool = False

    def cost_usd(self, nodes: int, seconds: float) -> float | None:
        """Rent of that many nodes; None without prices."""
        if self.rental is None:
            return None
        return self.billing.paid_hours(seconds) * self.rental.cost_usd(nodes)

    def split(self, nodes: int) -> tuple[int | None, int | None]:
        """Nodes that are reserved, and nodes on demand; None for both if no price is known."""
        if self.rental is None or self.is_spot:
            return None, None
        reserved, on_demand = self.rental.vms(nodes)
        return int(reserved), int(on_demand)


@dataclass(frozen=True, slots=True, kw_only=True)
class RentTerms:
    """The terms of the rent that are asked for.

    vm_type: of the price list, or ANY_TYPE. Without it the price list counts, and without that the
    node of the file.  prices: a price list, or its file; None is the example list.
    reserved_vms: how many nodes are reserved; None is as the file says, or none.
    """

    vm_type: str | None
    prices: str | Path | PriceList | None
    rent: str
    reserved_vms: int | None


def machines_of(
    workload: Workload | None, runs: Iterable[PastRun], terms: RentTerms
) -> list[Machine]:
    """The nodes to choose from: each type of a price list, else one.

    Raises InvalidInput for unknown types and terms, and for missing prices.
    """
    has_containers = _has_containers(workload, runs)
    rent = known_choice("--rent", terms.rent, Rent)
    if terms.reserved_vms is not None and rent is not Rent.ON_DEMAND:
        raise InvalidInput(
            f"it is given together with --rent {rent.value}",
            where="--reserved-vms",
            hint="leave out --rent: the other VMs are on demand",
        )
    if terms.vm_type is None and terms.prices is None:
        return [_own(workload, terms.reserved_vms, has_containers=has_containers)]
    listed = terms.prices
    if not isinstance(listed, PriceList):
        listed = load_price_list(listed or EXAMPLE)
    offers = {str(offer.vm_type): offer for offer in listed.on_terms((rent,))}
    wanted = ANY_TYPE if terms.vm_type is None else terms.vm_type
    if wanted == ANY_TYPE and ANY_TYPE not in offers:
        chosen = list(offers.values())
    else:
        chosen = [offers[known_word("--vm-type", wanted, list(offers))]]
    return [
        _offered(offer, listed, terms.reserved_vms, has_containers=has_containers)
        for offer in chosen
    ]


def _has_containers(workload: Workload | None, runs: Iterable[PastRun]) -> bool:
    """Whether tasks take any slot: those of Spark do, and stages of a file."""
    fixed = () if workload is None else workload.jobs
    return any(run.source in _SHARED_SLOTS for run in runs) or any(
        phase.kind is SlotKind.CONTAINER for job in fixed for phase in job.phases
    )


def _own(workload: Workload | None, reserved_vms: int | None, *, has_containers: bool) -> Machine:
    """The VM or the node of the file, else one of SLOTS_PER_NODE slots."""
    rental, billing = _own_rental(workload, reserved_vms)
    slots, name = (SLOTS_PER_NODE, SLOTS_PER_NODE), None
    cluster = None if workload is None else workload.cluster
    if workload is not None and workload.vm is not None:
        name = "vm"
        has_containers = has_containers or not workload.vm.has_typed_slots
        slots = _slots(workload.vm, has_containers=has_containers)
    elif cluster is not None and not cluster.is_totals:
        node, name = cluster.nodes[0], "node of the file"
        has_containers = has_containers or bool(node.containers)
        slots = (node.containers,) * 2 if node.containers else (node.map_slots, node.reduce_slots)
    shape = _shape(slots, 1.0, has_containers=has_containers)
    return Machine(shape=shape, rental=rental, billing=billing, name=name)


def _own_rental(
    workload: Workload | None, reserved_vms: int | None
) -> tuple[RentalPrices | None, Prices]:
    """The prices of the file: of reserved and on-demand VMs if it has both, else of any VM."""
    prices = None if workload is None else workload.prices
    both = None if workload is None else workload.capacity_prices
    if workload is not None and (both is not None or reserved_vms is not None):
        both = both or CapacityPrices()
        if reserved_vms is not None:
            both = replace(both, reserved_vms=float(reserved_vms))
        return RentalPrices.of(both, workload.source), prices or _billed(both.billing_s)
    if reserved_vms is not None:
        raise InvalidInput(
            "there are no prices", where="--reserved-vms", hint="give --vm-type and --prices"
        )
    return (None if prices is None else _of_one_kind(prices.vm_hour_usd)), prices or _HOURLY


def _billed(billing_s: float | None) -> Prices:
    return _HOURLY if billing_s is None else replace(_HOURLY, billing_s=billing_s)


def _of_one_kind(hour_usd: float, *, is_reserved: bool = False) -> RentalPrices:
    return RentalPrices(
        on_demand_usd=hour_usd, reserved_usd=hour_usd, reserved_vms=math.inf if is_reserved else 0.0
    )


def _slots(vm: VmShape, *, has_containers: bool) -> tuple[int, int]:
    if has_containers and vm.containers is not None:
        return vm.containers, vm.containers
    return vm.map_slots, vm.reduce_slots


def _shape(slots: tuple[int, int], speed: float, *, has_containers: bool) -> NodeShape:
    map_slots, reduce_slots = slots
    if has_containers:
        return NodeShape(containers=max(slots), speed=speed)
    return NodeShape(map_slots=map_slots, reduce_slots=reduce_slots, speed=speed)


def _offered(
    offer: VmOffer, listed: PriceList, reserved_vms: int | None, *, has_containers: bool
) -> Machine:
    rental = _of_one_kind(offer.hour_usd, is_reserved=offer.rent is Rent.RESERVED)
    if reserved_vms is not None:
        rental = replace(
            rental, reserved_usd=_reserved_usd(offer, listed), reserved_vms=float(reserved_vms)
        )
    slots = _slots(offer.shape, has_containers=has_containers)
    return Machine(
        shape=_shape(slots, offer.speed, has_containers=has_containers),
        rental=rental,
        billing=_billed(listed.billing_s),
        name=str(offer.vm_type),
        is_spot=offer.rent is Rent.SPOT,
    )


def _reserved_usd(offer: VmOffer, listed: PriceList) -> float:
    """The price of the same type if it is reserved."""
    for one in listed.on_terms((Rent.RESERVED,)):
        if one.vm_type == offer.vm_type:
            return one.hour_usd
    raise InvalidInput(
        f"the price list has no reserved_hour_usd for {str(offer.vm_type)!r}",
        where="--reserved-vms",
        hint="add it to the list, or choose another type",
    )
