"""The deadline of a job, shared out to the jobs that it runs after.

A job that others run after must be done early enough for them. The time from the submission of a
workflow to a deadline is divided along its longest path, in proportion to the least time that each
job takes: Yu, Buyya and Tham 2005 distribute deadlines so. All jobs that one job runs after are due
when its own share begins, and a job that several run after is due for the earliest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from graphlib import TopologicalSorter

from sluice.model.cluster import Cluster
from sluice.model.ids import JobId
from sluice.model.job import Job, SlotKind


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
    if not any(job.after for job in jobs):
        return tuple(jobs)
    by_id = {job.job_id: job for job in jobs}
    before = {job.job_id: [name for name in job.after if name in by_id] for job in jobs}
    is_known = all(
        job.phases and all(phase.lengths is not None for phase in job.phases) for job in jobs
    )
    least_s = {
        job.job_id: (response_lower_s(job, cluster) if is_known else 1.0) or 1e-3 for job in jobs
    }
    order = list(TopologicalSorter(before).static_order())
    path_s: dict[JobId, float] = {}  # the longest path that ends with a job
    since_s: dict[JobId, float] = {}  # the submission of the first job of that path
    for name in order:
        last = max(before[name], key=lambda one: path_s[one], default=None)
        path_s[name] = least_s[name] + (0.0 if last is None else path_s[last])
        since_s[name] = by_id[name].submitted_at_s if last is None else since_s[last]
    due: dict[JobId, tuple[float, JobId]] = {}  # when, and whose deadline that is
    for name in reversed(order):
        own_s = by_id[name].deadline_at_s
        if own_s is not None:
            due[name] = own_s, name
        if name in due:
            at_s, whose = due[name]
            part = (path_s[name] - least_s[name]) / path_s[name]
            begins_s = since_s[name] + (at_s - since_s[name]) * part
            for one in before[name]:
                due[one] = min(due.get(one, (begins_s, whose)), (begins_s, whose))
    return tuple(_with_share(job, due.get(job.job_id)) for job in jobs)


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
