"""Makespan and total completion of named orders, for the evaluation of job ordering."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from sluice.planning.ordering import rules
from sluice.planning.ordering.kernel_loading import compiled_for
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.problem import OrderingProblem
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import KernelUse, SearchContext
from sluice.planning.ordering.solver import FORMULAS, OrderingMethod, solve

Values = tuple[float, float]  # makespan and total completion, seconds

RULES: Mapping[str, OrderingMethod] = {
    "MK_JR": OrderingMethod.MK_JR,
    "MK_TCT_JR": OrderingMethod.MK_TCT_JR,
    "TCT order": OrderingMethod.TCT,
}
UNOPT, INPUT = "reverse of MK_JR", "input order"


def rules_of(problem: OrderingProblem) -> dict[str, Values]:
    """The values of every rule and of both baselines."""
    context = context_of(problem)
    orders: dict[str, JobOrdering] = {
        name: FORMULAS[method](context.loads) for name, method in RULES.items()
    }
    orders[UNOPT] = rules.reverse(context.loads)
    orders[INPUT] = rules.input_order(context.loads)
    return {name: context.values(order) for name, order in orders.items()}


def context_of(problem: OrderingProblem, *, seconds: float | None = None) -> SearchContext:
    """A context to run and search orders, with compiled kernels if many tasks differ."""
    context = SearchContext(problem, SearchBudget(time.perf_counter, seconds=seconds))
    if context.expects_s(1) > 0.05:  # noqa: PLR2004  # seconds; hundreds of orders are run
        use_compiled(context, KernelUse.ANNEALING)
    return context


def use_compiled(context: SearchContext, use: KernelUse) -> None:
    """Switch to compiled kernels, if there are any, and start the budget only then."""
    fast = compiled_for(use, context.on_progress)
    if fast is not None:
        context.use(fast)
        context.budget.restart()


def searched(problem: OrderingProblem, objective: Objective, seconds: float, seed: int) -> Values:
    """The values of a search of that many seconds."""
    context = context_of(problem, seconds=seconds)
    use_compiled(context, KernelUse.ANNEALING)  # such a short search does not load them itself
    best = solve(context, OrderingMethod.SEARCH, objective, random.Random(seed)).best
    return best.makespan_s, best.total_s
