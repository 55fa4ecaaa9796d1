"""The most that a tenant may have at a time, checked in the order in which the driver takes jobs.

Source: service spec, section 11, "quotas".
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice.bootstrap.service.readable import Readable
from sluice.bootstrap.service.received import Received
from sluice.core.entries import JobEntry
from sluice.model.errors import InvalidInput
from sluice.store.service.submissions import SubmittedJob

DAY_S = 86400.0
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """The use that a job makes of its tenant's quotas. usd: expected at its submission."""

    is_open: bool
    waiting_tasks: int
    usd: float
    made_at_s: float


class SpentDay:
    """The expected cost of the forgotten jobs of the last day, by tenant and minute.

    It does not grow with the jobs. A job counts for up to a minute longer than a day.
    """

    def __init__(self, saved: Iterable[tuple[str, int, float]] = ()) -> None:
        self._usd = {(tenant, minute): usd for tenant, minute, usd in saved}

    def plain(self) -> list[tuple[str, int, float]]:
        """All of it, to be saved as JSON."""
        return [(*of, usd) for of, usd in self._usd.items()]

    def add(self, tenant: str, usd: float, made_at_s: float) -> None:
        """A job of this cost is forgotten. made_at_s: when it came, seconds since 1970."""
        minute = int(made_at_s // _MINUTE_S)
        if usd:
            self._usd[tenant, minute] = self._usd.get((tenant, minute), 0.0) + usd

    def forget(self, now_s: float) -> None:
        """Drop what is older than a day."""
        day_ago_s = now_s - DAY_S
        self._usd = {of: usd for of, usd in self._usd.items() if _end_s(of[1]) > day_ago_s}

    def uses_of(self, tenant: str) -> list[QuotaUse]:
        """Return the costs of a tenant."""
        return [
            QuotaUse(is_open=False, waiting_tasks=0, usd=usd, made_at_s=_end_s(minute))
            for (owner, minute), usd in self._usd.items()
            if owner == tenant
        ]


def _end_s(minute: int) -> float:
    return (minute + 1) * _MINUTE_S


def use_of(
    entry: JobEntry | None, submitted: SubmittedJob | None, usd: float, made_at_s: float
) -> QuotaUse:
    """The use of a job of the driver. entry: None for one that has not come.

    submitted: None for one that is over and forgotten.
    """
    if submitted is None:
        return QuotaUse(is_open=False, waiting_tasks=0, usd=usd, made_at_s=made_at_s)
    waiting = submitted.job.tasks
    if entry is not None:
        started = sum(phase.running + phase.done for phase in entry.phases)
        waiting = 0 if entry.has_ended else max(0, waiting - started)
    is_open = entry is None or not entry.has_ended
    return QuotaUse(is_open=is_open, waiting_tasks=waiting, usd=usd, made_at_s=made_at_s)


def expected_usd(promise: Mapping[str, Any]) -> float:
    """Return what a promise expects a job to cost; 0 where that is not known."""
    cost = promise.get("cost_usd") or {}
    return float(cost.get("expected") or 0.0)


def used_of(uses: Iterable[QuotaUse]) -> dict[str, float]:
    """Return what is used of each quota."""
    uses, day_ago_s = tuple(uses), time.time() - DAY_S
    return {
        "open_jobs_max": sum(one.is_open for one in uses),
        "waiting_tasks_max": sum(one.waiting_tasks for one in uses if one.is_open),
        "spend_day_usd_max": sum(one.usd for one in uses if one.made_at_s > day_ago_s),
    }


def used_by(tenant: str, replica: Readable) -> dict[str, float]:
    """Return what a tenant uses of each quota now."""
    return used_of(
        use_of(
            replica.state.jobs.get(job_id),
            known.submitted,
            expected_usd(known.submitted.promise),
            known.workload.made_at_s,
        )
        for job_id, known in replica.jobs.items()
        if known.workload.tenant == tenant
    )


def check_quota(
    received: Received, promises: Sequence[Mapping[str, Any]], uses: Iterable[QuotaUse]
) -> None:
    """Raise InvalidInput, with the quota as its place, where these jobs would be too many."""
    used = used_of(uses)
    more = {
        "open_jobs_max": len(received.prepared),
        "waiting_tasks_max": sum(job.tasks for job in received.jobs),
        "spend_day_usd_max": sum(map(expected_usd, promises)),
    }
    for name, most in received.quota.items():
        if used[name] + more[name] > most:
            what, unit = _SAID[name]
            raise InvalidInput(
                f"the tenant {received.tenant} may have {most:g} {what}, and has"
                f" {used[name]:g}; these would be {more[name]:g} more{unit}",
                where=name,
                hint="wait until some have ended, or ask an admin for more",
            )


_SAID = {
    "open_jobs_max": ("open jobs", ""),
    "waiting_tasks_max": ("waiting tasks", ""),
    "spend_day_usd_max": ("US dollars a day", ", as expected"),
}
