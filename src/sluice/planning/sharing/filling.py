"""Water-filling: one level for all members, at which the supply is used up.

Each member's amount is a piecewise linear, rising function of the level, with at most three break
points: where it starts to receive, where it passes its share (a borrowed unit may count less), and
where its demand is met. The sum of these functions is piecewise linear too, so that the level is
found by a binary search over the sorted break points and one interpolation. With fractions the
result is exact. A step costs O(n log n) for n members. Source: ltyarn spec, section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sluice.planning.sharing.problem import Number


class Claim(NamedTuple):
    """What one member may receive. base: counted use before this step.

    share: units up to which a unit counts fully; above, it counts `price`.
    """

    demand: Number
    weight: Number
    base: Number
    share: Number

    def received(self, level: Number, price: Number) -> Number:
        """Units at a level of counted use by weight."""
        gain = level * self.weight - self.base
        if gain <= 0:
            return self.demand * 0
        if gain > self.share:
            gain = self.share + (gain - self.share) / price
        return min(self.demand, gain)

    def break_points(self, price: Number) -> tuple[Number, Number, Number]:
        """The levels at which `received` bends."""
        counted = min(self.demand, self.share)
        if self.demand > self.share:
            counted += (self.demand - self.share) * price
        base, weight = self.base, self.weight
        return base / weight, (base + min(self.share, counted)) / weight, (base + counted) / weight


def fill(supply: Number, claims: Sequence[Claim], price: Number) -> list[Number]:
    """Units for each claim; they add up to the supply, or to the demand if that is less.

    price: eta, what a unit above the share counts, above 0 to 1.

    >>> from fractions import Fraction as F
    >>> claims = [Claim(F(2), F(1), F(0), F(1)), Claim(F(2), F(1), F(1), F(1))]
    >>> [str(units) for units in fill(F(2), claims, F(1))]
    ['3/2', '1/2']
    """
    demands = [claim.demand for claim in claims]
    if sum(demands) <= supply:
        return demands
    points = sorted({point for claim in claims for point in claim.break_points(price)})
    level = level_at(supply, points, lambda x: sum(c.received(x, price) for c in claims))
    return [claim.received(level, price) for claim in claims]


def level_at(supply: Number, points: Sequence[Number], total: Callable[[Number], Number]) -> Number:
    """The level at which a rising function, linear between its break points, has a value."""
    low, high = 0, len(points) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if total(points[middle]) <= supply:
            low = middle
        else:
            high = middle
    below, above = total(points[low]), total(points[high])
    if below == above:
        return points[low]
    return points[low] + (points[high] - points[low]) * (supply - below) / (above - below)
