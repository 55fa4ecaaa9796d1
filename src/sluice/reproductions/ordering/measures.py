"""Makespan and total completion of named orders, for the evaluation of job ordering."""

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
    """The values of every rule and of both baselines."""
    context = context_of(problem)
    orders: dict[str, Order] = {
        name: FORMULAS[method](context.loads) for name, method in RULES.items()
    }
    orders[UNOPT] = rules.reverse(context.loads)
    orders[INPUT] = rules.input_order(context.loads)
    return {name: context.values(order) for name, order in orders.items()}


def context_of(problem: Problem, *, seconds: float | None = None) -> SearchContext:
    """A context to run and search orders, with compiled kernels if many tasks differ."""
    context = SearchContext(problem, Meter(time.perf_counter, seconds=seconds))
    if context.expects_s(1) > 0.05:  # noqa: PLR2004  # seconds; hundreds of orders are run
        context.use_compiled()
    return context


def searched(problem: Problem, objective: Objective, seconds: float, seed: int) -> Values:
    """The values of a search of that many seconds."""
    context = context_of(problem, seconds=seconds)
    context.use_compiled()  # for such a short time a search does not load compiled kernels itself
    best = solve(context, Method.SEARCH, objective, random.Random(seed)).best
    return best.makespan_s, best.total_s
