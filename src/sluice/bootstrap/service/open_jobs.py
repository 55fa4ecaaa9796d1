"""The jobs of users in the opening of a segment: more of them than a driver needs.

A driver keeps of an open job what it needs to run it. A follower that starts from an opening also
answers what was promised, when the job came, and what its user has changed since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sluice.bootstrap.service.kept_answers import packed, unpacked
from sluice.bootstrap.service.readable import KnownJob
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload


@dataclass(slots=True)
class OpenRecord:
    """The facts of one job that only its followers ask for.

    promise: as JSON, compressed.  at_s: of its submission, on the clock of the segment.
    changes: as their rows have them.
    """

    promise: bytes
    at_s: float
    changes: list[str]

    @classmethod
    def of(cls, submitted: SubmittedJob, workload: SubmittedWorkload) -> OpenRecord:
        return cls(packed(submitted.promise), workload.at_s, [])

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> OpenRecord:
        """From what `plain` made; an opening of an older release has less."""
        at_s = plain.get("at_s", plain["submitted"]["job"]["submitted_at_s"])
        return cls(packed(plain.get("promise", {})), at_s, list(plain.get("changes", ())))

    def plain(self) -> dict[str, Any]:
        return {"promise": unpacked(self.promise), "at_s": self.at_s, "changes": self.changes}


def jobs_of(users: Mapping[str, Any]) -> Iterator[tuple[KnownJob, list[JobChange]]]:
    """The jobs of an opening with what was changed on each. users: as the intake saves it."""
    made = {job_id: (tenant, made_at_s) for job_id, tenant, _, made_at_s in users["costs"]}
    for plain in users["jobs"]:
        record = OpenRecord.of_plain(plain)
        submitted = SubmittedJob.of(plain["submitted"])
        tenant, made_at_s = made[submitted.job_id]
        workload = SubmittedWorkload(
            tenant=tenant, key=None, digest="", made_at_s=made_at_s, at_s=record.at_s, jobs=()
        )
        known = KnownJob(replace(submitted, promise=unpacked(record.promise)), workload)
        yield known, [JobChange.of(line) for line in record.changes]
