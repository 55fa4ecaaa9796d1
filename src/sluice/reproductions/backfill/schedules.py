"""When jobs start under Sluice's schedulers, and the published measures of that.

`simulated_starts` is Sluice's simulator, which decides once everything that happens at an instant
is known. `starts_by_event` feeds the same scheduler as the simulator of Gaussier et al. does, which
decides after each event: so a job may start on the processors of the first of two jobs that end
together, and be in the way of what both would have made room for. A job that ends at its limit
counts as gone from the beginning of that instant, for its end was known in advance.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

from sluice.api.simulate import Scheduling, simulated
from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    CLUSTER,
    LENGTHS_FROM,
    ON_MESSAGE,
    ON_NOTE,
    OVERRIDES,
    QUEUES,
    SCHEDULER,
    SETTINGS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.core.entries import Attempt
from sluice.core.events import NodeJoined
from sluice.core.garbage_collector import paused_collector
from sluice.core.offers import Decisions
from sluice.core.scheduler import Scheduler
from sluice.model.job import Job
from sluice.reporting.run.slowdowns import bounded_slowdown
from sluice.reproductions.backfill.logs import RigidJob, workload

Starts = Mapping[int, float]  # instants in seconds by job number

_SUBMISSION, _END = 0, 1  # the order of events at one instant


def simulated_starts(jobs: Sequence[RigidJob], processors: int, how: Scheduling) -> Starts:
    """When each job starts in Sluice's simulator."""
    scheduler, _ = simulated(workload(jobs, processors), how)
    return _starts(scheduler)


def starts_by_event(jobs: Sequence[RigidJob], processors: int, how: Scheduling) -> Starts:
    """When each job starts if the scheduler decides after each event."""
    return _DecidingByEvent(jobs, processors, how).run()


def _starts(scheduler: Scheduler) -> Starts:
    return {int(job_id): entry.started_at_s for job_id, entry in scheduler.state.jobs.items()}


class _DecidingByEvent:
    """A driver of the core for rigid jobs on one machine, where each job is one attempt."""

    def __init__(self, jobs: Sequence[RigidJob], processors: int, how: Scheduling) -> None:
        self._scheduler, submitted = _scheduler(jobs, processors, how)
        self._jobs = {str(one.job): one for one in jobs}
        self._agenda: list[tuple[float, int, int, Job | Attempt]] = [
            (job.submitted_at_s, _SUBMISSION, place, job) for place, job in enumerate(submitted)
        ]
        heapq.heapify(self._agenda)
        self._added = self._to_come = len(self._agenda)

    @paused_collector()
    def run(self) -> Starts:
        while self._agenda:
            now_s, *_, first = self._agenda[0]
            due: list[Job | Attempt] = []
            others: list[Job | Attempt] = []
            while self._agenda and self._agenda[0][0] == now_s:
                one = heapq.heappop(self._agenda)[-1]
                (due if self._is_due(one) else others).append(one)
            for one in due:
                self._happen(one, now_s)
            if self._is_due(first):
                self._decide(now_s)
            for one in others:
                self._happen(one, now_s)
                self._decide(now_s)
        return _starts(self._scheduler)

    def _is_due(self, one: Job | Attempt) -> bool:
        """Whether it is the end of a job at its limit."""
        if isinstance(one, Job):
            return False
        job = self._jobs[str(one.phase.job_id)]
        return job.run_s == job.limit_s

    def _happen(self, one: Job | Attempt, now_s: float) -> None:
        if isinstance(one, Attempt):
            self._scheduler.finish_attempt(one, now_s, now_s, math.nan)
            return
        self._to_come -= 1
        self._scheduler.submit(now_s, one, {}, alike=True, is_last=not self._to_come)

    def _decide(self, now_s: float) -> None:
        decisions: Decisions = self._scheduler.complete_instant(now_s)
        for one in decisions.all():
            if isinstance(one, Attempt):
                ends_at_s = now_s + self._jobs[str(one.phase.job_id)].run_s
                heapq.heappush(self._agenda, (ends_at_s, _END, self._added, one))
                self._added += 1


def _scheduler(
    jobs: Sequence[RigidJob], processors: int, how: Scheduling
) -> tuple[Scheduler, Sequence[Job]]:
    """A fresh scheduler with the machine, and the jobs to submit."""
    chosen = how.chosen()
    given = prepared(
        Goal.SIMULATE,
        {
            WORKLOAD: workload(jobs, processors),
            CHOSEN: chosen,
            OVERRIDES: how.settings,
            QUEUES: None,
            ON_MESSAGE: lambda _: None,
            ON_NOTE: None,
        },
    )
    start = {WORKLOAD: given[WORKLOAD], CHOSEN: chosen, SETTINGS: given[SETTINGS]}
    facts = prepared(Goal.DECIDE, {**start, LENGTHS_FROM: None})
    scheduler = facts[SCHEDULER]
    for node in facts[CLUSTER].nodes:
        scheduler.decide(NodeJoined(0.0, node))
    return scheduler, facts[WORKLOAD].jobs


def mean_bounded_slowdown(jobs: Sequence[RigidJob], starts: Starts) -> float:
    """The mean over jobs, with the threshold of 10 s."""
    waited_s = [starts[one.job] - one.submitted_at_s for one in jobs]
    found = map(bounded_slowdown, waited_s, (one.run_s for one in jobs))
    return math.fsum(found) / len(jobs)


def measures(jobs: Sequence[RigidJob], starts: Starts) -> dict[str, float]:
    """Mean, maximum and root mean square of flow time (s), slowdown and bounded slowdown."""
    waited_s = [starts[one.job] - one.submitted_at_s for one in jobs]
    ran_s = [one.run_s for one in jobs]
    flow_s = [wait + ran for wait, ran in zip(waited_s, ran_s, strict=True)]
    samples = {
        "flow time, s": flow_s,
        "slowdown": [flow / ran for flow, ran in zip(flow_s, ran_s, strict=True)],
        "bounded slowdown": list(map(bounded_slowdown, waited_s, ran_s)),
    }
    return {
        f"{of} {name}": value
        for name, sample in samples.items()
        for of, value in (
            ("mean", math.fsum(sample) / len(sample)),
            ("max", max(sample)),
            ("rms", math.sqrt(math.fsum(one * one for one in sample) / len(sample))),
        )
    }
