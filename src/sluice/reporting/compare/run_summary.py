"""The summary of one run that a comparison keeps: its figures, and how long each job waited.

Small enough for hundreds of runs at once, and plain enough to come from another process.

The slowdown of a job is its response divided by the time that it takes alone on the cluster, at
least 1. Lengths under 10 s count as 10 s, so that a job of a second that waits a few is no outlier.
Source: D. Feitelson, L. Rudolph, "Metrics and Benchmarking for Parallel Job Scheduling", 1998
(bounded slowdown); R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984 (the index of fairness).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sluice.core.transitions import JobState
from sluice.model.ids import JobId, PoolId
from sluice.model.prices import Prices
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.rented import rented_s
from sluice.reporting.run.slowdowns import THRESHOLD_S, percentile

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_NOISE = 1e-9  # a ratio nearer to 1 than this is 1: instants are sums of floats


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWait:
    """One job of one run. wait_s: from the end of its driver's start to its first task; None if
    it had none.  slowdown: None if it did not end well, or if the time alone is not known.
    """

    job_id: JobId
    pool: PoolId
    wait_s: float | None
    slowdown: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run. figures: by measure, None where the run has no value.  jobs: as submitted."""

    figures: Mapping[str, float | None]
    jobs: tuple[JobWait, ...]

    @classmethod
    def of(
        cls,
        run: RunFigures,
        workload: Workload,
        alone_s: Mapping[JobId, float | None] | None = None,
    ) -> RunSummary:
        """The summary of a finished run. alone_s: of each job alone; without it no slowdowns."""
        drivers = {job.job_id: job.driver_s for job in workload.jobs}
        jobs = tuple(
            JobWait(
                job_id=job.job_id,
                pool=job.pool,
                wait_s=None
                if job.waited_s is None
                else max(0.0, job.waited_s - drivers.get(job.job_id, 0.0)),
                slowdown=slowdown(job.response_s, (alone_s or {}).get(job.job_id))
                if job.state == JobState.DONE.value
                else None,
            )
            for job in run.jobs
        )
        figures: dict[str, float | None] = {
            "makespan_s": run.makespan_s,
            "total_completion_s": run.total_completion_s,
            "total_response_s": run.total_response_s,
            "mean_response_s": run.mean_response_s,
            "deadlines_met": run.deadlines_met,
            "cost_usd": _cost_usd(run, workload),
            "bill_usd": _bill_usd(run, workload),
            "map_slots_used": run.utilisation.get("map_slots"),
            "reduce_slots_used": run.utilisation.get("reduce_slots"),
            "idle_share": _idle_share(run),
            "jobs_done": run.states.get(JobState.DONE.value, 0),
            **tails(jobs),
            **{f"bounded_slowdown_{name}": one for name, one in run.bounded_slowdown.items()},
            "jain": jain_index(mean_slowdowns(jobs)),
        }
        return cls(figures=figures, jobs=jobs)

    def by_pool(self) -> dict[PoolId, list[JobWait]]:
        """The jobs of each pool, pools in the order of their first job."""
        pools: dict[PoolId, list[JobWait]] = {}
        for job in self.jobs:
            pools.setdefault(job.pool, []).append(job)
        return pools


def tails(jobs: Collection[JobWait]) -> dict[str, float | None]:
    """Percentiles of waits and slowdowns: `wait_s_p50` ... `slowdown_p99`; None without jobs."""
    columns = {
        "wait_s": sorted(job.wait_s for job in jobs if job.wait_s is not None),
        "slowdown": sorted(job.slowdown for job in jobs if job.slowdown is not None),
    }
    return {
        f"{column}_{name}": percentile(values, share)
        for column, values in columns.items()
        for name, share in PERCENTILES.items()
    }


def slowdown(response_s: float | None, alone_s: float | None) -> float | None:
    """Response over time alone, at least 1; lengths under 10 s count as 10 s.

    >>> slowdown(60.0, 20.0), slowdown(12.0, 2.0), slowdown(5.0, 20.0)
    (3.0, 1.2, 1.0)
    """
    if response_s is None or alone_s is None:
        return None
    ratio = max(response_s, THRESHOLD_S) / max(alone_s, THRESHOLD_S)
    return 1.0 if ratio < 1 + _NOISE else ratio


def mean_slowdowns(jobs: Collection[JobWait]) -> list[float]:
    """The mean slowdown of each pool that has one."""
    pools: dict[PoolId, list[float]] = {}
    for job in jobs:
        if job.slowdown is not None:
            pools.setdefault(job.pool, []).append(job.slowdown)
    return [math.fsum(values) / len(values) for values in pools.values()]


def jain_index(values: Collection[float]) -> float | None:
    """Jain's index: 1 if all are equal, 1/n if one has everything; None without values.

    >>> jain_index([2.0, 2.0]), jain_index([1.0, 0.0]), jain_index([])
    (1.0, 0.5, None)
    """
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else None


def _cost_usd(run: RunFigures, workload: Workload) -> float | None:
    """Rent of all nodes, billed in whole units; None without a price.

    It is that of the nodes of the file over the makespan, and of VMs that were rented meanwhile.
    """
    if run.makespan_s is None:
        return None
    rented: Any = run.extra.get("machines")
    if rented is not None:
        return float(rented["fixed_usd"] + rented["rented_usd"])
    prices = workload.prices or _reserved(workload)
    return None if prices is None else len(run.cluster.nodes) * prices.rent_usd(run.makespan_s)


def _reserved(workload: Workload) -> Prices | None:
    """Rent of reserved VMs, where the file has only the prices that `capacity` reads."""
    of = workload.capacity_prices
    if of is None or of.reserved_vm_usd is None:
        return None
    billing_s = 1.0 if of.billing_s is None else of.billing_s
    return Prices(vm_hour_usd=of.reserved_vm_usd, billing_s=billing_s)


def _bill_usd(run: RunFigures, workload: Workload) -> float | None:
    """Rent and the penalties of jobs that missed their deadline; None where no job has one."""
    penalties = {one.job_id: one.penalty_usd for one in workload.jobs if one.penalty_usd}
    cost_usd = _cost_usd(run, workload)
    if not penalties or cost_usd is None:
        return None
    due = [one for one in run.jobs if one.deadline_at_s is not None and not one.deadline_met]
    return cost_usd + math.fsum(penalties.get(one.job_id) or 0.0 for one in due)


def _idle_share(run: RunFigures) -> float | None:
    """Share of the slots' time, over the makespan, in which no attempt ran."""
    room_s = run.cluster.slots(SlotKind.CONTAINER) * (run.makespan_s or 0.0)
    room_s += run.cluster.nodes[0].slots(SlotKind.CONTAINER) * rented_s(
        run.extra, run.finished_at_s or 0.0
    )
    if not room_s:
        return None
    return max(0.0, 1 - math.fsum(run.work.busy_s.values()) / room_s)
