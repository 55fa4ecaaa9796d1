"""Machines that can be rented: what one holds, what it costs, how fast it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id


@dataclass(frozen=True, slots=True, kw_only=True)
class VmShape:
    """What one VM holds. map_slots, reduce_slots: tasks of either kind that run side by side.

    >>> VmShape(map_slots=2, reduce_slots=2).vms(map_slots=5, reduce_slots=4)
    3
    """

    map_slots: int
    reduce_slots: int

    def __post_init__(self) -> None:
        for name in ("map_slots", "reduce_slots"):
            slots = getattr(self, name)
            if slots < 1:
                raise InvalidInput(
                    f"{name}_per_vm is {slots}", where="cluster", hint="give 1 or more"
                )

    def vms(self, *, map_slots: int, reduce_slots: int) -> int:
        """How many VMs hold so many slots. Source: pareto (1)."""
        return max(-(-map_slots // self.map_slots), -(-reduce_slots // self.reduce_slots))


class Rent(Enum):
    """The terms on which a VM is rented."""

    RESERVED = "reserved"
    ON_DEMAND = "on-demand"
    SPOT = "spot"


@dataclass(frozen=True, slots=True, kw_only=True)
class VmOffer:
    """One VM type on one kind of terms.

    hour_usd: price of its hour.  speed: how many times faster than the VMs on which lengths were
    measured it runs any task, on these terms: a spot VM that is taken back now and then is slower.
    """

    vm_type: str
    rent: Rent
    shape: VmShape
    hour_usd: float
    speed: float = 1.0

    def __post_init__(self) -> None:
        checked_id(self.vm_type, what="VM type")
        where = f"type {self.vm_type!r}"
        if not 0 <= self.hour_usd < math.inf:
            raise InvalidInput(
                f"hour_usd is {self.hour_usd}", where=where, hint="give dollars, 0 or more"
            )
        if not 0 < self.speed < math.inf:
            raise InvalidInput(
                f"speed is {self.speed}", where=where, hint="give a finite number above 0"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """Offers of one day, and what else the same provider asks; None where the list does not tell.

    listed_on: the day, as YYYY-MM-DD.  note: whose prices they are.
    billing_s, io_op_usd, io_bytes_per_op: as in `Prices`.
    """

    listed_on: str
    note: str
    offers: tuple[VmOffer, ...]
    billing_s: float | None = None
    io_op_usd: float | None = None
    io_bytes_per_op: float | None = None

    def on_terms(self, rents: tuple[Rent, ...]) -> tuple[VmOffer, ...]:
        """The offers on any of these terms, in the order of the list."""
        return tuple(offer for offer in self.offers if offer.rent in rents)
