"""The methods by name for jobs that pass a chain of stages."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from sluice.planning.flow_shops.bounds import least_makespan
from sluice.planning.flow_shops.branch_and_bound import proved
from sluice.planning.flow_shops.flow_shop import FlowShop, makespan
from sluice.planning.flow_shops.search import neh, searched
from sluice.planning.ordering.search_budget import SearchBudget, ShareSpent

PROVED_JOBS_MAX = 100  # with more, branch and bound has no chance, and goes too deep
_ROUNDING = 1e-9
_FIRST_SEARCH, _PROOF = 0.05, 0.5  # shares of the budget until which `auto` searches and proves
_BOUNDED = 0.7  # until which they go on, where there is another solver
_BOUND_S = 60.0  # without a limit

# A bound by another solver: the shop, the known bound, the makespan of an order, and seconds.
Bounder = Callable[[FlowShop, float, float, float], float]


class FlowMethod(Enum):
    """Names of the methods."""

    INPUT = "input"
    NEH = "neh"
    SEARCH = "search"
    EXACT = "exact"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowOrder:
    """order: positions of the jobs.  lower: no order ends before it, in units of the problem.

    is_proved: whether no order ends earlier than this one.
    """

    method: FlowMethod
    picked: FlowMethod
    order: tuple[int, ...]
    lower: float
    is_proved: bool


def solve_flow_shop(
    shop: FlowShop,
    method: FlowMethod,
    budget: SearchBudget,
    draw: random.Random,
    bounder: Bounder | None = None,
) -> FlowOrder:
    """The order of a method. The budget limits search, exact and auto.

    bounder: raises the bound where branch and bound gives up; only in a budget of seconds.
    """
    least = least_makespan(shop)
    if method is FlowMethod.INPUT:
        return _order(shop, method, method, range(len(shop.tasks)), least)
    if method is FlowMethod.NEH:
        return _order(shop, method, method, neh(shop), least)
    order: Sequence[int] = neh(shop, ShareSpent(budget, 1.0))
    if method is FlowMethod.SEARCH:
        order = searched(shop, order, least, draw, ShareSpent(budget, 1.0))
        return _order(shop, method, method, order, least)
    is_auto = method is FlowMethod.AUTO
    # With one slot at each stage an order binds more than CP-SAT knows, and branch and bound is
    # better. Of another unit than whole numbers, and of evaluations, CP-SAT knows nothing.
    is_known = not shop.is_classic and shop.is_whole and budget.evaluations_max is None
    until = 1.0 if bounder is None or not is_known else _BOUNDED
    if is_auto:
        order = searched(shop, order, least, draw, ShareSpent(budget, _FIRST_SEARCH))
    if len(shop.tasks) <= PROVED_JOBS_MAX:
        found = proved(shop, order, least, ShareSpent(budget, _PROOF if is_auto else until))
        order = found.order
        if found.is_proved:
            return _order(shop, method, FlowMethod.EXACT, order, makespan(shop, order))
    if is_auto:
        order = searched(shop, order, least, draw, ShareSpent(budget, until))
    picked = FlowMethod.SEARCH if is_auto else FlowMethod.EXACT
    most = makespan(shop, order)
    if bounder is not None and is_known and most > least:
        left_s = budget.left_s(1.0)
        least = bounder(shop, least, most, _BOUND_S if left_s is None else max(0.0, left_s))
    return _order(shop, method, picked, order, least)


def _order(
    shop: FlowShop, method: FlowMethod, picked: FlowMethod, order: Sequence[int], lower: float
) -> FlowOrder:
    return FlowOrder(
        method=method,
        picked=picked,
        order=tuple(order),
        lower=lower,
        is_proved=makespan(shop, order) <= lower * (1 + _ROUNDING),
    )
