"""Simulated annealing under a budget, from a good order to a better one.

The temperature falls geometrically with the spent share of the budget, from a share of the start
value to a hundredth of that. With a budget of evaluations all chunks of steps have the same size,
and the same seed gives the same result. Source: ordering spec, section 10.4.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from sluice.planning.ordering.compilation import converted
from sluice.planning.ordering.kernels.annealing_kernel import AnnealingState, RandomDraws
from sluice.planning.ordering.objectives import WeightedObjective
from sluice.planning.ordering.rules import JobOrdering
from sluice.planning.ordering.search_context import SearchContext

_HEAT, _COOLED = 3e-4, 0.01  # start temperature over value; end temperature over start
_FEW_JOBS = 20  # with fewer jobs one step changes a larger share of the value
_CHUNK, _CHUNK_MAX = 64, 4096  # steps between two looks at the clock
_CHUNK_S = 0.01  # chunks that take less time than this are made longer


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedOrder:
    """An order with its makespan and total completion time, in seconds."""

    order: JobOrdering
    makespan_s: float
    total_s: float

    def value(self, goal: WeightedObjective) -> float:
        """The value to minimise."""
        return goal.value(self.makespan_s, self.total_s)


def evaluated(context: SearchContext, order: JobOrdering) -> EvaluatedOrder:
    """Evaluate an order."""
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
    """Return the best order found until `until`, a share of the budget, is spent.

    floor: the search also ends when the value reaches it.  steps: or after this many steps.
    """
    began = context.budget.share
    first = context.budget.evaluations
    if context.jobs < 2 or began >= until or start.value(goal) <= floor:  # noqa: PLR2004  # a lone job has one order
        return start
    context.adopt_compiled()
    state = _annealing_state(context, start, goal)
    heat = (
        _HEAT
        * max(1.0, _FEW_JOBS / context.jobs)
        * goal.guide_value(start.makespan_s, start.total_s)
    )
    size = _CHUNK
    part = 0.0  # spent share of this search
    kernels = context.kernels
    while part < 1:
        context.adopt_compiled()
        if context.kernels is not kernels:
            kernels = context.kernels
            state = converted(state, kernels)
        before_s = context.budget.elapsed_s
        chunk = min(size, context.budget.left_evaluations(until) or size)
        draws = _draws(context, draw, chunk)
        taken = context.kernels.anneal_steps(
            context.flow, state, draws, heat * _COOLED**part, floor
        )
        context.budget.evaluations += taken
        if taken < chunk:
            break
        if context.budget.evaluations_max is None:
            size = _next_size(size, context.budget.elapsed_s - before_s)
        part = (context.budget.share - began) / (until - began)
        if steps is not None:
            part = max(part, (context.budget.evaluations - first) / steps)
    return EvaluatedOrder(
        order=context.order(state.best_order),
        makespan_s=float(state.best[2]),
        total_s=float(state.best[3]),
    )


def _annealing_state(
    context: SearchContext, start: EvaluatedOrder, goal: WeightedObjective
) -> AnnealingState:
    kernels = context.kernels
    guide = goal.guide_value(start.makespan_s, start.total_s)
    return AnnealingState(
        order=kernels.integers(start.order),
        best_order=kernels.integers(start.order),
        goal=kernels.floats([goal.guide_makespan, goal.guide_total, goal.makespan, goal.total]),
        now=kernels.floats([guide]),
        best=kernels.floats([start.value(goal), guide, start.makespan_s, start.total_s]),
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
    """Double a chunk that took too little time, halve one that took too much."""
    if took_s < _CHUNK_S:
        return min(2 * size, _CHUNK_MAX)
    return max(1, size // 2) if took_s > 4 * _CHUNK_S else size
