"""The ordering methods by name: formulas, cut sweep, exact, search, and `auto`.

A formula gives one order. The other methods minimise an objective, and `exact` and `search` use a
budget. Source: ordering spec, sections 5 and 10.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder, anneal, evaluated
from sluice.planning.ordering.cut_sweep import CUTS_MAX, cut_sweep
from sluice.planning.ordering.exact import (
    BRANCHED_JOBS_MAX,
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
from sluice.planning.ordering.search_context import KernelUse, SearchContext
from sluice.planning.ordering.waiting_jobs import WaitingJobs

_SURE_JOBS, _LIKELY_JOBS = 9, 13  # exact certainly or probably ends up to this many jobs
_EXACT_SHARE = 0.5  # share of the budget that `auto` gives to exact
_WORTH_S = 0.5  # a search of at least this time is worth loading the compiled kernels
_FEW_JOBS = 8
_ORDERS_MIN = 5  # orders that every method evaluates


class OrderingMethod(Enum):
    """Names of the methods."""

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
    """Result of a method.

    picked: the method used; it differs from `method` for `auto`.
    is_proved: whether no order is better in the objective.
    lower: lower bound on all orders, in the measure of the objective; None for `both`, because its
    measure depends on the best known values.
    frontier: orders of a cut sweep, least makespan first.
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
    """Return the order of a method. The context's budget limits exact, search and auto."""
    picked = _pick(context) if method is OrderingMethod.AUTO else method
    expected_s = context.expects_s(_ORDERS_MIN)
    if expected_s > _WORTH_S:
        is_proof = picked is OrderingMethod.EXACT and context.jobs <= BRANCHED_JOBS_MAX
        context.request_compiled(KernelUse.PROOF if is_proof else KernelUse.ANNEALING)
        # Plain orders take so long here that waiting for as long can only win.
        context.adopt_compiled(min(expected_s, (context.budget.left_s(1.0) or expected_s) / 2))
    frontier = None
    if picked is OrderingMethod.SWEEP:
        frontier = cut_sweep(context)
        proof = _checked(context, objective, frontier)
    elif picked is OrderingMethod.EXACT:
        proof = _exact(context, objective, draw, may_fail=method is OrderingMethod.AUTO)
    elif picked is OrderingMethod.SEARCH:
        proof = search(context, objective, draw)
    else:
        proof = _checked(context, objective, (evaluated(context, FORMULAS[picked](context.loads)),))
    return OrderingResult(
        method=method,
        picked=picked,
        objective=objective,
        best=proof.best if picked is OrderingMethod.INPUT else _as_submitted(context, proof.best),
        is_proved=proof.is_proved,
        lower=None if objective is Objective.BOTH else proof.lower,
        frontier=None
        if frontier is None
        else tuple(_as_submitted(context, one) for one in frontier),
    )


def _as_submitted(context: SearchContext, found: EvaluatedOrder) -> EvaluatedOrder:
    """The order in which the jobs are submitted: where some wait, it is another of equal value."""
    if not context.problem.has_waiting:
        return found
    return replace(found, order=WaitingJobs(context.problem).submissions(found.order))


def _pick(context: SearchContext) -> OrderingMethod:
    """Exact for few jobs, else the search."""
    return OrderingMethod.EXACT if context.jobs <= _LIKELY_JOBS else OrderingMethod.SEARCH


def _exact(
    context: SearchContext, objective: Objective, draw: random.Random, *, may_fail: bool
) -> Proof:
    """Run exact; if it may fail, give it a part of the budget and the rest to search."""
    if not may_fail or context.jobs <= _SURE_JOBS:
        return exact(context, objective, draw)
    proof = exact(context, objective, draw, until=_EXACT_SHARE)
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
    """Return the best of some orders, and whether the bounds by formula prove it optimal."""
    goal = weighted_objective(
        objective, min(one.makespan_s for one in tried), min(one.total_s for one in tried)
    )
    proof = proof_of(context, best_of(tried, goal), goal, formula_bound(context, goal))
    return _without_proof(proof, objective)


def search(
    context: SearchContext,
    objective: Objective,
    draw: random.Random,
    *,
    more: tuple[EvaluatedOrder, ...] = (),
) -> Proof:
    """Return the best order of annealing with the rest of the budget. more: known orders."""
    tried = [*more, *candidates(context)]
    first = weighted_objective(Objective.MAKESPAN, tried[0].makespan_s, tried[0].total_s)
    second = weighted_objective(Objective.TCT, tried[0].makespan_s, tried[0].total_s)
    began = min(context.budget.share, 1.0)
    if objective is not Objective.BOTH:
        goal = first if objective is Objective.MAKESPAN else second
        return _annealed(context, tried, goal, draw, until=1.0)
    tried.append(_annealed(context, tried, first, draw, until=began + (1 - began) * 0.2).best)
    tried.append(_annealed(context, tried, second, draw, until=began + (1 - began) * 0.5).best)
    tried += cut_sweep(context, cuts_max=_affordable(context, until=began + (1 - began) * 0.7))
    best = min(one.makespan_s for one in tried), min(one.total_s for one in tried)
    return _without_proof(
        _annealed(context, tried, weighted_objective(objective, *best), draw, 1.0), objective
    )


def _annealed(
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
        _request_if_worth_it(context, until)
    best = anneal(context, start, goal, draw, until=until, floor=floor, steps=_enough(context.jobs))
    return proof_of(context, best, goal, lower)


def _affordable(context: SearchContext, until: float) -> int:
    """Number of orders that can be evaluated up to a share of the limit, at most CUTS_MAX."""
    before_s = context.budget.elapsed_s
    context.values(rules.tct(context.loads))
    each_s = context.budget.elapsed_s - before_s
    left, left_s = context.budget.left_evaluations(until), context.budget.left_s(until)
    most = CUTS_MAX if left is None else min(CUTS_MAX, left)
    return most if left_s is None or each_s <= 0 else min(most, max(0, int(left_s / each_s)))


def _enough(jobs: int) -> int | None:
    """Annealing steps after which all orders of a few jobs have very likely been seen."""
    return 4 * math.factorial(jobs) if jobs < _FEW_JOBS else None


def _request_if_worth_it(context: SearchContext, until: float) -> None:
    evaluations, left_s = context.budget.left_evaluations(until), context.budget.left_s(until)
    expected_s = left_s if evaluations is None else context.expects_s(evaluations)
    if context.jobs >= _FEW_JOBS and (expected_s is None or expected_s >= _WORTH_S):
        context.request_compiled(KernelUse.ANNEALING)


def _without_proof(proof: Proof, objective: Objective) -> Proof:
    """For `both`, drop the proof: its measure depends on optimal values that are unknown here."""
    if objective is not Objective.BOTH:
        return proof
    return Proof(best=proof.best, is_proved=False, lower=proof.lower)
