"""The methods by name for jobs that pass a chain of stages."""

from __future__ import annotations

import random
from collections.abc import Sequence
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
    shop: FlowShop, method: FlowMethod, budget: SearchBudget, draw: random.Random
) -> FlowOrder:
    """The order of a method. The budget limits search, exact and auto."""
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
    if is_auto:
        order = searched(shop, order, least, draw, ShareSpent(budget, _FIRST_SEARCH))
    if len(shop.tasks) <= PROVED_JOBS_MAX:
        found = proved(shop, order, least, ShareSpent(budget, _PROOF if is_auto else 1.0))
        order = found.order
        if found.is_proved:
            return _order(shop, method, FlowMethod.EXACT, order, makespan(shop, order))
    if is_auto:
        order = searched(shop, order, least, draw, ShareSpent(budget, 1.0))
    picked = FlowMethod.SEARCH if is_auto else FlowMethod.EXACT
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
