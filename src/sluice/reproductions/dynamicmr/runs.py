"""Runs of the DynamicMR evaluation: several ways of scheduling, with the same tasks and seeds.

Ways are compared seed by seed, because runs with one seed have the same tasks. An error is the
standard error of the mean over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, NamedTuple

from sluice.core.state import ClusterState
from sluice.model.job import Job
from sluice.reproductions.dynamicmr.workload import (
    CORES,
    SETTINGS,
    makespan_s,
    simulated,
    worker_cluster,
)

Settings = Mapping[str, Any]

CONFIGURATIONS = tuple((maps, CORES - maps) for maps in range(1, CORES))  # 1/11 .. 11/1
DEFAULT_SLOTS = (10, 2)
GENERATOR = "9 workers of 12 slots in the simulator, heartbeats of 3 s, lengths +-15 %."


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a cluster is scheduled.

    scheduler: "static" (typed slots without lending), "dynamicmr" or "yarn-like".
    slots: map and reduce slots of each worker.  settings: override those of the workload.
    has_racks: whether it matters where blocks are.
    """

    scheduler: str
    slots: tuple[int, int] = DEFAULT_SLOTS
    settings: Settings = field(default_factory=dict)
    has_racks: bool = False

    def run(self, jobs: Sequence[Job], seed: int) -> ClusterState:
        """The state after the jobs have run."""
        settings = {**SETTINGS, **self.settings}
        cluster = worker_cluster(*self.slots, has_racks=self.has_racks)
        is_fifo = self.scheduler == "static" and settings.get("order") == "fifo"
        return simulated(cluster, jobs, "fifo" if is_fifo else self.scheduler, settings, seed)

    def makespans_s(self, jobs: Sequence[Job], seeds: int) -> list[float]:
        """The time from the first submission to the last end, for each seed."""
        return [makespan_s(self.run(jobs, seed)) for seed in range(seeds)]


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


def mean_job_s(state: ClusterState) -> float:
    """The mean time from submission to end of a job."""
    return fmean(job.finished_at_s - job.job.submitted_at_s for job in state.jobs.values())
