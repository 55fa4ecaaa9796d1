"""From which penalty, or which deadline, a class is worth its machines.

Source: capacity spec, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.classes import JobClass
from sluice.planning.capacity.needs import ClassNeed
from sluice.planning.capacity.problem import RentalPrices


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where a class stands. reserved_usd, on_demand_usd: what the machines of one job cost, and so
    the penalty above which a job is worth them.

    reserved_deadline_s, on_demand_deadline_s: the least deadline that is worth such machines; None
    where no deadline is (a penalty of 0), or none is told.
    """

    reserved_usd: float
    on_demand_usd: float
    reserved_deadline_s: float | None
    on_demand_deadline_s: float | None


def break_even(one: JobClass, need: ClassNeed, rent: RentalPrices) -> BreakEven:
    """Where the class stands at these prices."""
    return BreakEven(
        reserved_usd=need.vms_per_job * rent.reserved_usd,
        on_demand_usd=need.vms_per_job * rent.on_demand_usd,
        reserved_deadline_s=_deadline_s(one, need, rent.reserved_usd),
        on_demand_deadline_s=_deadline_s(one, need, rent.on_demand_usd),
    )


def _deadline_s(one: JobClass, need: ClassNeed, vm_usd: float) -> float | None:
    """At this deadline one job's machines cost what refusing it does."""
    if need.law is None or need.slack_s is None or not one.penalty_usd:
        return None
    return need.law.xi_fixed_s + need.vms_per_job * need.slack_s * vm_usd / one.penalty_usd
