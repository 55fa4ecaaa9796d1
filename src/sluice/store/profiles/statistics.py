"""Statistics of the task lengths of a phase, which are stored even if the tasks are not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

QUANTILES = (5, 25, 50, 75, 90, 95, 99)  # percent


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthStatistics:
    """The shortest of `tasks` lengths, their standard deviation (population) and skewness.

    quantiles_s: by percent, linear between neighbours.
    skewness: None if all lengths are equal.
    """

    tasks: int
    min_s: float
    sd_s: float
    skewness: float | None
    quantiles_s: dict[int, float]


def length_statistics(lengths_s: Sequence[float]) -> LengthStatistics | None:
    """Quantiles and moments of lengths in seconds, in any order; None without lengths.

    >>> found = length_statistics([4.0, 1.0, 2.0, 3.0])
    >>> found.min_s, found.quantiles_s[50], found.quantiles_s[75]
    (1.0, 2.5, 3.25)
    """
    if not lengths_s:
        return None
    ordered = sorted(lengths_s)
    mean_s = math.fsum(ordered) / len(ordered)
    second = math.fsum((each - mean_s) ** 2 for each in ordered) / len(ordered)
    third = math.fsum((each - mean_s) ** 3 for each in ordered) / len(ordered)
    spread = second**1.5  # may be 0 although `second` is not
    return LengthStatistics(
        tasks=len(ordered),
        min_s=ordered[0],
        sd_s=math.sqrt(second),
        skewness=third / spread if spread and ordered[0] < ordered[-1] else None,
        quantiles_s={percent: _quantile(ordered, percent / 100) for percent in QUANTILES},
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    between = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    # Rounding must not move it past a neighbour.
    return min(max(between, ordered[below]), ordered[above])
