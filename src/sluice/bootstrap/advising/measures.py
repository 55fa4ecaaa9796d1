"""The measures of a scheduler, in an ablation and for advice. Source: loop spec, section 4."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.bootstrap.scheduler_rows import row_of
from sluice.core.transitions import AttemptState, JobState
from sluice.model.cluster import Cluster
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.policies.composition import PRESETS, Composition
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.run.outcomes import JobOutcome
from sluice.reporting.run.result import RunResult
from sluice.reporting.run.slowdowns import THRESHOLD_S, percentile

SMALL_POOL = "adhoc"  # of the questions that people wait for

# Each measure, and whether less of it is better.
MEASURES: Mapping[str, bool] = {
    "bill_usd": True,
    "deadlines_met": False,
    "response_s": True,
    "slowdown_p95": True,
    "wait_s_p95": True,
    "adhoc_wait_s_p95": True,
    "makespan_s": True,
    "fairness_worst": False,
    "jain": False,
    "idle_share": True,
    "wasted_share": True,
    "refused": True,
    "refused_feasible": True,
    "promises_broken": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """One simulation. measures: those that need no other cell.

    responses: by job that was done, its response and its slowdown.  refused: jobs not taken.
    met: jobs that kept their deadline.  tenants: by job.
    """

    measures: Mapping[str, float | None]
    responses: Mapping[str, tuple[float, float]]
    refused: frozenset[str]
    met: frozenset[str]
    tenants: Mapping[str, str] = field(default_factory=dict)


def cell_run(run: RunResult, workload: Workload) -> CellRun:
    """Return what a finished run of a workload gave."""
    jobs = {job.job_id: job for job in workload.jobs}
    due = [one for one in run.jobs if one.deadline_at_s is not None]
    met = [one for one in due if one.deadline_met]
    started = [one for one in run.jobs if one.started_at_s is not None]
    waits = [_wait_s(one, jobs[one.job_id]) for one in started]
    small = [_wait_s(one, jobs[one.job_id]) for one in started if one.pool == SMALL_POOL]
    penalty_usd = math.fsum(
        jobs[one.job_id].penalty_usd or 0.0 for one in due if not one.deadline_met
    )
    promises = run.extra.get("promises")
    broken = promises.get("broken", 0) if isinstance(promises, Mapping) else 0
    cluster = workload.required_cluster()
    return CellRun(
        measures={
            "bill_usd": rent_usd(run, workload) + penalty_usd,
            "deadlines_met": len(met) / len(due) if due else None,
            "wait_s_p95": percentile(sorted(waits), 0.95),
            "adhoc_wait_s_p95": percentile(sorted(small), 0.95),
            "makespan_s": run.makespan_s,
            "fairness_worst": _worst_fairness(run, workload),
            "idle_share": _idle_share(run),
            "wasted_share": _wasted_share(run),
            "refused": float(run.states.get(JobState.REFUSED.value, 0)),
            "promises_broken": float(broken),
        },
        responses={
            str(one.job_id): (one.response_s, _slowdown(one, jobs[one.job_id], cluster))
            for one in run.jobs
            if one.state == JobState.DONE.value and one.response_s is not None
        },
        refused=frozenset(
            str(one.job_id) for one in run.jobs if one.state == JobState.REFUSED.value
        ),
        met=frozenset(str(one.job_id) for one in met),
        tenants={str(one.job_id): str(one.pool) for one in run.jobs},
    )


def composition_of_text(text: str) -> dict[str, str]:
    """The member of each axis that a scheduler's text names."""
    tasks, release, admission = row_of(text)[1]
    made = tasks.composition or PRESETS.get(tasks.name, Composition())
    return {"admission": admission.name, "release": release.name, **made.document()}


def over_common_jobs(runs: Sequence[CellRun]) -> list[dict[str, float | None]]:
    """The measures of all cells of one seed, with those over the jobs that all cells completed.

    A cell that refuses a job would otherwise look better for it. Of the refused jobs, those that
    some cell that admits all finishes in time count as feasible.
    """
    common = sorted(set.intersection(*(set(run.responses) for run in runs)))
    admitted = [run.met for run in runs if not run.refused]
    feasible = frozenset[str]().union(*admitted)
    found = []
    for run in runs:
        pairs = [run.responses[name] for name in common]
        found.append(
            {
                **run.measures,
                "response_s": math.fsum(one for one, _ in pairs) / len(pairs) if pairs else None,
                "slowdown_p95": percentile(sorted(one for _, one in pairs), 0.95),
                "jain": _jain(run, common),
                "refused_feasible": float(len(run.refused & feasible)),
            }
        )
    return found


def rent_usd(run: RunResult, workload: Workload) -> float:
    """The rent of all nodes until the last job ends; 0 without a price."""
    if workload.prices is None or run.finished_at_s is None:
        return 0.0
    return len(run.cluster.nodes) * workload.prices.rent_usd(run.finished_at_s)


def _wait_s(outcome: JobOutcome, job: Job) -> float:
    """Until its first task starts, without the time that the driver takes before it."""
    assert outcome.started_at_s is not None
    return max(0.0, outcome.started_at_s - outcome.submitted_at_s - job.driver_s)


def _slowdown(outcome: JobOutcome, job: Job, cluster: Cluster) -> float:
    """Response over the time of whole waves on the empty cluster; at least 1, from 10 s on."""
    alone_s = 0.0
    for phase in job.phases:
        slots = max(1, cluster.slots(phase.kind))
        mean_s = 0.0 if phase.lengths is None else phase.lengths.avg_s(phase.tasks)
        alone_s += math.ceil(phase.tasks / slots) * mean_s
    response_s = outcome.response_s or 0.0
    return max(1.0, max(response_s, THRESHOLD_S) / max(alone_s, THRESHOLD_S))


def _worst_fairness(run: RunResult, workload: Workload) -> float | None:
    """The least of use / min(demand, share), at most 1, of any tenant by the end of any period."""
    ledger = FairnessResult.of_run(run, workload.pools, "fair").ledger
    degrees = [
        row.fairness_observed for period in ledger.periods for row in period.tenants.values()
    ]
    return min((min(1.0, one) for one in degrees if one is not None), default=None)


def _idle_share(run: RunResult) -> float | None:
    room_s = 1.0 * sum(
        node.map_slots + node.reduce_slots + node.containers for node in run.cluster.nodes
    )
    room_s *= run.makespan_s or 0.0
    return max(0.0, 1 - math.fsum(run.work.busy_s.values()) / room_s) if room_s else None


def _wasted_share(run: RunResult) -> float | None:
    """The share of all work in attempts that were ended or failed."""
    done_s = wasted_s = 0.0
    for attempt in run.attempts:
        length_s = max(0.0, attempt.finished_at_s - attempt.started_at_s) * attempt.tasks
        if attempt.state is AttemptState.DONE and not attempt.is_moot:
            done_s += length_s
        else:
            wasted_s += length_s
    return wasted_s / (done_s + wasted_s) if done_s else None


def _jain(run: CellRun, common: Iterable[str]) -> float | None:
    """Jain's index of the mean slowdowns of the tenants."""
    tenants: dict[str, list[float]] = {}
    for name in common:
        tenants.setdefault(run.tenants.get(name, name), []).append(run.responses[name][1])
    means = [math.fsum(each) / len(each) for each in tenants.values()]
    squares = math.fsum(one * one for one in means)
    return math.fsum(means) ** 2 / (len(means) * squares) if squares else None
