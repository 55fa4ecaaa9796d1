"""How many promises were kept, and how many jobs are in each state.

Rows of plain JSON values. Source: service spec, sections 5 (calibration) and 14 (figures).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sluice.bootstrap.service.replica import Readable
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
        limit: int = 100,
    ) -> Row:
        """Promises with their outcome, the newest first. kept, profile: only these."""
        found = [
            (job_id, known)
            for job_id, known in reversed(self._replica.jobs.items())
            if tenant in {None, known.workload.tenant}
            and (profile is None or str(known.submitted.job.profile) == profile)
            if kept is None or self._views.outcome(job_id)["kept"] is kept
        ]
        rows = [
            {
                **known.submitted.promise,
                "name": known.submitted.name,
                "outcome": self._views.explained_outcome(job_id),
            }
            for job_id, known in found[:limit]
        ]
        return {"promises": rows, "total": len(found)}

    def calibration(self, by: str, tenant: str | None) -> Row:
        """The share of promises that were kept, against the level that each claimed.

        by: profile, queue or tenant. Jobs that their user killed are left out and counted.
        """
        if by not in _GROUPS:
            raise InvalidInput(
                f"unknown group {by!r:.40}", where="by", hint=f"use {', '.join(_GROUPS)}"
            )
        groups: dict[str, list[bool]] = defaultdict(list)
        killed: dict[str, int] = defaultdict(int)
        for job_id, known in self._replica.jobs.items():
            if tenant not in {None, known.workload.tenant}:
                continue
            job = known.submitted.job
            name = {"profile": job.profile, "queue": job.pool, "tenant": known.workload.tenant}[by]
            kept = self._views.outcome(job_id)["kept"]
            if kept is not None:
                groups[str(name)].append(kept)
            killed[str(name)] += self._views.state_of(job_id) == "killed"
        return {
            "by": by,
            "groups": [
                {"group": name, **_calibrated(found), "killed": killed[name]}
                for name, found in sorted(groups.items())
            ],
        }

    def own_profiles(self, tenant: str) -> Row:
        """The profiles of the jobs of a tenant."""
        found = {
            str(known.submitted.job.profile)
            for known in self._replica.jobs.values()
            if known.workload.tenant == tenant and known.submitted.job.profile is not None
        }
        return {"profiles": sorted(found)}

    def counts(self) -> Row:
        """How many jobs are in each state, by queue; and how many promises were kept."""
        jobs: Counter[tuple[str, str]] = Counter()
        kept: Counter[bool | None] = Counter()
        for job_id, known in self._replica.jobs.items():
            jobs[str(known.submitted.job.pool), self._views.state_of(job_id)] += 1
            kept[self._views.outcome(job_id)["kept"]] += 1
        return {
            "counts": [
                {"queue": queue, "state": state, "jobs": number}
                for (queue, state), number in sorted(jobs.items())
            ],
            "promises": {"kept": kept[True], "broken": kept[False]},
        }


def _calibrated(kept: Sequence[bool]) -> Mapping[str, Any]:
    """The share with its interval of 95 %, and what it says of the level."""
    low, high = wilson_interval(sum(kept), len(kept))
    verdict = "not judged yet"
    if len(kept) >= JUDGED_MIN:
        verdict = "good" if low <= LEVEL <= high else "too wide" if low > LEVEL else "too narrow"
    return {
        "outcomes": len(kept),
        "kept": sum(kept),
        "share": sum(kept) / len(kept),
        "low": low,
        "high": high,
        "level": LEVEL,
        "verdict": verdict,
    }
