"""The ways to an order, by name: formulas, a sweep, exact, a search, and `auto` that picks.

A method that is a formula has one answer; the others go by an objective, and `exact` and `search`
by a budget. Source: ordering spec, sections 5 and 10.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder, anneal, evaluated
from sluice.planning.ordering.cut_sweep import CUTS_MAX, cut_sweep
from sluice.planning.ordering.exact import (
    Proof,
    best_of,
    candidates,
    exact,
    floor_of,
    formula_bound,
    proof_of,
)
from sluice.planning.ordering.loads import Loads
from sluice.planning.ordering.objectives import Objective, WeightedObjective, weighted_objective
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_context import SearchContext

_SURE_JOBS, _HOPEFUL_JOBS = 9, 13  # up to which exact is done in no time, or probably done
_HOPE = 0.5  # the share of the budget that auto gives it
_WORTH_S = 0.5  # of search, for the compiled kernels to be worth loading
_FEW_JOBS = 8
_A_FEW = 5  # orders, which every method looks at


class OrderingMethod(Enum):
    """The names under which the methods are asked for."""

    INPUT = "input"
    REVERSE = "reverse"
    MK_JR = "mk-jr"
    MK_TCT_JR = "mk-tct-jr"
    TCT = "tct"
    SWEEP = "sweep"
    EXACT = "exact"
    SEARCH = "search"
    AUTO = "auto"


FORMULAS: Mapping[OrderingMethod, Callable[[Loads], JobOrdering]] = {
    OrderingMethod.INPUT: rules.input_order,
    OrderingMethod.REVERSE: rules.reverse,
    OrderingMethod.MK_JR: rules.mk_jr,
    OrderingMethod.MK_TCT_JR: rules.mk_tct_jr,
    OrderingMethod.TCT: rules.tct,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingResult:
    """What a method came to.

    picked: the method that did it, where `auto` was asked.
    is_proved: whether no order is better in the objective.  lower: what no order can beat, in the
    measure of the objective; None for `both`, whose measure depends on what is known.
    frontier: of a sweep, least makespan first.
    """

    method: OrderingMethod
    picked: OrderingMethod
    objective: Objective
    best: EvaluatedOrder
    is_proved: bool
    lower: float | None
    frontier: tuple[EvaluatedOrder, ...] | None = None


def solve(
    context: SearchContext, method: OrderingMethod, objective: Objective, draw: random.Random
) -> OrderingResult:
    """The order that a method gives. The context's meter limits exact, search and auto."""
    if context.expects_s(_A_FEW) > _WORTH_S:
        context.use_compiled()
    picked = _pick(context) if method is OrderingMethod.AUTO else method
    frontier = None
    if picked is OrderingMethod.SWEEP:
        frontier = cut_sweep(context)
        proof = _checked(context, objective, frontier)
    elif picked is OrderingMethod.EXACT:
        proof = _exact(context, objective, draw, is_hope=method is OrderingMethod.AUTO)
    elif picked is OrderingMethod.SEARCH:
        proof = search(context, objective, draw)
    else:
        proof = _checked(context, objective, (evaluated(context, FORMULAS[picked](context.loads)),))
    return OrderingResult(
        method=method,
        picked=picked,
        objective=objective,
        best=proof.best,
        is_proved=proof.is_proved,
        lower=None if objective is Objective.BOTH else proof.lower,
        frontier=frontier,
    )


def _pick(context: SearchContext) -> OrderingMethod:
    """Exact for few jobs, else the search."""
    return OrderingMethod.EXACT if context.jobs <= _HOPEFUL_JOBS else OrderingMethod.SEARCH


