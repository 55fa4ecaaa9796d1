"""Which jobs a list shows, in which order, and where its next part begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sluice.bootstrap.service.replica import KnownJob
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId

HELD = "held"
OPEN_STATES = ("waiting", HELD, "running")
STATES = (*OPEN_STATES, "done", "failed", "killed", "refused")
ORDERS = ("submitted", "eta", "ended")  # the newest first, the next to end first, the last to end
_BETWEEN = "!"  # key and id of a place in a list; no URL changes it


@dataclass(frozen=True, kw_only=True)
class JobFilter:
    """What the jobs of a list have in common; every field is optional.

    label: "key" or "key=value".  since, until: of the submission, RFC 3339.
    broken: only those whose promise was not kept.  Raises InvalidInput.
    """

    states: Sequence[str] = ()
    queue: str | None = None
    name: str | None = None
    tenant: str | None = None
    user: str | None = None
    label: str | None = None
    since: str | None = None
    until: str | None = None
    broken: bool = False

    def __post_init__(self) -> None:
        for state in self.states:
            if state not in STATES:
                raise InvalidInput(
                    f"unknown state {state!r:.40}", where="--state", hint=f"use {', '.join(STATES)}"
                )

    def passes(self, known: KnownJob) -> bool:
        """Whether what was submitted is like this; what changes by itself is not looked at."""
        submitted, workload = known.submitted, known.workload
        key, _, value = (self.label or "").partition("=")
        found = submitted.labels.get(key)
        return (
            self.tenant in {None, workload.tenant}
            and self.user in {None, submitted.user or workload.tenant}
            and self.queue in {None, str(submitted.job.pool)}
            and self.name in {None, submitted.name}
            and (self.label is None or (found is not None and value in {"", found}))
            and (self.since is None or workload.made_at_s >= _seconds(self.since))
            and (self.until is None or workload.made_at_s < _seconds(self.until))
        )


def part_of(
    jobs: Sequence[JobId], key_of: Callable[[JobId], str], sort: str, after: str | None, limit: int
) -> tuple[list[JobId], str | None]:
    """The next part of a list, and the place of its last row if there are more.

    jobs: in the order of their submission, which is that of their ids.
    key_of: what a job is sorted by; where it is equal, the newest comes first.
    after: the place of the last row that was shown, as the answer before had it.
    """
    is_falling = sort == "ended"
    newest_first = jobs[::-1]
    ordered = sorted(newest_first, key=key_of, reverse=is_falling)
    if after is not None:
        last_key, _, last = after.rpartition(_BETWEEN)
        ordered = [
            job_id
            for job_id in ordered
            if ((key := key_of(job_id)) == last_key and job_id < last)
            or (key < last_key if is_falling else key > last_key)
        ]  # fmt: skip
    page = ordered[:limit]
    if len(ordered) <= limit:
        return page, None
    return page, f"{key_of(page[-1])}{_BETWEEN}{page[-1]}"


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
