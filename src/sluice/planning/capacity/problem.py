"""The capacity problem as numbers: problem (P3) of the capacity spec, section 3.2.

minimise   on_demand_usd * d + reserved_usd * r - sum penalty_usd * h
where      sum vms_per_job * h <= r + d
           0 <= r <= reserved_vms,  d >= 0,  jobs_min <= h <= jobs_max
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluice.model.classes import CapacityPrices, JobClass
from sluice.model.errors import InvalidInput

Numbers = NDArray[np.float64]

ROUNDING = 1e-12  # relative tolerance for sums of VMs


@dataclass(frozen=True, slots=True, kw_only=True)
class RentalPrices:
    """Price of a VM for the hour (on_demand_usd > reserved_usd > 0), and the reserved VMs."""

    on_demand_usd: float
    reserved_usd: float
    reserved_vms: float

    @classmethod
    def of(cls, prices: CapacityPrices | None, source: str) -> RentalPrices:
        """Read the prices of a file. Raises InvalidInput that names a missing price."""
        given = prices or CapacityPrices()
        for name, hint in (
            ("on_demand_vm_usd", "give the price of an on-demand VM for an hour"),
            ("reserved_vm_usd", "give the price of a reserved VM for an hour"),
            ("reserved_vms", "give the number of reserved VMs, 0 for none"),
        ):
            if getattr(given, name) is None:
                raise InvalidInput(f"{name} is missing", where=f"{source}, prices", hint=hint)
        numbers: dict[str, Any] = {
            "on_demand_usd": given.on_demand_vm_usd,
            "reserved_usd": given.reserved_vm_usd,
            "reserved_vms": given.reserved_vms,
        }
        return cls(**numbers)

    def vms(self, needed: float) -> tuple[float, float]:
        """Split the needed VMs into reserved and on-demand ones; the reserved are used first.

        >>> RentalPrices(on_demand_usd=20, reserved_usd=8, reserved_vms=13).vms(20.0)
        (13, 7.0)
        """
        return min(self.reserved_vms, needed), max(0.0, needed - self.reserved_vms)

    def cost_usd(self, needed: float) -> float:
        """Rent of the needed VMs."""
        reserved, on_demand = self.vms(needed)
        return self.reserved_usd * reserved + self.on_demand_usd * on_demand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacityProblem:
    """Classes as columns of equal length, at least 1. On a tie the earlier class comes first.

    vms_per_job: above 0 (gamma).  penalty_usd: penalty for one refused job, 0 or more (p).
    jobs_min, jobs_max: 0 <= jobs_min <= jobs_max (h_low, h_up).
    """

    vms_per_job: Numbers
    penalty_usd: Numbers
    jobs_min: Numbers
    jobs_max: Numbers
    rent: RentalPrices

    @classmethod
    def of(
        cls, classes: Sequence[JobClass], vms_per_job: Numbers, rent: RentalPrices
    ) -> CapacityProblem:
        """Make the problem of these classes with these VMs per job."""
        return cls(
            vms_per_job=vms_per_job,
            penalty_usd=np.array([one.penalty_usd for one in classes]),
            jobs_min=np.array([one.jobs_min for one in classes]),
            jobs_max=np.array([one.jobs_max for one in classes]),
            rent=rent,
        )

    @property
    def worth_usd(self) -> Numbers:
        """Penalty per VM of each class, which is what one VM saves."""
        # Overflow gives infinity, which is right: such a class is admitted before all others.
        with np.errstate(over="ignore"):
            return self.penalty_usd / self.vms_per_job

    @property
    def is_taken_whole(self) -> NDArray[np.bool_]:
        """Classes that are worth on-demand VMs. Source: capacity spec, section 4.1."""
        return self.penalty_usd >= self.vms_per_job * self.rent.on_demand_usd

    @property
    def is_rationed(self) -> NDArray[np.bool_]:
        """Classes that are worth reserved VMs, but not on-demand VMs."""
        return ~self.is_taken_whole & (self.penalty_usd > self.vms_per_job * self.rent.reserved_usd)

    def needed_vms(self, jobs: Numbers) -> float:
        """VMs that these jobs need in total."""
        return float((self.vms_per_job * jobs).sum())

    def objective_usd(self, jobs: Numbers, reserved_vms: float, on_demand_vms: float) -> float:
        """Rent minus the penalties of the admitted jobs."""
        saved_usd = float((self.penalty_usd * jobs).sum())
        rent = self.rent
        return rent.on_demand_usd * on_demand_vms + rent.reserved_usd * reserved_vms - saved_usd

    def refusals_usd(self, jobs: Numbers) -> float:
        """Penalties of the refused jobs."""
        return float((self.penalty_usd * (self.jobs_max - jobs)).sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapacitySolution:
    """A solution: admitted jobs of each class, and the VMs for them.

    next_vm_usd: gross saving of one more VM, before its price (nu, the dual price).
    is_proven: whether it is proven to be optimal among solutions of its kind.
    """

    jobs: Numbers
    reserved_vms: float
    on_demand_vms: float
    objective_usd: float
    next_vm_usd: float
    is_proven: bool = True
