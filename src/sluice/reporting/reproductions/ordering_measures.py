"""Orders by name, and what they come to, for the thesis's evaluation of job ordering."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from sluice.planning.ordering import rules
from sluice.planning.ordering.aims import Objective
from sluice.planning.ordering.arena import Arena
from sluice.planning.ordering.meter import Meter
from sluice.planning.ordering.methods import FORMULAS, Method, solve
from sluice.planning.ordering.problem import Problem
from sluice.planning.ordering.rules import Order

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


def arena_of(problem: Problem, *, seconds: float | None = None) -> Arena:
    """Where to run and to search orders; with compiled kernels where many tasks differ."""
    arena = Arena(problem, Meter(time.perf_counter, seconds=seconds))
    if arena.expects_s(1) > 0.05:  # noqa: PLR2004  # seconds; there are hundreds of orders to run
        arena.hurry()
    return arena


def searched(problem: Problem, objective: Objective, seconds: float, seed: int) -> Values:
    """What a walk of some seconds comes to."""
    arena = arena_of(problem, seconds=seconds)
    arena.hurry()  # a search by itself would not load compiled kernels for so short a time
    best = solve(arena, Method.SEARCH, objective, random.Random(seed)).best
    return best.makespan_s, best.total_s
