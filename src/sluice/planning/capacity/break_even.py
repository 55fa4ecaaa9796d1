"""Break-even penalty and deadline of a class: from there on its VMs cost less than refusal.

Source: capacity spec, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.classes import JobClass
from sluice.planning.capacity.needs import ClassNeed
from sluice.planning.capacity.problem import RentalPrices


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Break-even points of a class.

    reserved_usd, on_demand_usd: cost of the VMs of one job; admit a job if its penalty is higher.
    reserved_deadline_s, on_demand_deadline_s: admit a job if its deadline is looser; None for a
    penalty of 0, or a class without a deadline.
    """

    reserved_usd: float
    on_demand_usd: float
    reserved_deadline_s: float | None
    on_demand_deadline_s: float | None


def break_even(one: JobClass, need: ClassNeed, rent: RentalPrices) -> BreakEven:
    """Return the break-even points of the class at these prices."""
    return BreakEven(
        reserved_usd=need.vms_per_job * rent.reserved_usd,
        on_demand_usd=need.vms_per_job * rent.on_demand_usd,
        reserved_deadline_s=_deadline_s(one, need, rent.reserved_usd),
        on_demand_deadline_s=_deadline_s(one, need, rent.on_demand_usd),
    )


def _deadline_s(one: JobClass, need: ClassNeed, vm_usd: float) -> float | None:
    """The deadline at which the VMs of one job cost as much as its penalty."""
    if need.law is None or need.slack_s is None or not one.penalty_usd:
        return None
    return need.law.xi_fixed_s + need.vms_per_job * need.slack_s * vm_usd / one.penalty_usd
