"""Jobs from logs, run again alone with the slots that they had, as a check of the simulator.

Every command that takes its jobs from logs reports these times next to the recorded ones, so that a
user sees how far its answer can be trusted.
"""

from __future__ import annotations

from dataclasses import replace

from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.bootstrap.simulations.simulation import simulated_run
from sluice.model.cluster import Cluster
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import RecordedJob, Workload
from sluice.reporting.run.outcomes import JobReplay


def log_replays(workload: Workload) -> dict[JobId, JobReplay] | None:
    """Each job that a log has recorded, by id; None for a workload that is not from logs."""
    if not workload.is_from_logs:
        return None
    return {
        job.job_id: JobReplay(recorded_s=found.recorded_s, replayed_s=_replayed_s(job, found))
        for job in workload.jobs
        if (found := workload.recorded.get(job.job_id)) is not None
    }


def _replayed_s(job: Job, found: RecordedJob) -> float | None:
    if found.recorded_s is None or not found.slots:
        return None
    alone = Workload(
        cluster=Cluster.of_slots(found.slots),
        jobs=(replace(job, submitted_at_s=0.0, deadline_at_s=None, driver_s=found.outside_s),),
    )
    chosen = (
        chosen_policy("tasks", "fifo"),
        chosen_policy("release", "input"),
        chosen_policy("admission", "all"),
    )
    _, result = simulated_run(alone, chosen, resolved_settings({}, (), chosen), seed=0)
    return result.makespan_s
