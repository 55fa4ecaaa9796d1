"""Means over seeds, with their errors.

Ways of scheduling are compared seed by seed, because runs with one seed have the same tasks. An
error is the standard error of the mean over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple


class SeedMean(NamedTuple):
    """A mean over seeds. error: its standard error; None for a single seed."""

    mean: float
    error: float | None

    def text(self, decimals: int = 1) -> str:
        """The mean with its error, for a sentence.

        >>> SeedMean(12.34, 0.56).text(), SeedMean(2.0, None).text(0)
        ('12.3 ± 0.6', '2')
        """
        error = "" if self.error is None else f" ± {self.error:.{decimals}f}"
        return f"{self.mean:.{decimals}f}{error}"


def estimate(values: Sequence[float]) -> SeedMean:
    """The mean of values, one for each seed, and its standard error.

    >>> estimate([1.0, 3.0])
    SeedMean(mean=2.0, error=1.0)
    """
    if len(values) == 1:
        return SeedMean(values[0], None)
    return SeedMean(fmean(values), stdev(values) / math.sqrt(len(values)))


def some(seeds: int, of: int) -> int:
    """Every `of`-th seed, at least one, for runs that take long and differ little.

    >>> some(10, 3), some(1, 3)
    (4, 1)
    """
    return -(-seeds // of)


def gain_percent(before: Sequence[float], after: Sequence[float]) -> SeedMean:
    """The gain of speed from `before` to `after`, by seed, in percent.

    >>> gain_percent([30.0, 30.0], [20.0, 20.0])
    SeedMean(mean=50.0, error=0.0)
    """
    return estimate([100 * (old / new - 1) for old, new in zip(before, after, strict=True)])


def ratio(values: Sequence[float], others: Sequence[float]) -> SeedMean:
    """The ratio of values to others, by seed."""
    return estimate([one / other for one, other in zip(values, others, strict=True)])
