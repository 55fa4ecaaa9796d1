"""The jobs of a service that are over, in a table that finds the rows of a list by an index.

What ends does not change any more, so a list of a million jobs is a part of this table and the few
jobs that are still open. It is made again from the journal by every process that needs it: a
private database of SQLite without a name, which grows beyond its cache into a file that is gone
with the process.

Source: service spec, sections 3 (read model), 6 (lists) and 17 (a page of a million jobs).
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from sluice.store.database import store_errors, transaction

NO_INSTANT: Final = "~"  # sorts after all instants
COUNTED_MAX: Final = 10_000  # jobs of a list; to count more takes longer than to show them
_ORDERS: Final = {  # by what a list is sorted: the columns, and the comparison of what follows
    "submitted": ("number DESC", "number < :number"),
    "eta": ("ended_at, number DESC", "ended_at >= :key AND (ended_at > :key OR number < :number)"),
    "ended": (
        "ended_at DESC, number DESC",
        "ended_at <= :key AND (ended_at < :key OR number < :number)",
    ),
}
_SCHEMA: Final = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, job_id TEXT NOT NULL, tenant TEXT NOT NULL, user TEXT NOT NULL,
    queue TEXT NOT NULL, name TEXT NOT NULL, profile TEXT, state TEXT NOT NULL,
    made_at_s REAL NOT NULL, ended_at TEXT NOT NULL, kept INTEGER
) STRICT;
CREATE TABLE labels (
    key TEXT NOT NULL, value TEXT NOT NULL, number INTEGER NOT NULL, ended_at TEXT NOT NULL,
    PRIMARY KEY (key, value, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_end ON labels (key, value, ended_at, number DESC);
CREATE INDEX labels_of_job ON labels (number, key, value);
CREATE INDEX jobs_by_end ON jobs (ended_at, number DESC);
CREATE INDEX jobs_by_id ON jobs (job_id);
"""
_BLOCK: Final = 1024  # numbers; a million jobs are a thousand blocks, looked at in 0.1 ms
_ANY_VALUE: Final = "labels WHERE key = :label"
_ONE_VALUE: Final = "labels WHERE key = :label AND value = :value"
_CACHE_KIB: Final = 16 << 10
_FEW: Final = 5 * COUNTED_MAX  # of a million jobs; finding them takes 10 ms
_COLUMNS: Final = (
    "number", "job_id", "tenant", "user", "queue", "name", "profile", "state", "made_at_s",
    "ended_at", "kept",
)  # fmt: skip
_WHERE: Final = Path("temporary table of jobs")  # for messages
_FILTERED: Final = ("tenant", "user", "queue", "name", "profile", "state", "kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedJob:
    """A job that is over.

    number: its place in the order of submission.  user: who submitted it.
    made_at_s: when, seconds since 1970.  ended_at: RFC 3339 in UTC, or `NO_INSTANT`.
    kept: whether its promise was kept; None if there is nothing to compare.
    """

    number: int
    job_id: str
    tenant: str
    user: str
    queue: str
    name: str
    profile: str | None
    state: str
    made_at_s: float
    ended_at: str
    kept: bool | None
    labels: Mapping[str, str] = field(default_factory=dict)


class Place(NamedTuple):
    """Where a job is in a list: what it is sorted by, and its number."""

    key: str
    number: int


def order_of(sort: str) -> Callable[[tuple[Place, str]], Any]:
    """The key that sorts a list. Where the ends are equal, the newest comes first."""
    if sort == "ended":
        return lambda one: (_Falling(one[0].key), -one[0].number)
    return lambda one: (one[0].key, -one[0].number)


class _Falling(str):
    """Text that sorts from the last to the first."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The properties that the jobs of a list have in common.

    equal: the columns that have one value.  states: any of these; empty for any.
    label: (key, value), where "" is any value.
    since_s, until_s: of the submission, seconds since 1970.
    """

    equal: Mapping[str, str | bool] = field(default_factory=dict)
    states: Sequence[str] = ()
    label: tuple[str, str] | None = None
    since_s: float | None = None
    until_s: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether it asks for queues and states alone."""
        return self.equal.keys() <= {"queue", "state"} and not (self.label or self._has_span)

    @property
    def is_label_alone(self) -> bool:
        """Whether it asks for a label, and for nothing else."""
        return self.label is not None and not (self.equal or self.states or self._has_span)

    @property
    def _has_span(self) -> bool:
        return self.since_s is not None or self.until_s is not None

    def by_state(self) -> list[Wanted]:
        """The lists of which this one consists, each of one state: an index has them in order."""
        if not self.states:
            return [self]
        return [
            replace(self, equal={**self.equal, "state": state}, states=())
            for state in dict.fromkeys(self.states)
        ]

    def clauses(self) -> tuple[list[str], dict[str, Any]]:
        """Conditions of SQL, and the values of their parameters."""
        given: dict[str, Any] = dict(self.equal)
        found = [f"{column} = :{column}" for column in self.equal]
        if self.label is not None:
            given["label"], given["value"] = self.label
        for name, sign in (("since_s", ">="), ("until_s", "<")):
            if (limit := getattr(self, name)) is not None:
                given[name] = limit
                found.append(f"made_at_s {sign} :{name}")
        return found, given


@dataclass(slots=True)
class _Block:
    """Jobs of neighbouring numbers: from when to when they were submitted, and ended.

    A job without an end is after all others, and is not the last of those that have one.
    """

    made_s: tuple[float, float] = (math.inf, -math.inf)
    ended_at: tuple[str, str] = (NO_INSTANT, "")

    def add(self, job: EndedJob) -> None:
        """Widen it, so that it has this job."""
        self.made_s = min(self.made_s[0], job.made_at_s), max(self.made_s[1], job.made_at_s)
        last = "" if job.ended_at == NO_INSTANT else job.ended_at
        self.ended_at = min(self.ended_at[0], job.ended_at), max(self.ended_at[1], last)

    def may_have(self, wanted: Wanted) -> bool:
        """Whether a job of it may have been submitted in time."""
        return (wanted.since_s is None or self.made_s[1] >= wanted.since_s) and (
            wanted.until_s is None or self.made_s[0] < wanted.until_s
        )


class EndedJobs:
    """The table.

    counts: how many jobs there are, by queue and state.  kept: how many promises were kept (True)
    or broken (False).  Every method raises StoreUnavailable where the disk of temporary files is
    full.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kept: Counter[bool | None] = Counter()
        self._counted: Counter[tuple[str, str, bool]] = Counter()  # also by whether there is an end
        self._blocks: dict[int, _Block] = {}
        self._analysed_at = 1000
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._database.executescript(_SCHEMA)
        for column in _FILTERED:
            for name, order in (("", "number"), ("_and_end", "ended_at, number DESC")):
                index = f"CREATE INDEX jobs_by_{column}{name} ON jobs ({column}, {order})"
                self._database.execute(index)

    def add(self, jobs: Iterable[EndedJob]) -> None:
        """Note jobs that are over, each once."""
        jobs = tuple(jobs)
        insert = "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        with store_errors(_WHERE), transaction(self._database):
            for job in jobs:
                row = [getattr(job, column) for column in _COLUMNS]
                self._database.execute(insert, row)
                labels = [(*label, job.number, job.ended_at) for label in job.labels.items()]
                self._database.executemany("INSERT INTO labels VALUES (?, ?, ?, ?)", labels)
        for job in jobs:
            self._blocks.setdefault(job.number // _BLOCK, _Block()).add(job)
        self.counts.update((job.queue, job.state) for job in jobs)
        self._counted.update((job.queue, job.state, job.ended_at != NO_INSTANT) for job in jobs)
        self.kept.update(job.kept for job in jobs)
        if self.counts.total() >= self._analysed_at:
            # SQLite chooses an index by how often its values repeat.
            self._analysed_at = 4 * self.counts.total()
            with store_errors(_WHERE):
                self._database.execute("PRAGMA analysis_limit = 1000")
                self._database.execute("ANALYZE")

    def number(self, job_id: str) -> int | None:
        """The place of a job in the order of submission; None if it is not over."""
        with store_errors(_WHERE):
            found = self._database.execute(
                "SELECT number FROM jobs WHERE job_id = ?", (job_id,)
            ).fetchone()
        return None if found is None else int(found[0])

    def page(
        self, wanted: Wanted, sort: str, after: Place | None, limit: int
    ) -> list[tuple[Place, str]]:
        """The jobs that follow a place of a list, with their places; at most `limit`."""
        parts = [self._page(one, sort, after, limit) for one in wanted.by_state()]
        return list(islice(merge(*parts, key=order_of(sort)), limit))

    def _page(
        self, wanted: Wanted, sort: str, after: Place | None, limit: int
    ) -> list[tuple[Place, str]]:
        """A page of the jobs of one state, or of all jobs."""
        order, follows = _ORDERS[sort]
        clauses, given = self._clauses(wanted, sort)
        if after is not None:
            clauses.append(follows)
            given |= after._asdict()
        key = "''" if sort == "submitted" else "ended_at"
        what, rest = f"{key}, number, job_id", f"ORDER BY {order} LIMIT {limit}"
        if wanted.is_label_alone and (given["value"] or self._is_few(given)):
            # A job's own row is on a page of its own: only those of this part are read.
            labels = " AND ".join([_labels(given), *clauses])
            part = f"(SELECT number, ended_at FROM {labels} {rest})"  # noqa: S608  # constants
            joined = f"{part} CROSS JOIN jobs USING (number, ended_at)"
            found = self._found(f"SELECT {what} FROM {joined} {rest}", given)  # noqa: S608  # so too
        else:
            found = self._rows(what, clauses, given, rest)
        return [(Place(key, number), job_id) for key, number, job_id in found]

    def count(self, wanted: Wanted, sort: str) -> int:
        """How many jobs a list has, at most `COUNTED_MAX` and one."""
        found = sum(self._count(one, sort) for one in wanted.by_state())
        return min(found, COUNTED_MAX + 1)

    def _count(self, wanted: Wanted, sort: str) -> int:
        """The number of jobs of one state, or of all jobs."""
        if wanted.is_counted:
            return sum(
                count
                for (queue, state, has_end), count in self._counted.items()
                if wanted.equal.get("queue", queue) == queue
                and wanted.equal.get("state", state) == state
                and (has_end or sort != "ended")
            )
        clauses, given = self._clauses(wanted, sort)
        rest = f"LIMIT {COUNTED_MAX + 1}"
        if wanted.is_label_alone:
            labels = " AND ".join([_labels(given), *clauses])
            return len(self._found(f"SELECT 1 FROM {labels} {rest}", given))  # noqa: S608  # so too
        return len(self._rows("1", clauses, given, rest))

    def kept_by(self, column: str, wanted: Wanted) -> list[tuple[str, int, int, int]]:
        """For each value of a column: promises that were kept, and broken, and killed jobs."""
        clauses, given = self._clauses(wanted)
        what = f"{column}, sum(kept = 1), sum(kept = 0), sum(state = 'killed')"
        return [
            (str(value), kept or 0, broken or 0, killed)
            for value, kept, broken, killed in self._rows(
                what, clauses, given, f"GROUP BY {column}"
            )
        ]

    def values(self, column: str, wanted: Wanted) -> list[str]:
        """The values of a column, ascending."""
        clauses, given = self._clauses(wanted)
        found = self._rows(f"DISTINCT {column}", [*clauses, f"{column} IS NOT NULL"], given)
        return sorted(str(value) for (value,) in found)

    def _clauses(self, wanted: Wanted, sort: str = "") -> tuple[list[str], dict[str, Any]]:
        """Conditions of SQL, and the values of their parameters.

        Every index ends with the number or the end. Jobs of a span of submission are neighbours in
        both, so bounds of these are added: without them an index with the wanted order is read from
        its start. A clock that was set back makes the bounds wider, never wrong.
        """
        clauses, given = wanted.clauses()
        if sort == "ended":
            clauses.append(f"ended_at <> '{NO_INSTANT}'")
        if wanted.since_s is None and wanted.until_s is None:
            return clauses, given
        found = {at: one for at, one in self._blocks.items() if one.may_have(wanted)}
        given["first"] = min(found, default=0) * _BLOCK
        given["last"] = max(found, default=-1) * _BLOCK + _BLOCK - 1
        given["ended_min"] = min((one.ended_at[0] for one in found.values()), default=NO_INSTANT)
        given["ended_max"] = max((one.ended_at[1] for one in found.values()), default="")
        clauses += ["number BETWEEN :first AND :last", "ended_at >= :ended_min"]
        if sort == "ended":
            clauses.append("ended_at <= :ended_max")
        return clauses, given

    def _labelled(self, given: Mapping[str, Any]) -> tuple[str, str]:
        """The tables to read for a label, and a condition.

        The jobs with the label if these are few, else the labels of each job. Jobs with one value
        are in the order of their numbers, so that a page needs only the first of them.
        """
        labels = f"FROM {_labels(given)}"
        if not self._is_few(given):
            return "jobs", f"EXISTS (SELECT 1 {labels} AND labels.number = jobs.number)"
        if given["value"]:
            joined = "labels CROSS JOIN jobs USING (number, ended_at)"
            return joined, "key = :label AND value = :value"
        return "jobs", f"number IN (SELECT number {labels})"

    def _is_few(self, given: Mapping[str, Any]) -> bool:
        """Whether not many jobs have the label."""
        few = f"SELECT count(*) FROM (SELECT 1 FROM {_labels(given)} LIMIT {_FEW})"  # noqa: S608  # so too
        ((found,),) = self._found(few, given)
        return bool(found < _FEW)

    def _rows(
        self, what: str, clauses: Sequence[str], given: Mapping[str, Any], rest: str = ""
    ) -> list[Any]:
        source = "jobs"
        if "label" in given:
            source, having = self._labelled(given)
            clauses = [*clauses, having]
        where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
        # Names of columns and of orders are this module's own; values are parameters.
        statement = f"SELECT {what} FROM {source} {where}{rest}"  # noqa: S608  # see above
        return self._found(statement, given)

    def _found(self, statement: str, given: Mapping[str, Any]) -> list[Any]:
        with store_errors(_WHERE):
            return self._database.execute(statement, given).fetchall()


def _labels(given: Mapping[str, Any]) -> str:
    """The labels that are asked for."""
    return _ONE_VALUE if given["value"] else _ANY_VALUE