def _exact(
    context: SearchContext, objective: Objective, draw: random.Random, *, is_hope: bool
) -> Proof:
    """Exact; where that is but a hope, the search has the rest of the budget."""
    if not is_hope or context.jobs <= _SURE_JOBS:
        return exact(context, objective, draw)
    proof = exact(context, objective, draw, until=_HOPE)
    if proof.is_proved:
        return proof
    searched = search(context, objective, draw, more=(proof.best,))
    if objective is Objective.BOTH:
        return searched
    goal = weighted_objective(objective, proof.best.makespan_s, proof.best.total_s)
    return proof_of(context, searched.best, goal, max(proof.lower, searched.lower))


def _checked(
    context: SearchContext, objective: Objective, tried: tuple[EvaluatedOrder, ...]
) -> Proof:
    """The best of some orders, and whether the bounds by formula happen to prove it."""
    goal = weighted_objective(
        objective, min(one.makespan_s for one in tried), min(one.total_s for one in tried)
    )
    proof = proof_of(context, best_of(tried, goal), goal, formula_bound(context, goal))
    return _with_doubt(proof, objective)


def search(
    context: SearchContext,
    objective: Objective,
    draw: random.Random,
    *,
    more: tuple[EvaluatedOrder, ...] = (),
) -> Proof:
    """The best order of a walk that takes the rest of the budget. more: orders known already."""
    tried = [*more, *candidates(context)]
    first = weighted_objective(Objective.MAKESPAN, tried[0].makespan_s, tried[0].total_s)
    second = weighted_objective(Objective.TCT, tried[0].makespan_s, tried[0].total_s)
    began = min(context.budget.share, 1.0)
    if objective is not Objective.BOTH:
        goal = first if objective is Objective.MAKESPAN else second
        return _walked(context, tried, goal, draw, until=1.0)
    tried.append(_walked(context, tried, first, draw, until=began + (1 - began) * 0.2).best)
    tried.append(_walked(context, tried, second, draw, until=began + (1 - began) * 0.5).best)
    tried += cut_sweep(context, cuts_max=_affordable(context, until=began + (1 - began) * 0.7))
    best = min(one.makespan_s for one in tried), min(one.total_s for one in tried)
    return _with_doubt(
        _walked(context, tried, weighted_objective(objective, *best), draw, 1.0), objective
    )


def _walked(
    context: SearchContext,
    tried: list[EvaluatedOrder],
    goal: WeightedObjective,
    draw: random.Random,
    until: float,
) -> Proof:
    lower = formula_bound(context, goal)
    start = best_of(tried, goal)
    floor = floor_of(context, start, goal, lower)
    if start.value(goal) > floor:
        _use_compiled_if_worth_it(context, until)
    best = anneal(context, start, goal, draw, until=until, floor=floor, steps=_enough(context.jobs))
    return proof_of(context, best, goal, lower)


def _affordable(context: SearchContext, until: float) -> int:
    """How many orders can be evaluated up to that share of the limit, CUTS_MAX at most."""
    before_s = context.budget.elapsed_s
    context.values(rules.tct(context.loads))
    each_s = context.budget.elapsed_s - before_s
    left, left_s = context.budget.left_evaluations(until), context.budget.left_s(until)
    most = CUTS_MAX if left is None else min(CUTS_MAX, left)
    return most if left_s is None or each_s <= 0 else min(most, max(0, int(left_s / each_s)))


def _enough(jobs: int) -> int | None:
    """Steps after which a walk has seen all orders of a few jobs, many of them twice."""
    return 4 * math.factorial(jobs) if jobs < _FEW_JOBS else None


def _use_compiled_if_worth_it(context: SearchContext, until: float) -> None:
    evaluations, left_s = context.budget.left_evaluations(until), context.budget.left_s(until)
    expected_s = left_s if evaluations is None else context.expects_s(evaluations)
    if context.jobs >= _FEW_JOBS and (expected_s is None or expected_s >= _WORTH_S):
        context.use_compiled()


def _with_doubt(proof: Proof, objective: Objective) -> Proof:
    """What is best of `both` depends on the best of each, which is not known here."""
    if objective is not Objective.BOTH:
        return proof
    return Proof(best=proof.best, is_proved=False, lower=proof.lower)
