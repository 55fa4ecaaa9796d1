"""The best order by full enumeration; the thesis calls it SIM.

Source: ordering spec, section 6 (SIM, with its rule for ties) and section 11 (its limit).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.planning.ordering.annealing import EvaluatedOrder
from sluice.planning.ordering.compilation import converted
from sluice.planning.ordering.kernels.enumeration_kernel import EnumerationState
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.search_context import KernelUse, SearchContext

JOBS_MAX = 10
_ORDERS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumerationResult:
    """The best order, and the greatest makespan and total completion of any order. Seconds."""

    best: EvaluatedOrder
    makespan_s_max: float
    total_s_max: float


def enumerate_orders(context: SearchContext, objective: Objective) -> EnumerationResult:
    """Evaluate all orders. Ties go to the better order in the other measure, then to the first.

    Raises InvalidInput for more than JOBS_MAX jobs, and for `both`, which is not a single measure.
    """
    if context.jobs > JOBS_MAX:
        raise InvalidInput(
            f"{context.jobs} jobs have {math.factorial(context.jobs):,} orders"
            if context.jobs < 2 * JOBS_MAX
            else f"{context.jobs} jobs have too many orders to try them all",
            where="enumeration",
            hint=f"give at most {JOBS_MAX} jobs, or use the exact search",
        )
    if objective is Objective.BOTH:
        raise InvalidInput(
            "`both` is not a single measure", where="enumeration", hint="give makespan or tct"
        )
    if context.expects_s(math.factorial(context.jobs)) > 1:
        context.request_compiled(KernelUse.ENUMERATION)
    context.adopt_compiled()
    kernels = context.kernels
    extremes = EnumerationState(
        order=kernels.integers(range(context.jobs)),
        best_order=kernels.integers(range(context.jobs)),
        best=kernels.floats([math.inf, math.inf]),
        worst=kernels.floats([0.0, 0.0]),
    )
    by_total = int(objective is Objective.TCT)
    while not kernels.evaluate_orders(context.flow, extremes, by_total, _ORDERS_AT_ONCE):
        context.budget.evaluations += _ORDERS_AT_ONCE
        context.adopt_compiled()
        if context.kernels is not kernels:
            kernels = context.kernels
            extremes = converted(extremes, kernels)
    value, other = float(extremes.best[0]), float(extremes.best[1])
    makespan_s, total_s = (other, value) if by_total else (value, other)
    return EnumerationResult(
        best=EvaluatedOrder(
            order=context.order(extremes.best_order), makespan_s=makespan_s, total_s=total_s
        ),
        makespan_s_max=float(extremes.worst[0]),
        total_s_max=float(extremes.worst[1]),
    )
