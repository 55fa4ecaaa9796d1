"""Pools of running VMs: the input of `pools`. Source: Cura, spec sections 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sluice.model.described import in_file
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, checked_id
from sluice.model.machines import VmShape
from sluice.model.number_checks import check_numbers

BOOT_S = 80.0  # the paper gives none; 80 s fits its response times of small jobs (E16)
CHANGE_SERVERS_S = 20.0  # seconds of the part of a server that a VM takes (E16)
UNKNOWN_S = 1e9  # planned length of a job of which nothing is known: no other job counts on its end


@dataclass(frozen=True, slots=True, kw_only=True)
class VmType:
    """A VM type and its pool. units: resource units of one VM (R).  vms: pool size (V).

    shape: slots of one VM; None if the file gives none, so that all jobs need predictions.
    """

    type_id: str
    units: float
    vms: int
    shape: VmShape | None = None

    @property
    def configuration(self) -> dict[str, int] | None:
        """How many tasks of each kind one VM runs at once; None if the file does not say."""
        shape = self.shape
        if shape is None:
            return None
        if shape.has_typed_slots:
            return {"map_slots": shape.map_slots, "reduce_slots": shape.reduce_slots}
        return {"containers": shape.containers_of_any}

    def __post_init__(self) -> None:
        checked_id(self.type_id, what="type")
        where = f"type {self.type_id!r}"
        if not 0 < self.units < math.inf:
            raise InvalidInput(f"units is {self.units}", where=where, hint="give units above 0")
        if self.vms < 0:
            raise InvalidInput(f"vms is {self.vms}", where=where, hint="give 0 or more")


class VmGrant(NamedTuple):
    """VMs of one type that a job has to itself from `start_s` on, until `until_s` as planned."""

    job_id: JobId
    vm_type: str
    vms: int
    start_s: float
    until_s: float

    @property
    def known_until_s(self) -> float | None:
        """`until_s`; None for a job of which nothing is known."""
        return None if self.until_s - self.start_s >= UNKNOWN_S else self.until_s


class LateOffer(NamedTuple):
    """A job can no longer meet its deadline. at_s: when that was found out.

    least_deadline_at_s: the least deadline that would have been accepted then; None if no pool was
    large enough.
    """

    at_s: float
    least_deadline_at_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange:
    """One check of the pool sizes. sizes: VMs by type that the formulas give.

    observed_server_s, estimated_server_s, benefit_server_s, change_server_s: (11), (12).
    done: whether the pools were changed.  why: the reason.
    """

    at_s: float
    observed_server_s: float
    estimated_server_s: float
    benefit_server_s: float
    change_server_s: float
    done: bool
    sizes: Mapping[str, int]
    why: str

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "at_s": self.at_s,
            "observed_server_s": self.observed_server_s,
            "estimated_server_s": self.estimated_server_s,
            "benefit_server_s": self.benefit_server_s,
            "change_server_s": self.change_server_s,
            "done": self.done,
            "vms": dict(self.sizes),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconfigureRule:
    """When pools change their sizes. Source: Cura, spec 4 (9) to (13).

    window_s: time between checks.  beta: a change must save beta times its cost.
    vm_change_server_s: cost of one VM more or less, server-seconds; None for 20 s of the part of a
    server that the VM takes.  weighted: shares of resource units, not of VMs (E14).
    keeps_largest: no pool falls below the largest cluster that an observed job is best run on.
    """

    window_s: float = 600.0
    beta: float = 1.5
    vm_change_server_s: float | None = None
    weighted: bool = True
    keeps_largest: bool = False

    def __post_init__(self) -> None:
        for what, hint in self._faults():
            raise InvalidInput(what, where="reconfigure", hint=hint)

    def _faults(self) -> Iterator[tuple[str, str]]:
        if not 0 < self.window_s < math.inf:
            yield f"window_s is {self.window_s}", "give seconds above 0"
        if not 1 < self.beta < math.inf:
            yield f"beta is {self.beta}", "give a number above 1"
        change = self.vm_change_server_s
        if change is not None and not 0 <= change < math.inf:
            yield f"vm_change_server_s is {change}", "give server-seconds, 0 or more"

    def change_server_s(self, units: float, server_units: float) -> float:
        """Server-seconds that one VM of these units costs when it is started or stopped."""
        if self.vm_change_server_s is not None:
            return self.vm_change_server_s
        return CHANGE_SERVERS_S * units / server_units


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRule:
    """When servers that nothing needs are shut down.

    down_after_s: seconds that a server is not needed before.  up_s: seconds until it is up again.
    """

    down_after_s: float = in_file(
        "seconds that a server is not needed before it is shut down", 300.0
    )
    up_s: float = in_file("seconds until a server is up again", 60.0)

    def __post_init__(self) -> None:
        check_numbers(self, "power")


@dataclass(frozen=True, slots=True, kw_only=True)
class VmPools:
    """Servers, VM types and rules of a cloud.

    server_units: resource units of one server (M); None if the file gives none.
    servers: how many there are; None for as many as the pools take.
    bound_s: longest time from now to the end of a reservation window (t_bound).
    boot_s: time to boot a VM, for the baselines.  prediction_error: err, 0 to below 1.
    power: when servers are shut down; None for never.
    """

    server_units: float | None = None
    servers: int | None = None
    vm_types: tuple[VmType, ...] = ()
    bound_s: float = math.inf
    boot_s: float = BOOT_S
    prediction_error: float = 0.0
    reconfigure: ReconfigureRule | None = None
    power: PowerRule | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.prediction_error < 1:
            raise InvalidInput(
                f"prediction_error is {self.prediction_error}", hint="give 0 to below 1"
            )
        if not 0 <= self.boot_s < math.inf:
            raise InvalidInput(f"boot_s is {self.boot_s}", hint="give seconds, 0 or more")
        if not self.bound_s > 0:
            raise InvalidInput(f"windows.bound_s is {self.bound_s}", hint="give seconds above 0")
        if self.server_units is None:
            return
        if not 0 < self.server_units < math.inf:
            raise InvalidInput(f"server_units is {self.server_units}", hint="give units above 0")
        for one in self.vm_types:
            if one.units > self.server_units:
                raise InvalidInput(
                    f"units is {one.units:g}, above server_units = {self.server_units:g}",
                    where=f"type {one.type_id!r}",
                    hint="give a VM that fits on one server",
                )
