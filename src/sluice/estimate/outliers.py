"""Runs that are unlike the others: a machine that was busy, a log that lies, a job that got stuck.

A ratio of actual to expected time is unlike the others when its logarithm lies more than 3.5
robust standard deviations from the median of all. Source: Iglewicz and Hoaglin, "How to Detect and
Handle Outliers", ASQC 1993 (modified z-score).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

SCORE_MAX = 3.5
RUNS_MIN = 5  # fewer have no "usual" to be unlike
# Repetitions may agree to the last digit; a few percent are never a reason to point at one.
SPREAD_MIN = 0.05
_MAD_TO_SIGMA = 1.4826  # of a normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A run that took `ratio` times the usual; score: how many robust deviations that is."""

    run_id: str
    ratio: float
    score: float

    def text(self) -> str:
        """As a person would say it."""
        if self.ratio >= 1:
            return f"{self.run_id} took {self.ratio:.2g} times as long as expected"
        return f"{self.run_id} took {self.ratio:.0%} of what was expected".replace("%", " %")


def outliers(log_ratios: Mapping[str, float]) -> tuple[Outlier, ...]:
    """Which runs are unlike the others, the farthest first.

    log_ratios: by run, the logarithm of actual over expected time.

    >>> [found.run_id for found in outliers({"a": 0, "b": 0.1, "c": -0.1, "d": 0.05, "e": 1.2})]
    ['e']
    """
    if len(log_ratios) < RUNS_MIN:
        return ()
    middle = median(log_ratios.values())
    spread = median(abs(value - middle) for value in log_ratios.values())
    scale = max(_MAD_TO_SIGMA * spread, SPREAD_MIN)
    found = [
        Outlier(run_id=run_id, ratio=math.exp(value - middle), score=abs(value - middle) / scale)
        for run_id, value in log_ratios.items()
        if abs(value - middle) / scale > SCORE_MAX
    ]
    return tuple(sorted(found, key=lambda one: (-one.score, one.run_id)))
