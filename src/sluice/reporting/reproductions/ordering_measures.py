"""Orders by name, and what they come to, for the thesis's evaluation of job ordering."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from sluice.planning.ordering import rules
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.problem import OrderingProblem
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext
from sluice.planning.ordering.solver import FORMULAS, OrderingMethod, solve

Values = tuple[float, float]  # makespan and total completion, seconds

RULES: Mapping[str, OrderingMethod] = {
    "MK_JR": OrderingMethod.MK_JR,
    "MK_TCT_JR": OrderingMethod.MK_TCT_JR,
    "TCT order": OrderingMethod.TCT,
}
UNOPT, INPUT = "reverse of MK_JR", "input order"


def rules_of(problem: OrderingProblem) -> dict[str, Values]:
    """What every rule and both baselines come to."""
    place = arena_of(problem)
    orders: dict[str, JobOrdering] = {
        name: FORMULAS[method](place.loads) for name, method in RULES.items()
    }
    orders[UNOPT] = rules.reverse(place.loads)
    orders[INPUT] = rules.input_order(place.loads)
    return {name: place.values(order) for name, order in orders.items()}


def arena_of(problem: OrderingProblem, *, seconds: float | None = None) -> SearchContext:
    """Where to run and to search orders; with compiled kernels where many tasks differ."""
    context = SearchContext(problem, SearchBudget(time.perf_counter, seconds=seconds))
    if context.expects_s(1) > 0.05:  # noqa: PLR2004  # seconds; there are hundreds of orders to run
        context.use_compiled()
    return context


def searched(problem: OrderingProblem, objective: Objective, seconds: float, seed: int) -> Values:
    """What a walk of some seconds comes to."""
    context = arena_of(problem, seconds=seconds)
    context.use_compiled()  # a search by itself would not load compiled kernels for so short a time
    best = solve(context, OrderingMethod.SEARCH, objective, random.Random(seed)).best
    return best.makespan_s, best.total_s
