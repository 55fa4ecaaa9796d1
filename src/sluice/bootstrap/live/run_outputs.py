"""The rules for the outputs of a run, checked before any of its tasks runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sluice.engines.data_plane.stores import is_url
from sluice.engines.mapreduce.commit import Staging
from sluice.engines.mapreduce.layout import PreparedJob, output_of
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, RunSpec
from sluice.model.workload import Workload
from sluice.store.leftovers import living_writer
from sluice.store.runs import Runs


def check_runnable(workload: Workload) -> None:
    """Refuse a workload of which a job says not what to run, or without jobs."""
    for job in workload.jobs:
        if job.run is None:
            raise InvalidInput(
                "run is missing",
                where=f"job {job.job_id!r}",
                hint="say what runs (input, output, mapper), or use `simulate`",
            )
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job with `run`")


def check_outputs(jobs: Iterable[Job]) -> None:
    """Refuse two jobs with one output, or with one output inside the other's.

    Which of the two is there first would decide which of them fails, after all its work.
    """
    outputs: dict[str, Job] = {}
    for job in jobs:
        if job.run is None:
            continue
        output = _place_of(job.run)
        if output in outputs:
            raise InvalidInput(
                f"output {job.run.output!r} is also the output of job {outputs[output].job_id!r}",
                where=f"job {job.job_id!r}",
                hint="give every job its own output",
            )
        outputs[output] = job
    for output, job in outputs.items():
        owner = _above(output, outputs)
        if owner is not None:
            raise InvalidInput(
                f"output {job.run.output!r} is inside the output of job {owner!r}",  # type: ignore[union-attr]  # it has one
                where=f"job {job.job_id!r}",
                hint="give every job an output next to the others",
            )


def check_no_other_run(runs: Runs, prepared: Iterable[PreparedJob]) -> None:
    """Refuse an output that a run which lives will make: the second to end would do so in vain."""
    for each in prepared:
        if not isinstance(each.staging, Staging):
            continue
        writer = living_writer(runs, each.staging.output)
        if writer is not None:
            run_id, process = writer
            raise InvalidInput(
                f"output {str(each.staging.output)!r} is that of {run_id}, which runs"
                f" (process {process})",
                where=f"job {each.job.job_id!r}",
                hint="wait until it has ended, or give another output",
            )


def _above(output: str, outputs: dict[str, Job]) -> JobId | None:
    """The job whose output a place is inside of, if any."""
    parts = output.split("/")
    for end in range(len(parts) - 1, 0, -1):
        owner = outputs.get("/".join(parts[:end]))
        if owner is not None:
            return owner.job_id
    return None


def _place_of(run: RunSpec) -> str:
    output = output_of(run)
    return output.rstrip("/") if is_url(output) else str(Path(output).resolve())
