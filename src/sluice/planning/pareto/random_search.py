"""Random search and recursive random search over the unit cube.

Recursive random search first samples the whole cube. Then it samples a box around the best point.
The box moves to every improvement and shrinks without one; when it is tiny, sampling of the whole
cube starts again.
Source: Ye and Kalyanaraman, "A recursive random search algorithm for large-scale network parameter
configuration", SIGMETRICS 2003, with the parameters given there.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

_EXPLORED = 44  # ln(1 - 0.99) / ln(1 - 0.1): with 99 %, one sample is in the best tenth
_TRIES = 3  # ln(1 - 0.99) / ln(1 - 0.8), before the box shrinks
_FIRST_SHARE = 0.1  # volume of the first box, as a share of the cube
_SHRINK = 0.5
_LEAST_SHARE = 0.001

Point = tuple[float, ...]
Cost = Any  # a comparable value: a number, or a tuple whose later parts break ties


class SearchPoint(NamedTuple):
    """A point and its cost."""

    cost: Cost
    point: Point


class _Tally:
    """Counts evaluations and keeps the best point."""

    def __init__(
        self, cost: Callable[[Point], Cost], dimensions: int, draw: random.Random, left: int
    ) -> None:
        self._cost, self._dimensions, self._draw, self.left = cost, dimensions, draw, left
        self.best: SearchPoint | None = None

    def anywhere(self) -> SearchPoint:
        return self._at(tuple(self._draw.random() for _ in range(self._dimensions)))

    def near(self, centre: Point, share: float) -> SearchPoint:
        """Sample the box around a point with this share of the volume, moved into the cube."""
        side = share ** (1.0 / self._dimensions)
        lows = (min(max(at - side / 2, 0.0), 1.0 - side) for at in centre)
        return self._at(tuple(low + side * self._draw.random() for low in lows))

    def _at(self, point: Point) -> SearchPoint:
        self.left -= 1
        found = SearchPoint(self._cost(point), point)
        if self.best is None or found.cost < self.best.cost:
            self.best = found
        return found


def random_search(
    cost: Callable[[Point], Cost], dimensions: int, *, draw: random.Random, evaluations: int
) -> SearchPoint:
    """Return the best of `evaluations` uniform draws; the first of equals."""
    tally = _Tally(cost, dimensions, draw, evaluations)
    while tally.left:
        tally.anywhere()
    assert tally.best is not None, "there is at least one evaluation"
    return tally.best


def recursive_random_search(
    cost: Callable[[Point], Cost], dimensions: int, *, draw: random.Random, evaluations: int
) -> SearchPoint:
    """Return the best point that recursive random search finds in `evaluations` draws."""
    tally = _Tally(cost, dimensions, draw, evaluations)
    thresholds: list[Cost] = []
    while tally.left > 0:
        explored = [tally.anywhere() for _ in range(min(_EXPLORED, tally.left))]
        best = min(explored, key=lambda found: found.cost)
        # Only a start that is no worse than the median of all starts is worth a local search.
        if not thresholds or best.cost <= sorted(thresholds)[len(thresholds) // 2]:
            _look_closer(tally, best)
        thresholds.append(best.cost)
    assert tally.best is not None, "there is at least one evaluation"
    return tally.best


def _look_closer(tally: _Tally, centre: SearchPoint) -> None:
    share, failed = _FIRST_SHARE, 0
    while share > _LEAST_SHARE and tally.left > 0:
        found = tally.near(centre.point, share)
        if found.cost < centre.cost:
            centre, failed = found, 0
            continue
        failed += 1
        if failed == _TRIES:
            share, failed = share * _SHRINK, 0


def scaled(at: float, low: float, high: float) -> float:
    """Map a number from [0, 1] to [low, high].

    >>> scaled(0.25, 10.0, 20.0)
    12.5
    """
    return low + at * (high - low)


def scaled_to_whole(at: float, low: int, high: int) -> int:
    """Map a number from [0, 1] to an integer from low to high; all are equally likely.

    >>> scaled_to_whole(0.99, 1, 4)
    4
    """
    return min(high, low + math.floor(at * (high - low + 1)))
