"""How exactly a probability is known from trials."""

from __future__ import annotations

import math

_DEVIATIONS = 1.96  # of a 95 % interval


def wilson_interval(
    met: int, draws: int, *, deviations: float = _DEVIATIONS
) -> tuple[float, float]:
    """Interval of a probability of which `met` of `draws` trials are known. draws: at least 1.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    >>> [round(end, 3) for end in wilson_interval(95, 100)]
    [0.888, 0.978]
    """
    share, square = met / draws, deviations**2
    middle = (share + square / (2 * draws)) / (1 + square / draws)
    half = (
        deviations
        / (1 + square / draws)
        * math.sqrt(share * (1 - share) / draws + square / (4 * draws**2))
    )
    # The ends are exact where all or no trials met; computed, they are off by rounding.
    return 0.0 if met == 0 else middle - half, 1.0 if met == draws else middle + half
