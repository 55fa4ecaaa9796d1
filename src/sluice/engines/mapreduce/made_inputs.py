"""Inputs of a job that other jobs of the same run make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sluice.engines.data_plane.stores import is_url
from sluice.engines.mapreduce.layout import output_of
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job


def made_inputs(jobs: Sequence[Job]) -> dict[JobId, dict[str, JobId]]:
    """For each job, the input patterns at or in the output of another job, and which job that is.

    Raises InvalidInput for the output of a job that may not be done when this one comes.
    """
    outputs = {output_of(job.run).rstrip("/"): job for job in jobs if job.run is not None}
    by_id = {job.job_id: job for job in jobs}
    found: dict[JobId, dict[str, JobId]] = {}
    for job in jobs:
        for pattern, place in _places(job):
            maker = _maker(place, outputs)
            if maker is None or maker is job:
                continue
            if maker.job_id not in _before(job, by_id):
                raise InvalidInput(
                    f"input {pattern!r} is the output of job {maker.job_id!r}, which may not be"
                    " done by then",
                    where=f"job {job.job_id!r}",
                    hint=f"add `after: [{maker.job_id}]`",
                )
            found.setdefault(job.job_id, {})[pattern] = maker.job_id
    return found


def _places(job: Job) -> Iterator[tuple[str, str]]:
    """The input patterns of a job, each also as an absolute path or as a URL."""
    if job.run is None:
        return
    for given in job.run.input:
        pattern = given.removeprefix("file://")
        yield given, pattern if is_url(pattern) else str(Path(job.run.folder, pattern).absolute())


def _maker(place: str, outputs: Mapping[str, Job]) -> Job | None:
    """The job whose output is there, or holds it."""
    parts = place.rstrip("/").split("/")
    for end in range(len(parts), 0, -1):
        maker = outputs.get("/".join(parts[:end]))
        if maker is not None:
            return maker
    return None


def _before(job: Job, by_id: Mapping[JobId, Job]) -> set[JobId]:
    """All jobs that are done before a job comes."""
    found: set[JobId] = set()
    left = [*job.after]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += by_id[name].after
    return found
