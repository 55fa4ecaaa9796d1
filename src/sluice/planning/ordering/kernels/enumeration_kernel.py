"""Full enumeration of orders: the thesis's SIM, and the reference for the other searches.

Orders are tried in lexicographic order. Ties in the measure go to the better order in the other
measure, then to the lexicographically first. Source: ordering spec, section 6.
"""

from __future__ import annotations

from typing import NamedTuple

from sluice.planning.ordering.kernels.fifo_model import FlowArrays, evaluate


class EnumerationState(NamedTuple):
    """State of the enumeration.

    order: the next order to try.  best_order: the best order so far.
    best: its measure, and its other measure.  worst: the greatest makespan and total so far.
    """

    order: list[int]
    best_order: list[int]
    best: list[float]
    worst: list[float]


def evaluate_orders(
    flow: FlowArrays, extremes: EnumerationState, by_total: int, orders: int
) -> int:
    """Evaluate up to `orders` orders, from the present one on, in lexicographic order.

    by_total: 1 to minimise total completion, 0 to minimise the makespan.
    Returns 1 after the last order.
    """
    for _ in range(orders):
        last_s, total_s = evaluate(flow, extremes.order)
        extremes.worst[0] = max(extremes.worst[0], last_s)
        extremes.worst[1] = max(extremes.worst[1], total_s)
        value, other = last_s, total_s
        if by_total == 1:
            value, other = total_s, last_s
        best = extremes.best
        if value < best[0] or (value == best[0] and other < best[1]):
            best[0] = value
            best[1] = other
            for place in range(len(extremes.order)):
                extremes.best_order[place] = extremes.order[place]
        if next_order(extremes.order) == 0:
            return 1
    return 0


def next_order(order: list[int]) -> int:
    """Change `order` to the lexicographically next one; returns 0 if it is the last."""
    pivot = len(order) - 2
    while pivot >= 0 and order[pivot] > order[pivot + 1]:
        pivot -= 1
    if pivot < 0:
        return 0
    above = len(order) - 1
    while order[above] < order[pivot]:
        above -= 1
    order[pivot], order[above] = order[above], order[pivot]
    low, high = pivot + 1, len(order) - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    return 1
