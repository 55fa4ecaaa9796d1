"""How fair a division was: fairness degrees, benefit and loss, Jain's index, the Lorenz curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sluice.planning.sharing.problem import Number


def fairness_degree(used: Number, entitled: Number) -> Number | None:
    """beta: accumulated use over accumulated use under the reference; None where that is 0.

    Source: ltyarn spec, equation (3) and erratum E1.
    """
    return used / entitled if entitled else None


def benefit(degrees: Iterable[Number | None]) -> Number:
    """Psi: what members gained from sharing, at least 0. Equation (4).

    >>> benefit([1.25, 0.9, None])
    0.25
    """
    return sum((max(degree - 1, degree * 0) for degree in degrees if degree is not None), 0)


def loss(degrees: Iterable[Number | None]) -> Number:
    """Omega: what members lost by sharing, at most 0. Equation (5).

    >>> loss([1.25, 0.75, None])
    -0.25
    """
    return sum((min(degree - 1, degree * 0) for degree in degrees if degree is not None), 0)


def jain_index(amounts: Sequence[float]) -> float | None:
    """Jain's index of amounts by weight: 1 if all are equal, 1/n if one has everything.

    None without amounts above 0. Source: Jain, Chiu and Hawe, 1984.

    >>> jain_index([1.0, 1.0]), jain_index([1.0, 0.0])
    (1.0, 0.5)
    """
    squares = math.fsum(amount * amount for amount in amounts)
    return math.fsum(amounts) ** 2 / (len(amounts) * squares) if squares else None


def lorenz_curve(amounts: Sequence[float]) -> list[float]:
    """The part of the total that the poorest k of n have, for k = 0 to n.

    >>> lorenz_curve([3.0, 1.0])
    [0.0, 0.25, 1.0]
    """
    total = math.fsum(amounts)
    ordered = sorted(amounts)
    if not total:
        return [0.0] * (len(ordered) + 1)
    sums = [math.fsum(ordered[:k]) / total for k in range(len(ordered))]
    return [*sums, 1.0]
