"""What users submitted to a service: the SUBMITTED rows of its journal.

One row holds the jobs of one workload, with everything that a driver needs to run them after a
crash, and with the promise of each job, which is never changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from sluice.core.codec import as_plain, from_plain
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.store.rows import Entry, EntryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedJob:
    """One job. name: its id in the user's file.  prepared: as the journal of a run has it."""

    job: Job
    name: str
    prepared: Mapping[str, Any]
    promise: Mapping[str, Any]

    @property
    def job_id(self) -> JobId:
        return self.job.job_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedWorkload:
    """The jobs of one submission.

    key: that makes a repetition harmless; None for none.  digest: of what the user sent.
    made_at_s: wall clock, seconds since 1970.  at_s: the same instant on the clock of the segment.
    """

    tenant: str
    key: str | None
    digest: str
    made_at_s: float
    at_s: float
    jobs: tuple[SubmittedJob, ...]

    def line(self) -> str:
        """As JSON, for the journal."""
        plain = asdict(replace(self, jobs=()))
        plain["jobs"] = [
            {
                "job": as_plain(each.job),
                "name": each.name,
                "prepared": each.prepared,
                "promise": each.promise,
            }
            for each in self.jobs
        ]
        return json.dumps(plain)

    @classmethod
    def of(cls, line: str) -> Self:
        """From the text of its row."""
        plain = json.loads(line)
        jobs = tuple(
            SubmittedJob(
                job=from_plain(Job, each["job"]),
                name=each["name"],
                prepared=each["prepared"],
                promise=each["promise"],
            )
            for each in plain.pop("jobs")
        )
        return cls(jobs=jobs, **plain)


def submitted(entries: Iterable[Entry]) -> list[SubmittedWorkload]:
    """All submissions in the rows of a journal, in order."""
    return [
        SubmittedWorkload.of(entry.payload)
        for entry in entries
        if entry.kind is EntryKind.SUBMITTED
    ]


def content_digest(content: bytes, options: Mapping[str, object]) -> str:
    """What must be equal for two submissions with one key to be the same."""
    digest = hashlib.sha256(content)
    digest.update(json.dumps(options, sort_keys=True).encode())
    return digest.hexdigest()
