"""The best order with a proof, or the best order found with a lower bound.

First branch and bound runs for a short time; small problems are solved then. Next a short annealing
improves the best order, because a better value prunes more of the tree. Then branch and bound
continues until it is done or the budget is spent. The open nodes give a lower bound on all orders.
`both` first needs the best value of each measure. Source: ordering spec, section 10.2.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluice.planning.ordering import rules
from sluice.planning.ordering.annealing import EvaluatedOrder, anneal, evaluated
from sluice.planning.ordering.branch_and_bound import BranchAndBound
from sluice.planning.ordering.enumeration import enumerate_orders
from sluice.planning.ordering.objectives import (
    Objective,
    WeightedObjective,
    tolerance,
    weighted_objective,
)
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_context import KernelUse, SearchContext

BRANCHED_JOBS_MAX = 64  # with more jobs a tree search proves nothing in time; formulas give bounds
ENUMERATED_JOBS_MAX = 7  # of jobs that wait for each other; eight have 40,000 orders
ORDERS_MAX = math.factorial(ENUMERATED_JOBS_MAX)  # of more jobs, where their waits leave so few
_PATIENCE_S = 1.0  # plain search before compiled kernels are requested
_BRANCHED_SHARE, _POLISH_SHARE = 0.15, 0.1  # of the remaining budget: first tree search, annealing


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The best order found, whether it is optimal, and a lower bound on all orders.

    lower: in the measure that was minimised.
    """

    best: EvaluatedOrder
    is_proved: bool
    lower: float

    @classmethod
    def of(cls, best: EvaluatedOrder, goal: WeightedObjective) -> Proof:
        """That an order is the best of all."""
        return cls(best=best, is_proved=True, lower=best.value(goal))


def candidates(context: SearchContext) -> list[EvaluatedOrder]:
    """Evaluate the orders by formula."""
    orders = [
        rule(context.loads) for rule in (rules.mk_jr, rules.tct, rules.mk_tct_jr, rules.input_order)
    ]
    return [evaluated(context, order) for order in dict.fromkeys(orders)]


def best_of(tried: Sequence[EvaluatedOrder], goal: WeightedObjective) -> EvaluatedOrder:
    """Return the order with the least value; of equals the better one in the other measure."""
    return min(
        tried, key=lambda one: (one.value(goal), goal.guide_value(one.makespan_s, one.total_s))
    )


def proof_of(
    context: SearchContext, best: EvaluatedOrder, goal: WeightedObjective, lower: float
) -> Proof:
    """Make the proof for a lower bound; the best order is optimal if it reaches the bound."""
    value = best.value(goal)
    is_proved = value <= floor_of(context, best, goal, lower)
    return Proof(best=best, is_proved=is_proved, lower=value if is_proved else min(lower, value))


def floor_of(
    context: SearchContext, near: EvaluatedOrder, goal: WeightedObjective, lower: float
) -> float:
    """A value that is optimal given the lower bound. near: an order of similar value."""
    return lower + tolerance(goal, near.value(goal), context.step_s)


def formula_bound(context: SearchContext, goal: WeightedObjective) -> float:
    """Lower bound on all orders from the closed formulas."""
    known = context.bounds(context.loads.jobs)
    return goal.value(known.makespan_lower_s, known.tct_lower_s)


def exact(
    context: SearchContext, objective: Objective, draw: random.Random, *, until: float = 1.0
) -> Proof:
    """Return the best order for an objective within the share `until` of the budget."""
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
    """Run branch and bound.

    Loading cached machine code takes half a second and compiling takes ten, so a search starts with
    plain kernels and requests compiled ones only if it is not done soon.
    """
    lower = formula_bound(context, goal)
    if context.problem.has_waiting and _can_be_enumerated(context, goal, until):
        objective = Objective.TCT if goal.total else Objective.MAKESPAN
        return Proof.of(enumerate_orders(context, objective).best, goal)
    orders = _orders_in_turn(context.problem.after, ORDERS_MAX) if _may_wait(context) else None
    if orders is not None and _is_affordable(context, len(orders), until):
        return Proof.of(best_of([start, *(evaluated(context, one) for one in orders)], goal), goal)
    if context.problem.has_waiting or context.jobs > BRANCHED_JOBS_MAX:
        context.request_compiled(KernelUse.ANNEALING)
        floor = floor_of(context, start, goal, lower)
        return proof_of(
            context, anneal(context, start, goal, draw, until=until, floor=floor), goal, lower
        )
    is_timed = context.budget.evaluations_max is None
    tree = BranchAndBound(context, start, goal)
    if is_timed:
        is_long = not tree.search(until, _PATIENCE_S)
    else:
        is_long = context.expects_s(_evaluations_worth(context)) > _PATIENCE_S
    if is_long:
        context.request_compiled(KernelUse.PROOF)
    if not tree.search(_further(context, until, _BRANCHED_SHARE)):
        _polish(context, tree, goal, draw, _further(context, until, _POLISH_SHARE))
        tree.search(until)
    proof = proof_of(context, tree.best, goal, max(lower, tree.lower))
    return replace(proof, is_proved=proof.is_proved or tree.is_done)


def _can_be_enumerated(context: SearchContext, goal: WeightedObjective, until: float) -> bool:
    """Whether all orders can be tried in the budget: the tree's bounds know no waiting."""
    if context.jobs > ENUMERATED_JOBS_MAX or (goal.makespan and goal.total):
        return False
    return _is_affordable(context, math.factorial(context.jobs), until)


def _may_wait(context: SearchContext) -> bool:
    """Whether the waits of some jobs may leave few orders."""
    return context.problem.has_waiting and context.jobs <= BRANCHED_JOBS_MAX


def _orders_in_turn(after: Sequence[Sequence[int]], most: int) -> list[JobOrdering] | None:
    """All orders in which each job is behind those that it waits for; None if there are more.

    No other order gives another schedule: FIFO goes by the instants of submission, and a job is
    submitted later than those that it waits for. The order of these instants is one of the list.
    """
    waits = [sum(1 << one for one in set(before)) for before in after]
    found: list[JobOrdering] = []
    open_: list[tuple[JobOrdering, int]] = [((), 0)]  # begun orders, and their jobs as bits
    while open_:
        begun, jobs = open_.pop()
        if len(begun) == len(after):
            found.append(begun)
            if len(found) > most:
                return None
        open_ += [
            ((*begun, job), jobs | 1 << job)
            for job, before in enumerate(waits)
            if not jobs >> job & 1 and not before & ~jobs
        ]
    return found


def _is_affordable(context: SearchContext, orders: int, until: float) -> bool:
    """Whether so many orders can be tried in the budget."""
    left, left_s = context.budget.left_evaluations(until), context.budget.left_s(until)
    return (left is None or orders <= left) and (
        left_s is None or context.expects_s(orders) <= left_s
    )


def _further(context: SearchContext, until: float, part: float) -> float:
    """The spent share of the budget after `part` of the remaining budget is used."""
    share = context.budget.share
    return share + part * max(0.0, until - share)


def _evaluations_worth(context: SearchContext) -> int:
    """Evaluations that the budget allows, if a node counts as one evaluation per job."""
    return (context.budget.evaluations_max or 0) * context.jobs


def _polish(
    context: SearchContext,
    tree: BranchAndBound,
    goal: WeightedObjective,
    draw: random.Random,
    until: float,
) -> None:
    """Improve the best order by annealing, so that the tree search prunes more."""
    best = tree.best
    floor = floor_of(context, best, goal, max(tree.lower, formula_bound(context, goal)))
    tree.learn(anneal(context, best, goal, draw, until=until, floor=floor))
