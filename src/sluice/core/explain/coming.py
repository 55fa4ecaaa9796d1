"""When a job comes: at its instant, after the jobs before it, and after its driver's work."""

from __future__ import annotations

import math

from sluice.core.entries import JobEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.ids import JobId


def not_come_reason(job_id: JobId, state: ClusterState) -> Reason:
    """Why a job has not come: jobs that it runs after, its own instant, or its driver's work."""
    left = [name for name in state.to_come[job_id] if not _is_done(name, state)]
    if len(left) == 1:
        return Reason(ReasonCode.AFTER_JOB, (("job", left[0]),))
    if left:
        return Reason(ReasonCode.AFTER_JOBS, (("job", left[0]), ("more", len(left) - 1)))
    driven = state.drivers.get(job_id)
    if driven is not None and state.now_s >= driven.submitted_at_s:
        return Reason(ReasonCode.DRIVER_WORKS, (("driver_s", driven.driver_s),))
    return Reason(ReasonCode.NOT_SUBMITTED)


def came_after(job: JobEntry, state: ClusterState) -> JobId | None:
    """The job whose end let a job come; None if it came at its own instant."""
    before = [state.jobs[name] for name in job.job.after if name in state.jobs]
    last = max(before, key=lambda one: (one.finished_at_s, one.job_id), default=None)
    if last is None or math.isnan(last.finished_at_s) or last.finished_at_s < job.submitted_at_s:
        return None
    return last.job_id


def driver_s(job: JobEntry, state: ClusterState) -> float:
    """How long its driver worked before it asked for tasks, if that was simulated; else 0."""
    return job.job.driver_s if job.job_id in state.drivers else 0.0


def _is_done(job_id: JobId, state: ClusterState) -> bool:
    job = state.jobs.get(job_id)
    return job is not None and job.state is JobState.DONE
