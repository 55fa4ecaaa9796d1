"""VM types for rent: their slots, prices and speed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.ids import checked_id

Times = TypeVar("Times")  # a float, or a NumPy array of floats


def time_at_speed_s(tasks_s: Times, outside_s: float, speed: float) -> Times:
    """Time of a job on VMs that run its tasks `speed` times faster than where it was measured.

    tasks_s: time of its tasks there.  outside_s: the rest, which stays: start-up, driver and commit
    mostly wait for the cluster and for storage. A rest below 0 is overlap of stages, so it is part
    of the tasks.

    >>> time_at_speed_s(100.0, 20.0, 2.0), time_at_speed_s(100.0, -20.0, 2.0)
    (70.0, 40.0)
    """
    overlap_s = min(0.0, outside_s)
    return (tasks_s + overlap_s) / speed + max(0.0, outside_s)  # type: ignore[operator,return-value]  # numbers and arrays know these


@dataclass(frozen=True, slots=True, kw_only=True)
class VmShape:
    """Slots of one VM: how many maps and how many reduces it runs concurrently.

    containers: tasks of any stage that it runs instead; None means one in each of its slots. A VM
    that is given in containers alone has 0 typed slots.

    >>> VmShape(map_slots=2, reduce_slots=2).vms(map_slots=5, reduce_slots=4)
    3
    """

    map_slots: int
    reduce_slots: int
    containers: int | None = None

    def __post_init__(self) -> None:
        if self.containers is not None:
            if self.containers < 1:
                raise wrong_value("containers_per_vm", self.containers, "cluster", "give 1 or more")
            if not self.has_typed_slots:
                return
        for name in ("map_slots", "reduce_slots"):
            slots = getattr(self, name)
            if slots < 1:
                raise InvalidInput(
                    f"{name}_per_vm is {slots}", where="cluster", hint="give 1 or more"
                )

    @property
    def has_typed_slots(self) -> bool:
        """Whether it has slots for maps or for reduces."""
        return bool(self.map_slots or self.reduce_slots)

    @property
    def containers_of_any(self) -> int:
        """Tasks of any stage that it runs concurrently; every slot can serve as a container.

        >>> VmShape(map_slots=2, reduce_slots=2).containers_of_any
        4
        """
        return self.map_slots + self.reduce_slots if self.containers is None else self.containers

    def vms(self, *, map_slots: int = 0, reduce_slots: int = 0, containers: int = 0) -> int:
        """Number of VMs that provide these slots or containers. Source: pareto (1)."""
        if containers:
            return -(-containers // self.containers_of_any)
        return max(-(-map_slots // self.map_slots), -(-reduce_slots // self.reduce_slots))


class Rent(Enum):
    """Terms on which a VM is rented."""

    RESERVED = "reserved"
    ON_DEMAND = "on-demand"
    SPOT = "spot"


@dataclass(frozen=True, slots=True, kw_only=True)
class VmOffer:
    """One VM type on one kind of rental terms.

    hour_usd: price of one hour.  speed: how many times faster than the measured VMs it runs a
    task, see `time_at_speed_s`. The speed is for these terms: a spot VM that is sometimes taken
    back is slower.
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
            raise wrong_value("hour_usd", self.hour_usd, where, "give dollars, 0 or more")
        if not 0 < self.speed < math.inf:
            raise wrong_value("speed", self.speed, where, "give a finite number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """VM offers and other prices of one provider on one day; None for a price not in the list.

    listed_on: the day, as YYYY-MM-DD.  note: the provider and source of the prices.
    billing_s, io_op_usd, io_bytes_per_op: as in `Prices`.
    """

    listed_on: str
    note: str
    offers: tuple[VmOffer, ...]
    billing_s: float | None = None
    io_op_usd: float | None = None
    io_bytes_per_op: float | None = None

    def on_terms(self, rents: tuple[Rent, ...]) -> tuple[VmOffer, ...]:
        """Offers on any of these terms, in the order of the list."""
        return tuple(offer for offer in self.offers if offer.rent in rents)
