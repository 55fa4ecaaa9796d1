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
from sluice.planning.ordering.aims import Aim, Objective, aim_at
from sluice.planning.ordering.annealing import Found, anneal, found
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
from sluice.planning.ordering.rules import Order
from sluice.planning.ordering.search_context import SearchContext
from sluice.planning.ordering.sweeping import CUTS_MAX, sweep

_SURE_JOBS, _HOPEFUL_JOBS = 9, 13  # up to which exact is done in no time, or probably done
_HOPE = 0.5  # the share of the budget that auto gives it
_WORTH_S = 0.5  # of search, for the compiled kernels to be worth loading
_FEW_JOBS = 8
_A_FEW = 5  # orders, which every method looks at


class Method(Enum):
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


FORMULAS: Mapping[Method, Callable[[Loads], Order]] = {
    Method.INPUT: rules.input_order,
    Method.REVERSE: rules.reverse,
    Method.MK_JR: rules.mk_jr,
    Method.MK_TCT_JR: rules.mk_tct_jr,
    Method.TCT: rules.tct,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a method came to.

    picked: the method that did it, where `auto` was asked.
    is_proved: whether no order is better in the objective.  lower: what no order can beat, in the
    measure of the objective; None for `both`, whose measure depends on what is known.
    frontier: of a sweep, least makespan first.
    """

    method: Method
    picked: Method
    objective: Objective
    best: Found
    is_proved: bool
    lower: float | None
    frontier: tuple[Found, ...] | None = None


def solve(
    context: SearchContext, method: Method, objective: Objective, draw: random.Random
) -> Answer:
    """The order that a method gives. The context's meter limits exact, search and auto."""
    if context.expects_s(_A_FEW) > _WORTH_S:
        context.use_compiled()
    picked = _pick(context) if method is Method.AUTO else method
    frontier = None
    if picked is Method.SWEEP:
        frontier = sweep(context)
        proof = _checked(context, objective, frontier)
    elif picked is Method.EXACT:
        proof = _exact(context, objective, draw, is_hope=method is Method.AUTO)
    elif picked is Method.SEARCH:
        proof = search(context, objective, draw)
    else:
        proof = _checked(context, objective, (found(context, FORMULAS[picked](context.loads)),))
    return Answer(
        method=method,
        picked=picked,
        objective=objective,
        best=proof.best,
        is_proved=proof.is_proved,
        lower=None if objective is Objective.BOTH else proof.lower,
        frontier=frontier,
    )


def _pick(context: SearchContext) -> Method:
    """Exact for few jobs, else the search."""
    return Method.EXACT if context.jobs <= _HOPEFUL_JOBS else Method.SEARCH


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
    aim = aim_at(objective, proof.best.makespan_s, proof.best.total_s)
    return proof_of(context, searched.best, aim, max(proof.lower, searched.lower))


def _checked(context: SearchContext, objective: Objective, tried: tuple[Found, ...]) -> Proof:
    """The best of some orders, and whether the bounds by formula happen to prove it."""
    aim = aim_at(objective, min(one.makespan_s for one in tried), min(one.total_s for one in tried))
    proof = proof_of(context, best_of(tried, aim), aim, formula_bound(context, aim))
    return _with_doubt(proof, objective)


def search(
    context: SearchContext,
    objective: Objective,
    draw: random.Random,
    *,
    more: tuple[Found, ...] = (),
) -> Proof:
    """The best order of a walk that takes the rest of the budget. more: orders known already."""
    tried = [*more, *candidates(context)]
    first = aim_at(Objective.MAKESPAN, tried[0].makespan_s, tried[0].total_s)
    second = aim_at(Objective.TCT, tried[0].makespan_s, tried[0].total_s)
    began = min(context.meter.share, 1.0)
    if objective is not Objective.BOTH:
        aim = first if objective is Objective.MAKESPAN else second
        return _walked(context, tried, aim, draw, until=1.0)
    tried.append(_walked(context, tried, first, draw, until=began + (1 - began) * 0.2).best)
    tried.append(_walked(context, tried, second, draw, until=began + (1 - began) * 0.5).best)
    tried += sweep(context, cuts_max=_affordable(context, until=began + (1 - began) * 0.7))
    best = min(one.makespan_s for one in tried), min(one.total_s for one in tried)
    return _with_doubt(_walked(context, tried, aim_at(objective, *best), draw, 1.0), objective)


def _walked(
    context: SearchContext, tried: list[Found], aim: Aim, draw: random.Random, until: float
) -> Proof:
    lower = formula_bound(context, aim)
    start = best_of(tried, aim)
    floor = floor_of(context, start, aim, lower)
    if start.value(aim) > floor:
        _use_compiled_if_worth_it(context, until)
    best = anneal(context, start, aim, draw, until=until, floor=floor, steps=_enough(context.jobs))
    return proof_of(context, best, aim, lower)


def _affordable(context: SearchContext, until: float) -> int:
    """How many orders can be evaluated up to that share of the limit, CUTS_MAX at most."""
    before_s = context.meter.elapsed_s
    context.values(rules.tct(context.loads))
    each_s = context.meter.elapsed_s - before_s
    left, left_s = context.meter.left_evaluations(until), context.meter.left_s(until)
    most = CUTS_MAX if left is None else min(CUTS_MAX, left)
    return most if left_s is None or each_s <= 0 else min(most, max(0, int(left_s / each_s)))


def _enough(jobs: int) -> int | None:
    """Steps after which a walk has seen all orders of a few jobs, many of them twice."""
    return 4 * math.factorial(jobs) if jobs < _FEW_JOBS else None


def _use_compiled_if_worth_it(context: SearchContext, until: float) -> None:
    evaluations, left_s = context.meter.left_evaluations(until), context.meter.left_s(until)
    expected_s = left_s if evaluations is None else context.expects_s(evaluations)
    if context.jobs >= _FEW_JOBS and (expected_s is None or expected_s >= _WORTH_S):
        context.use_compiled()


def _with_doubt(proof: Proof, objective: Objective) -> Proof:
    """What is best of `both` depends on the best of each, which is not known here."""
    if objective is not Objective.BOTH:
        return proof
    return Proof(best=proof.best, is_proved=False, lower=proof.lower)
