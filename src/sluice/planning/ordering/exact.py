"""The best order with a proof, or the best one found with an honest gap.

First the root is opened, which bounds all orders; then the best order by formula is polished by a
short walk; then branch and bound goes on until it is done or the budget is spent. What is
open by then says how much better an order could still be. `both` needs the best of each measure
first. Source: ordering spec, section 10.2.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder, anneal, evaluated
from sluice.planning.ordering.bounds import safe_bounds
from sluice.planning.ordering.branch_and_bound import BranchAndBound
from sluice.planning.ordering.objectives import (
    Objective,
    WeightedObjective,
    tolerance,
    weighted_objective,
)
from sluice.planning.ordering.search_context import SearchContext

BRANCHED_JOBS_MAX = 64  # beyond, a node costs more than it tells; the bounds by formula remain
_GLANCE_S, _GLANCE_FEW_S = 0.02, 0.3  # of plain search, before kept machine code is loaded
_FEW_JOBS = 8  # that are mostly done in the second glance
_PATIENCE_S = 1.5  # of plain search, before one is compiled; and what that must save
_BRANCHED_SHARE, _POLISH_SHARE = 0.15, 0.1  # of what is left: at once, then to find a better order


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The best order found, whether nothing is better, and what no order can beat.

    lower: in the measure that was minimised.
    """

    best: EvaluatedOrder
    is_proved: bool
    lower: float


def candidates(context: SearchContext) -> list[EvaluatedOrder]:
    """The orders by formula, with their values."""
    orders = [
        rule(context.loads) for rule in (rules.mk_jr, rules.tct, rules.mk_tct_jr, rules.input_order)
    ]
    return [evaluated(context, order) for order in dict.fromkeys(orders)]


def best_of(tried: Sequence[EvaluatedOrder], goal: WeightedObjective) -> EvaluatedOrder:
    """The one with the least value; of equals the one whose other measure is less."""
    return min(
        tried, key=lambda one: (one.value(goal), goal.guide_value(one.makespan_s, one.total_s))
    )


def proof_of(
    context: SearchContext, best: EvaluatedOrder, goal: WeightedObjective, lower: float
) -> Proof:
    """What is known when nothing beats `lower`: if the best is down to it, that is the proof."""
    value = best.value(goal)
    is_proved = value <= floor_of(context, best, goal, lower)
    return Proof(best=best, is_proved=is_proved, lower=value if is_proved else min(lower, value))


def floor_of(
    context: SearchContext, near: EvaluatedOrder, goal: WeightedObjective, lower: float
) -> float:
    """A value so near to the lower bound that nothing lies between. near: of its magnitude."""
    return lower + tolerance(goal, near.value(goal), context.step_s)


def formula_bound(context: SearchContext, goal: WeightedObjective) -> float:
    """What no order can beat, by the bounds that are formulas."""
    known = safe_bounds(context.loads, context.loads.jobs)
    return goal.value(known.makespan_lower_s, known.tct_lower_s)


def exact(
    context: SearchContext, objective: Objective, draw: random.Random, *, until: float = 1.0
) -> Proof:
    """The best order for an objective, within that share of the context's limit."""
    tried = candidates(context)
    if objective is not Objective.BOTH:
        goal = weighted_objective(objective, tried[0].makespan_s, tried[0].total_s)
        return _proved(context, best_of(tried, goal), goal, draw, until)
    parts = []
    for part, share in ((Objective.MAKESPAN, 0.25), (Objective.TCT, 0.5)):
        goal = weighted_objective(part, tried[0].makespan_s, tried[0].total_s)
        parts.append(_proved(context, best_of(tried, goal), goal, draw, until * share))
        tried.append(parts[-1].best)
    goal = weighted_objective(objective, parts[0].best.makespan_s, parts[1].best.total_s)
    proof = _proved(context, best_of(tried, goal), goal, draw, until)
    return replace(proof, is_proved=proof.is_proved and all(part.is_proved for part in parts))


def _proved(
    context: SearchContext,
    start: EvaluatedOrder,
    goal: WeightedObjective,
    draw: random.Random,
    until: float,
) -> Proof:
    """Branch and bound, plain at first."""
    lower = formula_bound(context, goal)
    if context.jobs > BRANCHED_JOBS_MAX:
        context.use_compiled()
        floor = floor_of(context, start, goal, lower)
        return proof_of(
            context, anneal(context, start, goal, draw, until=until, floor=floor), goal, lower
        )
    is_timed = context.budget.evaluations_max is None
    if not is_timed and context.expects_s(_evaluations_worth(context)) > _PATIENCE_S:
        context.use_compiled()
    tree = BranchAndBound(context, start, goal)
    if is_timed:
        tree = _walked_plain(context, tree, goal, until)
    if not tree.walk(_further(context, until, _BRANCHED_SHARE)):
        _polish(context, tree, goal, draw, _further(context, until, _POLISH_SHARE))
        tree.walk(until)
    proof = proof_of(context, tree.best, goal, max(lower, tree.lower))
    return replace(proof, is_proved=proof.is_proved or tree.is_done)


def _further(context: SearchContext, until: float, part: float) -> float:
    """The share of the limit that is spent when that part of what is left is."""
    share = context.budget.share
    return share + part * max(0.0, until - share)


def _evaluations_worth(context: SearchContext) -> int:
    """What the limit allows, each node counted as one evaluation for each job."""
    return (context.budget.evaluations_max or 0) * context.jobs


def _walked_plain(
    context: SearchContext, tree: BranchAndBound, goal: WeightedObjective, until: float
) -> BranchAndBound:
    """Branch for a moment as it is; if that is not enough, take up the compiled kernels."""
    glance_s = _GLANCE_FEW_S if context.jobs <= _FEW_JOBS else _GLANCE_S
    for patience_s, kept in ((glance_s, ("evaluate", "branch")), (_PATIENCE_S, ())):
        if context.kernels.is_compiled or tree.walk(until, patience_s):
            break
        left_s = context.budget.left_s(until)
        is_worth_it = left_s is None or left_s > (0 if kept else _PATIENCE_S)
        if is_worth_it and context.use_compiled(only_kept=kept):
            return BranchAndBound(context, tree.best, goal)
    return tree


def _polish(
    context: SearchContext,
    tree: BranchAndBound,
    goal: WeightedObjective,
    draw: random.Random,
    until: float,
) -> None:
    """A walk from the best order known, before branching goes on in earnest."""
    best = tree.best
    floor = floor_of(context, best, goal, max(tree.lower, formula_bound(context, goal)))
    tree.learn(anneal(context, best, goal, draw, until=until, floor=floor))
