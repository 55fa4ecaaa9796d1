"""Limits that a plan must satisfy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Limits on the budget, the makespan and the number of VMs in use at once.

    deadline_s: limit on the makespan of all jobs.  None means no limit.
    Source: pareto, spec section 2.
    """

    budget_usd_min: float = 0.0
    budget_usd_max: float | None = None
    deadline_s: float | None = None
    vms_max: int | None = None

    def __post_init__(self) -> None:
        highest_usd = math.inf if self.budget_usd_max is None else self.budget_usd_max
        if not 0 <= self.budget_usd_min < math.inf:
            raise _wrong("budget_usd_min", self.budget_usd_min, "give finite dollars, 0 or more")
        if not self.budget_usd_min <= highest_usd:
            raise _wrong("budget_usd_max", self.budget_usd_max, "give at least budget_usd_min")
        if self.deadline_s is not None and not 0 < self.deadline_s < math.inf:
            raise _wrong("deadline_s", self.deadline_s, "give finite seconds above 0")
        if self.vms_max is not None and self.vms_max < 1:
            raise _wrong("vms_max", self.vms_max, "give 1 or more")


def _wrong(name: str, value: object, hint: str) -> InvalidInput:
    return InvalidInput(f"{name} is {value}", where="limits", hint=hint)
