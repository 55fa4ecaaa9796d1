"""Whole jobs on whole machines, with a proven distance to the best.

The linear answer is rounded down in jobs and up in machines, so that no deadline breaks. Only
classes that are worth about as much as the next machine can gain by another rounding: those, the
core, are solved exactly, all others stay as they are. With no more classes than the core holds
that is the whole problem. Source: capacity spec, section 4.2.
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
_NODES_MAX = 100_000  # of the search tree: a limit on work, not on time, so that answers repeat
_GAP = 1e-7  # of all costs: a core that is not everything is solved so closely
_ROUNDING = 1e-9  # of a number of jobs or machines; a solver's answer is no better
_ROUNDED_MAX = 1e3  # numbers above it are rounded as if they were it, never by a whole job


def solve_integer(
    problem: CapacityProblem, relaxed: CapacitySolution, *, core_max: int = CORE_MAX
) -> CapacitySolution:
    """The cheapest answer in whole jobs and machines that rounding and the core give.

    relaxed: the optimum with divisible jobs; its objective is a bound that nothing undercuts.
    core_max: classes to solve exactly. `jobs_min` and `jobs_max` must be whole.
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
    """Whole machines that make up what is needed; a billionth of one more is rounding.

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
    """The classes whose worth is nearest the price of the next machine, in their own order."""
    distance = np.abs(problem.worth_usd - price_usd)
    distance[problem.jobs_max == problem.jobs_min] = math.inf  # there is nothing to decide
    free = np.flatnonzero(distance < math.inf)
    if len(free) <= size:
        return free
    return np.sort(free[np.argsort(distance[free], kind="stable")[:size]])


class _Solution(NamedTuple):
    """Jobs of every class, and whether nothing cheaper exists."""

    jobs: Numbers
    is_proven: bool


def _solved(
    problem: CapacityProblem, jobs: Numbers, core: NDArray[np.intp], *, is_everything: bool
) -> _Solution | None:
    """The best whole jobs of the core while the others stay; None where none was found."""
    if not len(core):
        return None
    least = jobs.copy()
    least[core] = problem.jobs_min[core]
    # Where the core is not everything, the search may stop once it matters no more.
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
    """HiGHS with the jobs of the core beyond their least; None where it has found none.

    Machines, too, count from what must be: so the numbers stay small, and tolerances tight.
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
