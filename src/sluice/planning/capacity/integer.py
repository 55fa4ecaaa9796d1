"""Solution in whole jobs and VMs, with a bound on its distance to the optimum.

The linear solution is rounded down in jobs and up in VMs, so that every deadline still holds. Only
classes with a penalty per VM near the marginal price can gain from another rounding. These classes,
the core of the knapsack, are solved exactly by a MIP solver; all others keep their rounded values.
If there are at most `core_max` classes, the core is the whole problem. A MIP over all classes would
take exponential time and gain almost nothing. Source: capacity spec, section 4.2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sluice.planning.capacity.problem import (
    CapacityProblem,
    CapacitySolution,
    Numbers,
    RentalPrices,
)

CORE_MAX = 60
_NODES_MAX = 100_000  # limit on search nodes instead of time, so that results are repeatable
_GAP = 1e-7  # accepted gap as a share of the total cost, if the core is not the whole problem
_ROUNDING = 1e-9  # relative tolerance of job and VM counts; solvers are not more precise
_ROUNDED_MAX = 1e3  # the tolerance stops growing here, so it never reaches a whole job


def solve_integer(
    problem: CapacityProblem, relaxed: CapacitySolution, *, core_max: int = CORE_MAX
) -> CapacitySolution:
    """Return the cheaper of the rounded solution and the solution of the core.

    relaxed: optimum with divisible jobs; its objective is a lower bound for every solution.
    core_max: number of classes to solve exactly. `jobs_min` and `jobs_max` must be integers.
    """
    rounded = np.floor(relaxed.jobs + _ROUNDING * np.clip(relaxed.jobs, 1.0, _ROUNDED_MAX))
    free = int(np.count_nonzero(problem.jobs_max > problem.jobs_min))
    core = _core(problem, relaxed.next_vm_usd, core_max)
    best = replace(_answer(problem, rounded, relaxed), is_proven=not free)
    solved = _solved(problem, rounded, core, is_everything=len(core) == free)
    if solved is None:
        return best
    other = _answer(problem, solved.jobs, relaxed)
    better = other if other.objective_usd < best.objective_usd else best
    return replace(better, is_proven=solved.is_proven)


def whole_vms(needed: float) -> float:
    """Round VMs up to an integer; an excess of a billionth is rounding and is ignored.

    >>> whole_vms(13.8), whole_vms(13.0000000001)
    (14.0, 13.0)
    """
    return float(math.ceil(needed - _slop(needed)))


def _slop(vms: float) -> float:
    return _ROUNDING * min(max(1.0, vms), _ROUNDED_MAX)


def _answer(problem: CapacityProblem, jobs: Numbers, relaxed: CapacitySolution) -> CapacitySolution:
    reserved, on_demand = _whole_rent(problem.rent).vms(whole_vms(problem.needed_vms(jobs)))
    return CapacitySolution(
        jobs=jobs,
        reserved_vms=reserved,
        on_demand_vms=on_demand,
        objective_usd=problem.objective_usd(jobs, reserved, on_demand),
        next_vm_usd=relaxed.next_vm_usd,
    )


def _whole_rent(rent: RentalPrices) -> RentalPrices:
    return RentalPrices(
        on_demand_usd=rent.on_demand_usd,
        reserved_usd=rent.reserved_usd,
        reserved_vms=float(math.floor(rent.reserved_vms + _ROUNDING)),
    )


def _core(problem: CapacityProblem, price_usd: float, size: int) -> NDArray[np.intp]:
    """The classes with a penalty per VM nearest to the marginal price, in input order."""
    distance = np.abs(problem.worth_usd - price_usd)
    distance[problem.jobs_max == problem.jobs_min] = math.inf  # the class has a fixed job count
    free = np.flatnonzero(distance < math.inf)
    if len(free) <= size:
        return free
    return np.sort(free[np.argsort(distance[free], kind="stable")[:size]])


class _Solution(NamedTuple):
    """Jobs of every class, and whether the solution is proven to be optimal."""

    jobs: Numbers
    is_proven: bool


def _solved(
    problem: CapacityProblem, jobs: Numbers, core: NDArray[np.intp], *, is_everything: bool
) -> _Solution | None:
    """Solve the core with the other classes fixed; None if the solver finds no solution."""
    if not len(core):
        return None
    least = jobs.copy()
    least[core] = problem.jobs_min[core]
    # If other classes are fixed, the result is approximate anyway, so a small gap is accepted.
    total_usd = problem.rent.cost_usd(problem.needed_vms(jobs)) + problem.refusals_usd(jobs)
    gap_usd = 0.0 if is_everything else _GAP * total_usd
    solver = _milp(problem, core, problem.needed_vms(least), gap_usd)
    if solver is None:
        return None
    more = np.round(solver.getSolution().col_value[: len(core)])
    found = least.copy()
    found[core] = np.clip(least[core] + more, least[core], problem.jobs_max[core])
    return _Solution(found, is_everything and _is_optimal(solver))


def _is_optimal(solver: Any) -> bool:  # noqa: ANN401  # the solver's class has no types
    import highspy

    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def _milp(
    problem: CapacityProblem, core: NDArray[np.intp], least_vms: float, gap_usd: float
) -> Any | None:  # noqa: ANN401  # as above
    """Run HiGHS on the core; None if it finds no solution.

    Variables count the jobs above `jobs_min` and the VMs above the minimum. This keeps the numbers
    small, because the absolute tolerances of the solver are too wide for large numbers.
    """
    import highspy

    solver = _quiet(highspy.Highs(), gap_usd)  # type: ignore[no-untyped-call]  # as above
    spans = problem.jobs_max[core] - problem.jobs_min[core]
    for span, penalty in zip(spans, problem.penalty_usd[core], strict=True):
        _add_whole(solver, float(span), -float(penalty))
    rent, held = _whole_rent(problem.rent), float(math.floor(least_vms))
    _add_whole(solver, rent.reserved_vms - rent.vms(held)[0], rent.reserved_usd)
    _add_whole(solver, highspy.kHighsInf, rent.on_demand_usd)
    row = [*(-float(need) for need in problem.vms_per_job[core]), 1.0, 1.0]
    lacking = least_vms - held - _slop(least_vms)
    solver.addRow(lacking, highspy.kHighsInf, len(row), range(len(row)), row)
    solver.run()
    feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
    return solver if solver.getInfo().primal_solution_status == feasible else None


def _quiet(solver: Any, gap_usd: float) -> Any:  # noqa: ANN401  # the solver's class has no types
    for name, setting in (
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", 0),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", gap_usd),
        ("mip_feasibility_tolerance", 1e-9),
        ("primal_feasibility_tolerance", 1e-9),
        ("mip_max_nodes", _NODES_MAX),
    ):
        solver.setOptionValue(name, setting)
    return solver


def _add_whole(solver: Any, most: float, cost: float) -> None:  # noqa: ANN401  # as above
    import highspy

    solver.addVar(0.0, most)
    column = solver.getNumCol() - 1
    solver.changeColCost(column, cost)
    solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
