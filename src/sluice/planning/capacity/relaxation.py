"""Exact solution of the linear program by one sort, and its proof of optimality.

Jobs that must run come first, then all classes that are worth on-demand VMs. The remaining reserved
VMs go to the other classes, by falling penalty per VM.

This is a continuous knapsack, for which the greedy order is optimal: exchanging a VM between two
classes cannot save money if the class with the higher penalty per VM already has it. A solver for
linear programs gives the same answer, but is slower and returns rounded vertices.
Source: capacity spec, 4.1.
"""

from __future__ import annotations

import numpy as np

from sluice.planning.capacity.problem import ROUNDING, CapacityProblem, CapacitySolution, Numbers


def solve_relaxation(problem: CapacityProblem) -> CapacitySolution:
    """Minimise the cost with divisible jobs and VMs. O(n log n).

    >>> from sluice.planning.capacity.problem import RentalPrices
    >>> rent = RentalPrices(on_demand_usd=20, reserved_usd=8, reserved_vms=13)
    >>> one = np.ones(1)
    >>> problem = CapacityProblem(
    ...     vms_per_job=2 * one,
    ...     penalty_usd=30 * one,
    ...     jobs_min=3 * one,
    ...     jobs_max=10 * one,
    ...     rent=rent,
    ... )
    >>> answer = solve_relaxation(problem)
    >>> float(answer.jobs[0]), answer.objective_usd, answer.next_vm_usd
    (6.5, -91.0, 15.0)
    """
    jobs = np.where(problem.is_taken_whole, problem.jobs_max, problem.jobs_min)
    needed = problem.needed_vms(jobs)
    cut = _ration(problem, jobs, needed)
    needed = problem.needed_vms(jobs)
    reserved_vms = problem.rent.reserved_vms
    if cut is not None or abs(needed - reserved_vms) <= ROUNDING * needed:
        needed = reserved_vms  # exactly all are used, whatever the sum of the parts rounds to
    reserved, on_demand = problem.rent.vms(needed)
    return CapacitySolution(
        jobs=jobs,
        reserved_vms=reserved,
        on_demand_vms=on_demand,
        objective_usd=problem.objective_usd(jobs, reserved, on_demand),
        next_vm_usd=_next_vm_usd(problem, on_demand, cut),
    )


def _next_vm_usd(problem: CapacityProblem, on_demand_vms: float, cut: int | None) -> float:
    if on_demand_vms > 0:
        return problem.rent.on_demand_usd
    return problem.rent.reserved_usd if cut is None else float(problem.worth_usd[cut])


def _ration(problem: CapacityProblem, jobs: Numbers, needed: float) -> int | None:
    """Give the remaining reserved VMs to the rationed classes; updates `jobs`.

    Returns the first class that does not get all it asked for; None if there are enough VMs.
    """
    rationed = np.flatnonzero(problem.is_rationed & (problem.jobs_max > problem.jobs_min))
    left = problem.rent.reserved_vms - needed
    wanted = problem.vms_per_job[rationed] * (problem.jobs_max - problem.jobs_min)[rationed]
    slop = ROUNDING * max(needed, problem.rent.reserved_vms)
    if float(wanted.sum()) <= left + slop:
        jobs[rationed] = problem.jobs_max[rationed]
        return None
    if left < -slop:
        # On-demand VMs are already in use, and no rationed class is worth one more of them.
        return None
    order = np.argsort(-problem.worth_usd[rationed], kind="stable")
    rationed, reached = rationed[order], np.cumsum(wanted[order])
    whole = int(np.searchsorted(reached, left + slop, side="right"))
    jobs[rationed[:whole]] = problem.jobs_max[rationed[:whole]]
    cut = int(rationed[whole])
    rest = left - (float(reached[whole - 1]) if whole else 0.0)
    jobs[cut] += min(
        max(0.0, rest) / float(problem.vms_per_job[cut]),
        float(problem.jobs_max[cut] - problem.jobs_min[cut]),
    )
    return cut


def certificate_gap_usd(problem: CapacityProblem, answer: CapacitySolution) -> float:
    """Difference between the objective and the lower bound that `next_vm_usd` proves.

    Apart from rounding it is 0 for an optimum of the linear program, and never negative. The bound
    is the dual problem: if every VM costs `next_vm_usd`, each class can be decided alone, and by
    weak duality no solution costs less than the sum. Source: capacity spec, section 4.1.
    """
    price = answer.next_vm_usd
    margin = price * problem.vms_per_job - problem.penalty_usd
    alone = np.minimum(margin * problem.jobs_min, margin * problem.jobs_max)
    rent = problem.rent
    bound = float(alone.sum()) - (price - rent.reserved_usd) * rent.reserved_vms
    return answer.objective_usd - bound
