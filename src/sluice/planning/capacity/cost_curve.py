"""Least total cost for every number of reserved VMs: how many VMs to reserve.

The least cost is convex and piecewise linear in the number of reserved VMs. On each piece one more
reserved VM saves its value minus its price. At first it replaces an on-demand VM, then it admits
jobs of lower and lower penalty per VM, and at last it is idle. So one pass over the sorted classes
gives all pieces; no linear program is solved for each number.
Source: capacity spec, sections 4.1 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sluice.planning.capacity.problem import CapacityProblem, Numbers
from sluice.planning.capacity.relaxation import solve_relaxation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostCurve:
    """Corners of the curve, from 0 reserved VMs to the last one that has a use.

    reserved_vms: rising.  cost_usd: least rent plus penalties.
    next_vm_usd: gross saving of one more reserved VM after the corner, before its price.
    """

    reserved_vms: Numbers
    cost_usd: Numbers
    next_vm_usd: Numbers

    @property
    def useful_vms(self) -> float:
        """Number of reserved VMs above which another one saves nothing."""
        return float(self.reserved_vms[-1])

    def cost_at_usd(self, reserved_vms: float) -> float:
        """The least cost with this number of reserved VMs."""
        return float(np.interp(reserved_vms, self.reserved_vms, self.cost_usd))


def cost_curve(problem: CapacityProblem) -> CostCurve:
    """Compute the curve. The number of reserved VMs in `problem` is not used. O(n log n)."""
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
    """Keep the corners at which the price of the next VM changes, and the first and the last."""
    bends = np.ones(len(vms), dtype=bool)
    bends[1:] = next_usd[1:] != next_usd[:-1]
    # Drop pieces of length 0; they have the same position as their successor.
    bends[:-1] &= np.diff(vms) > 0
    bends[0] |= not bends.any()
    return CostCurve(reserved_vms=vms[bends], cost_usd=cost[bends], next_vm_usd=next_usd[bends])
