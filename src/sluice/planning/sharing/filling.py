"""Water-filling: one level for all members, at which the supply is used up.

With several resources the level rises on for the members that need none of those used up.

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
    """The units that one member may receive. base: counted use before this step.

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


def fill_several(
    claims: Sequence[Claim], price: Number, needs: Sequence[Sequence[Number]]
) -> list[Number]:
    """Units for each claim on several resources, of each of which there is 1.

    needs: by claim, the part of each resource that a unit takes.
    Progressive filling: the level of all claims rises until a resource is used up. The claims
    that need it keep what they have, and the level rises on for the others.
    Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4.

    >>> from fractions import Fraction as F
    >>> claims = [Claim(F(9), F(1), F(0), F(1, 2)) for _ in range(2)]
    >>> needs = [(F(1, 2), F(1)), (F(1), F(1, 6))]  # A: 1 of 9 cpu, 4 of 18 GB; B: 3 and 1
    >>> [str(units) for units in fill_several(claims, F(1), needs)]
    ['2/3', '2/3']
    """
    given = [claim.demand for claim in claims]
    free = [price * 0 + 1 for _ in needs[0]]
    rising = list(range(len(claims)))
    while True:
        full = [
            _level_of([(claims[i], needs[i][resource]) for i in rising], left, price)
            for resource, left in enumerate(free)
        ]
        level = min((one for one in full if one is not None), default=None)
        if level is None:
            return given
        used_up = [resource for resource, one in enumerate(full) if one == level]
        for i in [i for i in rising if any(needs[i][resource] for resource in used_up)]:
            given[i] = claims[i].received(level, price)
            free = [left - given[i] * need for left, need in zip(free, needs[i], strict=True)]
            rising.remove(i)


def _level_of(users: Sequence[tuple[Claim, Number]], free: Number, price: Number) -> Number | None:
    """The level at which the claims use up a resource; None if their demands leave some."""
    users = [(claim, need) for claim, need in users if need]
    if not users or sum(claim.demand * need for claim, need in users) <= free:
        return None
    points = sorted({point for claim, _ in users for point in claim.break_points(price)})
    return level_at(free, points, lambda x: sum(c.received(x, price) * n for c, n in users))


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
