"""Which jobs a list shows, in which order, and where its next part begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import NamedTuple, Protocol

from sluice.bootstrap.service.readable import KnownJob, Readable
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.store.service.ended_jobs import (
    COUNTED_MAX,
    EndedJob,
    EndedJobs,
    Place,
    Wanted,
    order_of,
)

HELD = "held"
OPEN_STATES = ("waiting", HELD, "running")
STATES = (*OPEN_STATES, "done", "failed", "killed", "refused")
ORDERS = ("submitted", "eta", "ended")  # the newest first, the next to end first, the last to end
_BETWEEN = "!"  # key and id of a place in a list; no URL changes it


@dataclass(frozen=True, kw_only=True)
class JobFilter:
    """The facts that the jobs of a list have in common; every field is optional.

    label: "key" or "key=value".  since, until: of the submission, RFC 3339.
    kept: whether their promise was kept.  broken: only those whose promise was not kept.

    Raises InvalidInput.
    """

    states: Sequence[str] = ()
    queue: str | None = None
    name: str | None = None
    tenant: str | None = None
    user: str | None = None
    label: str | None = None
    since: str | None = None
    until: str | None = None
    profile: str | None = None
    kept: bool | None = None
    broken: bool = False

    def __post_init__(self) -> None:
        for state in self.states:
            if state not in STATES:
                raise InvalidInput(
                    f"unknown state {state!r:.40}", where="--state", hint=f"use {', '.join(STATES)}"
                )

    def stored(self) -> Wanted:
        """The query for jobs that are over."""
        equal = {
            "tenant": self.tenant, "user": self.user, "queue": self.queue, "name": self.name,
            "profile": self.profile, "kept": False if self.broken else self.kept,
        }  # fmt: skip
        key, _, value = (self.label or "").partition("=")
        return Wanted(
            equal={name: value for name, value in equal.items() if value is not None},
            states=tuple(self.states),
            label=None if self.label is None else (key, value),
            since_s=None if self.since is None else _seconds(self.since),
            until_s=None if self.until is None else _seconds(self.until),
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
            and self.profile in {None, str(submitted.job.profile)}
            and (self.label is None or (found is not None and value in {"", found}))
            and (self.since is None or workload.made_at_s >= _seconds(self.since))
            and (self.until is None or workload.made_at_s < _seconds(self.until))
        )


class JobFacts(Protocol):
    """The facts of a job that change by themselves.

    state_of: one of `STATES`.  key_of_end: when it ended or is expected to, RFC 3339, or
    `NO_INSTANT`.  is_kept: whether its promise was kept; None as long as that is open.
    """

    def state_of(self, job_id: JobId) -> str: ...

    def key_of_end(self, job_id: JobId) -> str: ...

    def is_kept(self, job_id: JobId) -> bool | None: ...


class ListPart(NamedTuple):
    """A part of a list. total: of the whole list; a lower bound unless it is exact."""

    jobs: Sequence[JobId]
    total: int
    total_is_exact: bool
    following: str | None


class JobLists:
    """The jobs of a replica in lists: those that are over from a table, the others as they are."""

    def __init__(self, replica: Readable, facts: JobFacts) -> None:
        self._replica = replica
        self._facts = facts
        self._ended = EndedJobs()
        self._open: dict[JobId, int] = {}
        self._seen = 0

    @property
    def ended(self) -> EndedJobs:
        """The jobs that are over by now."""
        self._look()
        return self._ended

    @property
    def unended(self) -> Iterable[JobId]:
        """The others, in the order of their submission."""
        self._look()
        return self._open

    def part(self, wanted: JobFilter, sort: str, after: str | None, limit: int) -> ListPart:
        """The next part of a list. Raises InvalidInput.

        after: the place of the last row that was shown, as the part before had it.
        """
        if sort not in ORDERS:
            raise InvalidInput(
                f"unknown order {sort!r:.40}", where="sort", hint=f"use {', '.join(ORDERS)}"
            )
        self._look()
        last = None if after is None else self._place(after)
        unended = self._unended(wanted, sort)
        following = [one for one in unended if last is None or _follows(one[0], last, sort)]
        stored = wanted.stored()
        over = self._ended.page(stored, sort, last, limit + 1)
        found = merge(following, over, key=order_of(sort))
        page = list(islice(found, limit + 1))
        ended = self._ended.count(stored, sort)
        return ListPart(
            jobs=[JobId(job_id) for _, job_id in page[:limit]],
            total=len(unended) + min(ended, COUNTED_MAX),
            total_is_exact=ended <= COUNTED_MAX,
            following=None if len(page) <= limit else _written(*page[limit - 1]),
        )

    def _unended(self, wanted: JobFilter, sort: str) -> list[tuple[Place, str]]:
        """The jobs of a list that are not over, in its order."""
        if sort == "ended" or wanted.broken or wanted.kept is not None:
            return []
        jobs, facts = self._replica.jobs, self._facts
        found = [
            (Place("" if sort == "submitted" else facts.key_of_end(job_id), number), str(job_id))
            for job_id, number in self._open.items()
            if wanted.passes(jobs[job_id])
            and (not wanted.states or facts.state_of(job_id) in wanted.states)
        ]
        return sorted(found, key=order_of(sort))

    def _place(self, after: str) -> Place:
        key, _, job_id = after.rpartition(_BETWEEN)
        number = self._open.get(JobId(job_id), self._ended.number(job_id))
        if number is None:
            raise InvalidInput(
                f"no list has the place {after!r:.60}", where="after", hint="begin without it"
            )
        return Place(key, number)

    def _look(self) -> None:
        """Note the jobs that were submitted since, and those that are over since."""
        submitted = self._replica.submitted
        self._open |= {
            job_id: number for number, job_id in enumerate(submitted[self._seen :], self._seen)
        }
        self._seen = len(submitted)
        over = [one for one in self._open if self._facts.state_of(one) not in OPEN_STATES]
        if over:
            self._ended.add(map(self._as_ended, over))
        for job_id in over:
            del self._open[job_id]

    def _as_ended(self, job_id: JobId) -> EndedJob:
        known = self._replica.jobs[job_id]
        job = known.submitted.job
        return EndedJob(
            number=self._open[job_id],
            job_id=job_id,
            tenant=known.workload.tenant,
            user=known.submitted.user or known.workload.tenant,
            queue=str(job.pool),
            name=known.submitted.name,
            profile=None if job.profile is None else str(job.profile),
            state=self._facts.state_of(job_id),
            made_at_s=known.workload.made_at_s,
            ended_at=self._facts.key_of_end(job_id),
            kept=self._facts.is_kept(job_id),
            labels=known.submitted.labels,
        )


def _follows(place: Place, last: Place, sort: str) -> bool:
    key = order_of(sort)
    return bool(key((place, "")) > key((last, "")))


def _written(place: Place, job_id: str) -> str:
    return f"{place.key}{_BETWEEN}{job_id}"


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
