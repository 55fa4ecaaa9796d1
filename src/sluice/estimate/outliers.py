"""Finds outlier runs, caused for example by a busy machine, a wrong log or a stuck job.

A run is an outlier if the logarithm of actual over expected time is more than 3.5 robust standard
deviations from the median of all runs. The median and the median absolute deviation are used
because outliers do not move them; mean and variance would hide the outliers they contain. Source:
Iglewicz and Hoaglin, "How to Detect and Handle Outliers", ASQC 1993 (modified z-score).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

SCORE_MAX = 3.5
RUNS_MIN = 5  # with fewer runs the median is not reliable
# Repetitions can agree to the last digit. A difference of a few percent is still not an outlier.
SPREAD_MIN = 0.05
TENFOLD, PERCENT = 10, 0.01
_MAD_TO_SIGMA = 1.4826  # of a normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A run that took `ratio` times the usual time. score: distance in robust deviations."""

    run_id: str
    ratio: float
    score: float

    def text(self) -> str:
        """Describe the outlier in one sentence."""
        if self.ratio >= 1:
            times = f"{self.ratio:.0f}" if self.ratio >= TENFOLD else f"{self.ratio:.2g}"
            return f"{self.run_id} took {times} times as long as expected"
        percent = f"{self.ratio:.0%}".replace("%", " %") if self.ratio >= PERCENT else "under 1 %"
        return f"{self.run_id} took {percent} of what was expected"


def outliers(log_ratios: Mapping[str, float]) -> tuple[Outlier, ...]:
    """Return the outliers, the farthest first.

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
