"""The jobs of a workload made ready to run for real: inputs, commands and outputs are checked."""

from __future__ import annotations

import secrets

from sluice.bootstrap.live.run_outputs import check_outputs, check_runnable
from sluice.engines.mapreduce.layout import PreparedJob, prepare
from sluice.engines.mapreduce.made_inputs import made_inputs
from sluice.model.ids import JobId
from sluice.model.workload import Workload


def prepared_jobs_of(workload: Workload, *, overwrite: bool) -> list[PreparedJob]:
    """The jobs, in the order of the workload. Writes nothing.

    overwrite: whether outputs at URLs are replaced; those on a disk have stepped aside by now.
    Raises InvalidInput if one of them cannot run.
    """
    # Runs of one file may overlap, so each has staging folders of its own.
    token = secrets.token_hex(4)
    check_runnable(workload)
    makers = made_inputs(workload.jobs)
    prepared: dict[JobId, PreparedJob] = {}
    for job in workload.jobs:
        made = {
            pattern: _part_files(prepared.get(maker))
            for pattern, maker in makers.get(job.job_id, {}).items()
        }
        prepared[job.job_id] = prepare(job, run_id=token, replaces=overwrite, made=made)
    check_outputs(workload.jobs)  # once each is known to be one that can be made
    return list(prepared.values())


def _part_files(maker: PreparedJob | None) -> int:
    """So many part files a job is expected to make; at least 1 where it is not known yet."""
    return 1 if maker is None else maker.job.phases[-1].tasks
