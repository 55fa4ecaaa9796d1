"""Simulated annealing under a budget: from a good order to a better one.

The temperature falls from a share of the start's value to a hundredth of that, by the spent part of
the budget. Under a budget of evaluations all chunks of steps are of one size, and the walk is the
same each time for the same seed. Source: ordering spec, section 10.4.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from sluice.planning.ordering.compilation import Kernels
from sluice.planning.ordering.kernels.annealing_kernel import AnnealingState, RandomDraws
from sluice.planning.ordering.objectives import Objective, WeightedObjective, weighted_objective
from sluice.planning.ordering.problem import OrderedJob, OrderingProblem
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext

_HEAT, _COOLED = 3e-4, 0.01  # of the value at first; of the heat in the end
_FEW_JOBS = 20  # with fewer, each step is a larger part of the value
_CHUNK, _CHUNK_MAX = 64, 4096
_CHUNK_S = 0.01  # the least time of a chunk that is not made longer


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedOrder:
    """An order and what becomes of it, in seconds."""

    order: JobOrdering
    makespan_s: float
    total_s: float

    def value(self, goal: WeightedObjective) -> float:
        """What is minimised."""
        return goal.value(self.makespan_s, self.total_s)


def evaluated(context: SearchContext, order: JobOrdering) -> EvaluatedOrder:
    """An order with its values."""
    makespan_s, total_s = context.values(order)
    return EvaluatedOrder(order=order, makespan_s=makespan_s, total_s=total_s)


def anneal(
    context: SearchContext,
    start: EvaluatedOrder,
    goal: WeightedObjective,
    draw: random.Random,
    *,
    until: float = 1.0,
    floor: float = 0.0,
    steps: int | None = None,
) -> EvaluatedOrder:
    """The best order of a walk that ends when that share of the meter's limit is spent.

    floor: the walk ends as well when the value is down to it.  steps: or after so many.
    """
    began = context.budget.share
    first = context.budget.evaluations
    if context.jobs < 2 or began >= until or start.value(goal) <= floor:  # noqa: PLR2004  # a lone job has one order
        return start
    with context.budget.outside():
        _make_ready(context.kernels)
    walk = _walk(context, start, goal)
    heat = (
        _HEAT
        * max(1.0, _FEW_JOBS / context.jobs)
        * goal.guide_value(start.makespan_s, start.total_s)
    )
    size = _CHUNK
    part = 0.0  # of this walk
    while part < 1:
        before_s = context.budget.elapsed_s
        chunk = min(size, context.budget.left_evaluations(until) or size)
        draws = _draws(context, draw, chunk)
        taken = context.kernels.anneal_steps(context.flow, walk, draws, heat * _COOLED**part, floor)
        context.budget.evaluations += taken
        if taken < chunk:
            break
        if context.budget.evaluations_max is None:
            size = _next_size(size, context.budget.elapsed_s - before_s)
        part = (context.budget.share - began) / (until - began)
        if steps is not None:
            part = max(part, (context.budget.evaluations - first) / steps)
    return EvaluatedOrder(
        order=context.order(walk.best_order),
        makespan_s=float(walk.best[2]),
        total_s=float(walk.best[3]),
    )


@cache
def _make_ready(kernels: Kernels) -> None:
    """Have the walk compiled, if it is to be, before it is timed."""
    alone = OrderingProblem(
        map_slots=1, reduce_slots=0, jobs=(OrderedJob(name="alone", maps=((1, 1.0),)),)
    )
    context = SearchContext(alone, SearchBudget(lambda: 0.0), kernels=kernels)
    goal = weighted_objective(Objective.MAKESPAN, 1.0, 1.0)
    walk = _walk(context, EvaluatedOrder(order=(0,), makespan_s=1.0, total_s=1.0), goal)
    kernels.anneal_steps(context.flow, walk, _draws(context, random.Random(0), 1), 0.0, 1.0)


def _walk(context: SearchContext, start: EvaluatedOrder, goal: WeightedObjective) -> AnnealingState:
    kernels = context.kernels
    way = goal.guide_value(start.makespan_s, start.total_s)
    return AnnealingState(
        order=kernels.integers(start.order),
        best_order=kernels.integers(start.order),
        goal=kernels.floats([goal.guide_makespan, goal.guide_total, goal.makespan, goal.total]),
        now=kernels.floats([way]),
        best=kernels.floats([start.value(goal), way, start.makespan_s, start.total_s]),
    )


def _draws(context: SearchContext, draw: random.Random, steps: int) -> RandomDraws:
    uniform, floats = draw.random, context.kernels.floats
    return RandomDraws(
        kind=floats([uniform() for _ in range(steps)]),
        place=floats([uniform() for _ in range(steps)]),
        other=floats([uniform() for _ in range(steps)]),
        patience=floats([draw.expovariate(1.0) for _ in range(steps)]),
    )


def _next_size(size: int, took_s: float) -> int:
    """Longer chunks where they are short, shorter ones where the clock is asked too seldom."""
    if took_s < _CHUNK_S:
        return min(2 * size, _CHUNK_MAX)
    return max(1, size // 2) if took_s > 4 * _CHUNK_S else size
