"""Orders by name, and what they come to, for the thesis's evaluation of job ordering."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from sluice.planning.ordering import rules
from sluice.planning.ordering.aims import Objective
from sluice.planning.ordering.meter import Meter
from sluice.planning.ordering.methods import FORMULAS, Method, solve
from sluice.planning.ordering.problem import Problem
from sluice.planning.ordering.rules import Order
from sluice.planning.ordering.search_context import SearchContext

Values = tuple[float, float]  # makespan and total completion, seconds

RULES: Mapping[str, Method] = {
    "MK_JR": Method.MK_JR,
    "MK_TCT_JR": Method.MK_TCT_JR,
    "TCT order": Method.TCT,
}
UNOPT, INPUT = "reverse of MK_JR", "input order"


def rules_of(problem: Problem) -> dict[str, Values]:
    """What every rule and both baselines come to."""
    place = arena_of(problem)
    orders: dict[str, Order] = {
        name: FORMULAS[method](place.loads) for name, method in RULES.items()
    }
    orders[UNOPT] = rules.reverse(place.loads)
    orders[INPUT] = rules.input_order(place.loads)
    return {name: place.values(order) for name, order in orders.items()}


def arena_of(problem: Problem, *, seconds: float | None = None) -> SearchContext:
    """Where to run and to search orders; with compiled kernels where many tasks differ."""
    context = SearchContext(problem, Meter(time.perf_counter, seconds=seconds))
    if context.expects_s(1) > 0.05:  # noqa: PLR2004  # seconds; there are hundreds of orders to run
        context.use_compiled()
    return context


def searched(problem: Problem, objective: Objective, seconds: float, seed: int) -> Values:
    """What a walk of some seconds comes to."""
    context = arena_of(problem, seconds=seconds)
    context.use_compiled()  # a search by itself would not load compiled kernels for so short a time
    best = solve(context, Method.SEARCH, objective, random.Random(seed)).best
    return best.makespan_s, best.total_s
