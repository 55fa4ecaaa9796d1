"""The deadline of a job, shared out to the jobs that it runs after.

A job that others run after must be done early enough for them. The time from the submission of a
workflow to a deadline is divided along its longest path, in proportion to the least time that each
job takes: Yu, Buyya and Tham 2005 distribute deadlines so. All jobs that one job runs after are due
when its own share begins, and a job that several run after is due for the earliest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Final, NamedTuple

from sluice.model.cluster import Cluster
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind

_LEAST_S: Final = 1e-3


LeastTimes = Callable[[Sequence[Job]], Sequence[float]]


def with_shared_deadlines(jobs: Sequence[Job], cluster: Cluster) -> tuple[Job, ...]:
    """The jobs; those before a job with a deadline get one, unless they have their own.

    Where the length of one job is not known, all count as equally long.

    >>> import sluice
    >>> found = sluice.parse_workload(
    ...     "{version: 1, cluster: {containers: 1}, jobs: ["
    ...     "{id: a, phases: [{name: x, tasks: 1, avg_s: 10}]},"
    ...     "{id: b, after: [a], deadline_s: 60, phases: [{name: x, tasks: 1, avg_s: 20}]}]}"
    ... )
    >>> with_shared_deadlines(found.jobs, found.cluster)[0].deadline_at_s
    20.0
    """
    return shared_deadlines(jobs, lambda ordered: _least_s(ordered, cluster))


def shared_deadlines(jobs: Sequence[Job], least_s: LeastTimes) -> tuple[Job, ...]:
    """The jobs with shared deadlines. least_s: the least seconds that each of some jobs takes."""
    if not any(job.after for job in jobs):
        return tuple(jobs)
    by_id = {job.job_id: job for job in jobs}
    before = {job.job_id: [name for name in job.after if name in by_id] for job in jobs}
    order = list(TopologicalSorter(before).static_order())
    paths: dict[JobId, _Path] = {}
    for name, own_least_s in zip(order, least_s([by_id[name] for name in order]), strict=True):
        last = max((paths[one] for one in before[name]), key=lambda one: one.path_s, default=None)
        paths[name] = _Path(
            since_s=by_id[name].submitted_at_s if last is None else last.since_s,
            path_s=own_least_s + (0.0 if last is None else last.path_s),
            own_s=own_least_s,
        )
    due: dict[JobId, tuple[float, JobId]] = {}  # when, and whose deadline that is
    for name in reversed(order):
        own_s = by_id[name].deadline_at_s
        if own_s is not None:
            due[name] = own_s, name
        if name in due:
            at_s, whose = due[name]
            begins = paths[name].begins_s(at_s), whose
            due |= {one: min(due.get(one, begins), begins) for one in before[name]}
    return tuple(_with_share(job, due.get(job.job_id)) for job in jobs)


class _Path(NamedTuple):
    """The longest path that ends with a job, in seconds: since when, how long, its own part."""

    since_s: float
    path_s: float
    own_s: float

    def begins_s(self, due_at_s: float) -> float:
        """When the share of its last job begins, if that is due at an instant."""
        part = (self.path_s - self.own_s) / self.path_s
        return self.since_s + (due_at_s - self.since_s) * part


def _least_s(jobs: Sequence[Job], cluster: Cluster) -> list[float]:
    """The least seconds that each job takes, above 0; 1 for all where one is not known."""
    phases = [job.phases for job in jobs]
    if not all(one and all(phase.lengths is not None for phase in one) for one in phases):
        return [1.0 for _ in jobs]
    return [response_lower_s(job, cluster) or _LEAST_S for job in jobs]


def _with_share(job: Job, due: tuple[float, JobId] | None) -> Job:
    if due is None or job.deadline_at_s is not None or due[0] <= job.submitted_at_s:
        return job
    return replace(job, deadline_at_s=due[0], shares_deadline_of=due[1])


def response_lower_s(job: Job, cluster: Cluster) -> float:
    """Seconds that the job takes at least, with the whole cluster to itself."""
    slots = cluster.slots(SlotKind.CONTAINER)
    ends_s: list[float] = []
    for phase in job.phases:
        begins_s = max((ends_s[before] for before in phase.after), default=0.0)
        # Fetching may overlap the phase before, so that only the work itself is sure to follow.
        length_s = 0.0 if phase.lengths is None else phase.lengths.avg_s(phase.tasks)
        ends_s.append(begins_s + length_s * max(1.0, phase.tasks / max(1, slots)))
    return job.driver_s + max(ends_s, default=0.0)
