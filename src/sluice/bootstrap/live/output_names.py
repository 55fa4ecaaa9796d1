"""Outputs that are named for their run: `output: out/{run_id}`.

Such an output is new in every run, so nothing has to be removed or replaced before the next one.
The id is that of `sluice runs`. A run that is resumed has its id already, and so its outputs.
"""

from __future__ import annotations

from dataclasses import replace

from sluice.model.job import Job
from sluice.model.workload import Workload

RUN_ID = "{run_id}"


def names_run(workload: Workload) -> bool:
    """Whether an output of the workload has the id of the run in its name."""
    return any(job.run is not None and RUN_ID in job.run.output for job in workload.jobs)


def with_run_id(workload: Workload, run_id: str) -> Workload:
    """The workload with the id of its run in the names of its outputs."""
    if not names_run(workload):
        return workload
    return replace(workload, jobs=tuple(_named(job, run_id) for job in workload.jobs))


def _named(job: Job, run_id: str) -> Job:
    if job.run is None:
        return job
    return replace(job, run=replace(job.run, output=job.run.output.replace(RUN_ID, run_id)))
