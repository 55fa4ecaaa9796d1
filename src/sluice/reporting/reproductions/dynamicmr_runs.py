"""Runs of the DynamicMR evaluation: a way of scheduling, the same tasks for each, several seeds.

Ways are compared seed by seed, for two runs with one seed see the same tasks; an error is the
standard error of the mean over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, NamedTuple

from sluice.core.state import ClusterState
from sluice.model.job import Job
from sluice.model.settings import of_mapping
from sluice.policies.dynamicmr.policy import DynamicMR
from sluice.policies.fifo import Fifo
from sluice.policies.static_slots import StaticSlots
from sluice.policies.yarn_like import YarnLike
from sluice.reporting.reproductions.dynamicmr_workload import (
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


class Estimate(NamedTuple):
    """A mean over seeds. error: its standard error; None for a single seed."""

    mean: float
    error: float | None

    def text(self, decimals: int = 1) -> str:
        """As it is told in a sentence.

        >>> Estimate(12.34, 0.56).text(), Estimate(2.0, None).text(0)
        ('12.3 ± 0.6', '2')
        """
        error = "" if self.error is None else f" ± {self.error:.{decimals}f}"
        return f"{self.mean:.{decimals}f}{error}"


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values, one for each seed, and its standard error.

    >>> estimate([1.0, 3.0])
    Estimate(mean=2.0, error=1.0)
    """
    if len(values) == 1:
        return Estimate(values[0], None)
    return Estimate(fmean(values), stdev(values) / math.sqrt(len(values)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a cluster is scheduled.

    scheduler: "static" (typed slots that nobody lends), "dynamicmr" or "yarn-like".
    slots: map and reduce slots of each worker.  settings: over those of the workload.
    """

    scheduler: str
    slots: tuple[int, int] = DEFAULT_SLOTS
    settings: Settings = field(default_factory=dict)

    def run(self, jobs: Sequence[Job], seed: int) -> ClusterState:
        """The state after the jobs have run."""
        settings = {**SETTINGS, **self.settings}
        cluster = worker_cluster(*self.slots, has_racks=settings.get("has_racks", False))
        return simulated(cluster, jobs, _MAKERS[self.scheduler](settings), settings, seed)

    def makespans_s(self, jobs: Sequence[Job], seeds: int) -> list[float]:
        """From the first submission to the last end, for each seed."""
        return [makespan_s(self.run(jobs, seed)) for seed in range(seeds)]


def _static(settings: Settings) -> Any:  # noqa: ANN401  # a task policy that may also end attempts
    is_fifo = settings.get("order") == "fifo"
    kind = Fifo if is_fifo else StaticSlots
    return kind.build(of_mapping(kind.Settings, settings))


_MAKERS: dict[str, Callable[[Settings], Any]] = {
    "static": _static,
    "dynamicmr": lambda given: DynamicMR.build(of_mapping(DynamicMR.Settings, given)),
    "yarn-like": lambda given: YarnLike.build(of_mapping(YarnLike.Settings, given)),
}


def some(seeds: int, of: int) -> int:
    """One in so many of the seeds, for what takes long and differs little; at least one.

    >>> some(10, 3), some(1, 3)
    (4, 1)
    """
    return -(-seeds // of)


def gain_percent(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """How much more speed `after` has than `before`, seed by seed, in percent.

    >>> gain_percent([30.0, 30.0], [20.0, 20.0])
    Estimate(mean=50.0, error=0.0)
    """
    return estimate([100 * (old / new - 1) for old, new in zip(before, after, strict=True)])


def ratio(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Values over others, seed by seed."""
    return estimate([one / other for one, other in zip(values, others, strict=True)])


def mean_job_s(state: ClusterState) -> float:
    """How long a job takes from its submission to its end, on average."""
    return fmean(job.finished_at_s - job.job.submitted_at_s for job in state.jobs.values())
