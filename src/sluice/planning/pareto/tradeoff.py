"""Measures of a frontier: its knee, the price of a saved hour, and its hypervolume.

All functions take (makespan, budget) points, the fastest first, as a frontier has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

FrontierPoints = Sequence[tuple[float, float]]

_HOUR_S = 3600.0
_ENDS = 2


def knee(points: FrontierPoints) -> int | None:
    """Position of the knee, from which paying more helps little; None for less than three points.

    It is the point farthest below the line between both ends, with both axes scaled to their span;
    of equals the faster. It is None if no point is below that line.
    Source: Das, "On characterizing the knee of the Pareto curve", Structural Optimization 1999.

    >>> knee([(1000.0, 9.0), (1200.0, 4.0), (3000.0, 3.0)])
    1
    """
    if len(points) <= _ENDS:
        return None
    (first_s, first_usd), (last_s, last_usd) = points[0], points[-1]

    def depth(point: tuple[float, float]) -> float:
        time = (point[0] - first_s) / (last_s - first_s)
        cost = (point[1] - last_usd) / (first_usd - last_usd)
        return 1.0 - time - cost

    best = max(range(len(points)), key=lambda number: (depth(points[number]), -number))
    return best if depth(points[best]) > 0 else None


def hour_saved_usd(points: FrontierPoints) -> list[float | None]:
    """For each plan, the price of each hour that it saves over the next slower plan.

    None for the slowest plan. Source: pareto, section 9.

    >>> hour_saved_usd([(3000.0, 3.0), (3300.0, 2.0)])
    [12.0, None]
    """
    if not points:
        return []
    slopes: list[float | None] = [
        (usd - slower_usd) / (slower_s - time_s) * _HOUR_S
        for (time_s, usd), (slower_s, slower_usd) in pairwise(points)
    ]
    return [*slopes, None]


def hypervolume(points: FrontierPoints, reference: tuple[float, float]) -> float:
    """Area that the points dominate up to a reference, seconds times dollars; points in any order.

    >>> hypervolume([(3000.0, 3.0), (3300.0, 2.0)], (4000.0, 4.0))
    1700.0
    """
    end_s, lowest_usd = reference
    areas = []
    for time_s, usd in sorted(points):
        if time_s < end_s and usd < lowest_usd:
            areas.append((end_s - time_s) * (lowest_usd - usd))
            lowest_usd = usd
    return math.fsum(areas)
