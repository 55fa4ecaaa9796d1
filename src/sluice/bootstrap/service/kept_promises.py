"""How many promises were kept, and how many jobs are in each state.

Rows of plain JSON values. Source: service spec, sections 5 (calibration) and 14 (figures).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sluice.bootstrap.service.job_lists import JobFilter
from sluice.bootstrap.service.readable import Readable
from sluice.bootstrap.service.views import Views
from sluice.estimate.proportions import wilson_interval
from sluice.estimate.uncertainty import LEVEL
from sluice.model.errors import InvalidInput

JUDGED_MIN = 20  # outcomes; fewer prove nothing
_GROUPS = ("profile", "queue", "tenant")
Row = dict[str, Any]


class KeptPromises:
    """Counts over all jobs of a replica."""

    def __init__(self, replica: Readable, views: Views) -> None:
        self._replica = replica
        self._views = views

    def promises(
        self,
        tenant: str | None,
        *,
        kept: bool | None = None,
        profile: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Row:
        """Promises with their outcome, the newest first. kept, profile: only these.

        after: the place of the last row before these, as `next` gives it.  Raises InvalidInput.
        """
        wanted = JobFilter(tenant=tenant, kept=kept, profile=profile)
        part = self._views.lists.part(wanted, "submitted", after, limit)
        known = [self._replica.jobs[job_id].submitted for job_id in part.jobs]
        now_s = self._replica.now_s
        rows = [
            {
                **one.promise,
                "job_id": one.job_id,  # also where no promise was made
                "name": one.name,
                "state": self._views.state_of(one.job_id),
                "outcome": self._views.explained_outcome(one.job_id, now_s),
            }
            for one in known
        ]
        return {
            "promises": rows,
            "total": part.total,
            "total_is_exact": part.total_is_exact,
            "next": part.following,
        }

    def calibration(self, by: str, tenant: str | None) -> Row:
        """The share of promises that were kept, against the level that each claimed.

        by: profile, queue or tenant. Jobs that their user killed are left out and counted.
        """
        if by not in _GROUPS:
            raise InvalidInput(
                f"unknown group {by!r:.40}", where="by", hint=f"use {', '.join(_GROUPS)}"
            )
        found = self._views.lists.ended.kept_by(by, JobFilter(tenant=tenant).stored())
        return {
            "by": by,
            "groups": [
                {"group": name, **_calibrated(kept, kept + broken), "killed": killed}
                for name, kept, broken, killed in found
                if kept or broken
            ],
        }

    def own_profiles(self, tenant: str) -> Row:
        """The profiles of the jobs of a tenant."""
        lists = self._views.lists
        known = [self._replica.jobs[job_id] for job_id in lists.unended]
        unended = {
            str(one.submitted.job.profile)
            for one in known
            if one.workload.tenant == tenant and one.submitted.job.profile is not None
        }
        ended = lists.ended.values("profile", JobFilter(tenant=tenant).stored())
        return {"profiles": sorted(unended.union(ended))}

    def counts(self) -> Row:
        """How many jobs are in each state, by queue; and how many promises were kept."""
        lists = self._views.lists
        jobs = Counter(lists.ended.counts)
        for job_id in lists.unended:
            queue = str(self._replica.jobs[job_id].submitted.job.pool)
            jobs[queue, self._views.state_of(job_id)] += 1
        kept = lists.ended.kept
        return {
            "counts": [
                {"queue": queue, "state": state, "jobs": number}
                for (queue, state), number in sorted(jobs.items())
            ],
            "promises": {"kept": kept[True], "broken": kept[False]},
        }


def _calibrated(kept: int, outcomes: int) -> Mapping[str, Any]:
    """The share with its interval of 95 %, and what it says of the level."""
    low, high = wilson_interval(kept, outcomes)
    verdict = "not judged yet"
    if outcomes >= JUDGED_MIN:
        verdict = "good" if low <= LEVEL <= high else "too wide" if low > LEVEL else "too narrow"
    return {
        "outcomes": outcomes,
        "kept": kept,
        "share": kept / outcomes,
        "low": low,
        "high": high,
        "level": LEVEL,
        "verdict": verdict,
    }
