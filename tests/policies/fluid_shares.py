"""Fair shares of slots that can be divided: what shares of whole slots are held against."""

import math
from collections.abc import Sequence


def fair_shares(slots: float, pools: Sequence[tuple[float, float, float]]) -> list[float]:
    """Shares of `slots` for pools given as (weight, minimum share, demand).

    A pool whose demand is within its minimum gets its demand; the others get
    min(demand, max(minimum, rho * weight)) with the one rho that gives out
    min(slots, total demand).

    >>> fair_shares(60, [(1, 0, 12), (1, 20, 100), (2, 0, 100)])
    [12.0, 20.0, 28.0]
    """

    def at(rho: float) -> list[float]:
        return [
            demand if demand <= minimum else min(demand, max(minimum, rho * weight))
            for weight, minimum, demand in pools
        ]

    target = min(slots, math.fsum(demand for _, _, demand in pools))
    low, high = 0.0, max((d / w for w, _, d in pools), default=0.0)
    for _ in range(200):
        rho = (low + high) / 2
        if math.fsum(at(rho)) < target:
            low = rho
        else:
            high = rho
    # The bisection ends a rounding away from values that are whole.
    return [float(round(share, 9)) for share in at(high)]
