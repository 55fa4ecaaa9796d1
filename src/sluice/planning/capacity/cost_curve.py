"""What it all costs for every number of reserved machines: how many to contract.

The least cost is convex in the number of reserved machines and made of straight pieces. On a piece
one more reserved machine saves what the next machine is worth less its price: first it replaces
one on demand, then it admits jobs of ever lesser worth, at last it stands idle. One pass over the
sorted classes gives all pieces. Source: capacity spec, sections 4.1 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sluice.planning.capacity.problem import CapacityProblem, Numbers
from sluice.planning.capacity.relaxation import solve_relaxation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostCurve:
    """Corners of the curve, from no reserved machine up to as many as anybody has use for.

    reserved_vms: rising.  cost_usd: rent and penalties together, least possible.
    next_vm_usd: of one more machine beyond the corner, its price included.
    """

    reserved_vms: Numbers
    cost_usd: Numbers
    next_vm_usd: Numbers

    @property
    def useful_vms(self) -> float:
        """So many reserved machines save something; more do not."""
        return float(self.reserved_vms[-1])

    def cost_at_usd(self, reserved_vms: float) -> float:
        """The cost with so many reserved machines."""
        return float(np.interp(reserved_vms, self.reserved_vms, self.cost_usd))


def cost_curve(problem: CapacityProblem) -> CostCurve:
    """The whole curve; the number of reserved machines in `problem` does not matter. O(n log n)."""
    rent = problem.rent
    none = replace(problem, rent=replace(rent, reserved_vms=0.0))
    start = solve_relaxation(none)
    rationed = np.flatnonzero(problem.is_rationed & (problem.jobs_max > problem.jobs_min))
    order = rationed[np.argsort(-problem.worth_usd[rationed], kind="stable")]
    widths = (problem.vms_per_job * (problem.jobs_max - problem.jobs_min))[order]
    widths = np.concatenate(([problem.needed_vms(start.jobs)], widths))
    worth = np.concatenate(([rent.on_demand_usd], problem.worth_usd[order]))
    cost = start.objective_usd + float((problem.penalty_usd * problem.jobs_max).sum())
    saved = np.cumsum(widths * (worth - rent.reserved_usd))
    return _without_repeats(
        np.concatenate(([0.0], np.cumsum(widths))),
        np.concatenate(([cost], cost - saved)),
        np.concatenate((worth, [rent.reserved_usd])),
    )


def _without_repeats(vms: Numbers, cost: Numbers, next_usd: Numbers) -> CostCurve:
    """Corners at which the price of the next machine changes; the first and the last stay."""
    bends = np.ones(len(vms), dtype=bool)
    bends[1:] = next_usd[1:] != next_usd[:-1]
    # A piece of no length would stand at the same place as its successor.
    bends[:-1] &= np.diff(vms) > 0
    bends[0] |= not bends.any()
    return CostCurve(reserved_vms=vms[bends], cost_usd=cost[bends], next_vm_usd=next_usd[bends])
