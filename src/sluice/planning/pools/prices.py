"""The price of a job by its deadline: who can wait pays less.

Source: Cura, section 5, which leaves the incentive to the provider. Here the price is the cost of
the cheapest cluster that ends in time, so that it never rises with a later deadline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Price(NamedTuple):
    """From this deadline on, in seconds, the job costs so many server-seconds."""

    deadline_s: float
    cost_server_s: float


def falling_prices(ends: Iterable[tuple[float, float]]) -> list[Price]:
    """The prices of a job from the (end, cost) of each cluster, the earliest deadline first.

    >>> falling_prices([(250, 416.7), (131.57, 438.6), (300, 420.0), (131.57, 500.0)])
    [Price(deadline_s=131.57, cost_server_s=438.6), Price(deadline_s=250, cost_server_s=416.7)]
    """
    found: list[Price] = []
    for end_s, cost in sorted(ends):
        if not found or cost < found[-1].cost_server_s:
            found.append(Price(end_s, cost))
    return found
