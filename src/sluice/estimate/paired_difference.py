"""The mean difference of two paired samples, with an interval by Student's t.

Two schedulers that run the same seeds see the same tasks, so their difference seed by seed varies
far less than either figure. Source: Abramowitz and Stegun, Handbook of Mathematical Functions,
26.7.3 and 26.7.4 (the distribution for whole degrees of freedom, as a finite sum).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
_EXPECTED_FREEDOM = 4  # an expected spread counts as that of five pairs
_HALVINGS = 60  # of an angle below pi/2: beyond the resolution of a float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """Mean of `other - first` over pairs, and its interval; None for the ends with one pair."""

    mean: float
    low: float | None
    high: float | None

    @classmethod
    def of(
        cls,
        first: Sequence[float | None],
        other: Sequence[float | None],
        level: float = LEVEL,
        *,
        is_resampled: bool = False,
    ) -> PairedDifference | None:
        """The difference of two samples of equal length; None if a pair is incomplete.

        is_resampled: whether the pairs come from resamples of one history. Their spread is then
        that of the history's own figure, and more of them do not make it smaller.
        """
        pairs = list(zip(first, other, strict=True))
        known = [b - a for a, b in pairs if a is not None and b is not None]
        if not known or len(known) < len(pairs):
            return None
        mean = math.fsum(known) / len(known)
        if len(known) == 1:
            return cls(mean=mean, low=None, high=None)
        error = statistics.stdev(known) / (1.0 if is_resampled else math.sqrt(len(known)))
        reach = t_quantile(len(known) - 1, level) * error
        return cls(mean=mean, low=mean - reach, high=mean + reach)

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0; never without an interval."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0

    def document(self) -> dict[str, float | None]:
        """The fields as plain JSON values."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedDifference:
    """A difference as it is expected before any pair: from other cases than the one at hand.

    mean: over these cases.  between: its standard deviation from case to case.
    within: that of a pair from the mean of its case.
    Source: A. Gelman et al., Bayesian Data Analysis, 3rd ed., 2013, equations 2.11 and 2.12 (a
    normal mean), with the variance of a pair as in 3.3, estimated by that of the sample.
    """

    mean: float
    between: float
    within: float

    def after(self, differences: Sequence[float], level: float = LEVEL) -> PairedDifference:
        """The mean and its interval once these differences of pairs are known; at least one.

        The more pairs there are, and the less they vary, the less the expectation counts.

        >>> expected = ExpectedDifference(mean=-0.9, between=0.5, within=0.4)
        >>> found = expected.after([0.0, 0.0, 0.0, 0.0])
        >>> round(found.mean, 3), found.is_clear
        (-0.075, False)
        >>> expected.after([-0.9, -0.3, -1.1, -0.6]).is_clear
        True
        """
        count = len(differences)
        sample = math.fsum(differences) / count
        squares = math.fsum((one - sample) ** 2 for one in differences)
        freedom = _EXPECTED_FREEDOM + count - 1
        variance = (_EXPECTED_FREEDOM * self.within**2 + squares) / freedom
        weight, own_weight = 1 / self.between**2, count / variance
        mean = (weight * self.mean + own_weight * sample) / (weight + own_weight)
        reach = t_quantile(freedom, level) / math.sqrt(weight + own_weight)
        return PairedDifference(mean=mean, low=mean - reach, high=mean + reach)


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """The t that a variable with `freedom` degrees stays within, in size, with chance `level`.

    >>> round(t_quantile(1), 3), round(t_quantile(9), 3)
    (12.706, 2.262)
    """
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance_within(middle, freedom) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def t_probability(t: float, freedom: int) -> float:
    """The chance that a variable with `freedom` degrees is at most `t` in size.

    >>> round(t_probability(2.262, 9), 3)
    0.95
    """
    return _chance_within(math.atan(t / math.sqrt(freedom)), freedom)


def _chance_within(angle: float, freedom: int) -> float:
    """The chance that |t| is at most sqrt(freedom) * tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2 == 1
    term = cosine if is_odd else 1.0
    terms = []
    for step in range(freedom // 2):
        terms.append(term)
        below, above = (2 * step + 2, 2 * step + 3) if is_odd else (2 * step + 1, 2 * step + 2)
        term *= cosine * cosine * below / above
    total = sine * math.fsum(terms)
    return 2 / math.pi * (angle + total) if is_odd else total
