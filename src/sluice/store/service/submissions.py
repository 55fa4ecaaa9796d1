"""Submissions of users and their changes: the SUBMITTED and CHANGED rows of a service's journal.

A SUBMITTED row holds the jobs of one workload, with everything that a driver needs to run them
after a crash, and with the promise of each job, which is never changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from sluice.core.record.codec import as_plain, from_plain
from sluice.model.ids import JobId
from sluice.model.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedJob:
    """One job. name: its id in the user's file.  prepared: as the journal of a run has it.

    user: who submitted it.  labels: whatever the user notes on it.
    held_by: the user for whom it waits; "" if it does not.  version: how often it was changed.
    """

    job: Job
    name: str
    prepared: Mapping[str, Any]
    promise: Mapping[str, Any]
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    held_by: str = ""
    version: int = 0

    @property
    def job_id(self) -> JobId:
        return self.job.job_id

    def plain(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "job": as_plain(self.job)
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """From its plain values."""
        return cls(**{**plain, "job": from_plain(Job, plain["job"])})


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
        """The JSON line for the journal."""
        plain = asdict(replace(self, jobs=()))
        plain["jobs"] = [job.plain() for job in self.jobs]
        return json.dumps(plain)

    @classmethod
    def of(cls, line: str) -> Self:
        """From the text of its row."""
        plain = json.loads(line)
        jobs = tuple(map(SubmittedJob.of, plain.pop("jobs")))
        return cls(jobs=jobs, **plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A change that a user made on a job that had started nothing.

    job: with its new values; what its tasks do is as it was.  at_s: on the clock of the segment.
    what: the changes as one phrase for the story of the job.
    """

    job: Job
    labels: Mapping[str, str]
    held_by: str
    by: str
    what: str
    at_s: float

    def line(self) -> str:
        """The JSON line for the journal."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps(plain | {"job": as_plain(self.job)})

    @classmethod
    def of(cls, line: str) -> Self:
        """From the text of its row."""
        plain = json.loads(line)
        return cls(**(plain | {"job": from_plain(Job, plain["job"])}))

    def applied_to(self, known: SubmittedJob) -> SubmittedJob:
        """The job as it is afterwards."""
        deadline = (self.job.deadline_at_s, self.job.shares_deadline_of)
        return replace(
            known,
            job=self.job,
            prepared={**known.prepared, "deadline": deadline},
            labels=self.labels,
            held_by=self.held_by,
            version=known.version + 1,
        )


def content_digest(content: bytes, options: Mapping[str, object]) -> str:
    """Return what must be equal for two submissions with one key to be the same."""
    digest = hashlib.sha256(content)
    digest.update(json.dumps(options, sort_keys=True).encode())
    return digest.hexdigest()
