"""Names out of logs, made fit to be ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sluice.model.ids import ID_LENGTH_MAX, JobId
from sluice.model.job import Job


def printable(text: str) -> str:
    r"""The name with blanks for what cannot be printed, not too long.

    >>> printable(" etl\n7 "), printable("")
    ('etl 7', 'job')
    """
    shown = "".join(one if one.isprintable() else " " for one in text[:ID_LENGTH_MAX]).strip()
    return shown or "job"


def uniquely_named(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield the same jobs; the second of a name is called `name#2`."""
    counts: dict[str, int] = {}
    names: set[str] = set()
    for job in jobs:
        name = str(job.job_id)
        while name in names:
            counts[job.job_id] = counts.get(job.job_id, 1) + 1
            name = f"{job.job_id[: ID_LENGTH_MAX - 8]}#{counts[job.job_id]}"
        names.add(name)
        yield job if name == job.job_id else replace(job, job_id=JobId(name))
