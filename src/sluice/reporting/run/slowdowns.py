"""Bounded slowdown: how much longer a job took than it ran, as parallel job scheduling measures it.

Source: D. Feitelson, L. Rudolph, "Metrics and Benchmarking for Parallel Job Scheduling", 1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

THRESHOLD_S = 10.0  # shorter runs count as so long, so that a job of a second is no outlier


def bounded_slowdown(waited_s: float, ran_s: float) -> float:
    """Wait and run over the run, at least 1; a run under 10 s counts as 10 s.

    >>> bounded_slowdown(40.0, 20.0), bounded_slowdown(5.0, 1.0), bounded_slowdown(19.0, 1.0)
    (3.0, 1.0, 2.0)
    """
    return max(1.0, (waited_s + ran_s) / max(ran_s, THRESHOLD_S))


def slowdown_figures(waits_and_runs_s: Iterable[tuple[float, float]]) -> dict[str, float | None]:
    """The mean, p50 and p95 of the bounded slowdowns of jobs; None without jobs."""
    found = sorted(bounded_slowdown(waited_s, ran_s) for waited_s, ran_s in waits_and_runs_s)
    return {
        "mean": math.fsum(found) / len(found) if found else None,
        "p50": percentile(found, 0.5),
        "p95": percentile(found, 0.95),
    }


def percentile(rising: Sequence[float], share: float) -> float | None:
    """The value that a share of sorted values stays below, between neighbours in proportion.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5), percentile([], 0.5)
    (2.5, None)
    """
    if not rising:
        return None
    place = round(share * (len(rising) - 1), 9)  # 0.29 * 100 is not quite 29
    below = math.floor(place)
    above = min(below + 1, len(rising) - 1)
    return rising[below] + (rising[above] - rising[below]) * (place - below)
