"""Adding runs: each whole, each once, and of two records of a run the more complete one.

A job has one id in all formats that describe it: a job in a MapReduce history file and in a Rumen
trace is one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from sluice.model.history import job_kind, sources_of
from sluice.store.profiles.rows import RunRecord
from sluice.store.profiles.tables import PHASES, RUNS

CHUNK_RUNS = 200  # of one transaction, so that other writers need not wait for a whole log

Key = tuple[str, str]  # kind of job, and id


class Known(NamedTuple):
    """A run that is in the store. amount: as `RunRecord.amount`."""

    number: int
    source: str
    digest: str
    amount: tuple[int, int]


class Added(NamedTuple):
    """How many runs were new, were more complete than the stored record, or were known."""

    new: int = 0
    replaced: int = 0
    known: int = 0

    def plus(self, other: Added) -> Added:
        """The sums of both."""
        return Added(*(one + more for one, more in zip(self, other, strict=True)))


def chunks(records: Iterable[RunRecord]) -> Iterator[list[RunRecord]]:
    """The records, in lists of CHUNK_RUNS, one list for each transaction."""
    left = iter(records)
    while chunk := list(islice(left, CHUNK_RUNS)):
        yield chunk


def write(connection: Connection, records: Iterable[RunRecord]) -> Added:
    """Add the runs in the caller's transaction, while no other process writes."""
    fullest, repeated = _fullest(records)
    known = _known(connection, fullest)
    gone = [known[key].number for key, record in fullest.items() if _replaces(record, known, key)]
    new = [record for key, record in fullest.items() if key not in known]
    better = [record for key, record in fullest.items() if _replaces(record, known, key)]
    drop(connection, gone)
    _insert(connection, new + better)
    left_alone = repeated + len(fullest) - len(new) - len(better)
    return Added(new=len(new), replaced=len(better), known=left_alone)


def drop(connection: Connection, numbers: Iterable[int]) -> None:
    """Remove runs with their phases."""
    wanted = iter(numbers)
    # A statement takes a limited number of values.
    while some := list(islice(wanted, CHUNK_RUNS)):
        connection.execute(delete(PHASES).where(PHASES.c.run.in_(some)))
        connection.execute(delete(RUNS).where(RUNS.c.id.in_(some)))


def _fullest(records: Iterable[RunRecord]) -> tuple[dict[Key, RunRecord], int]:
    """The most complete record of each run, the later of equals; and the number of others."""
    fullest: dict[Key, RunRecord] = {}
    repeated = 0
    for record in records:
        before = fullest.get(record.key)
        repeated += before is not None
        if before is None or before.amount <= record.amount:
            fullest[record.key] = record
    return fullest, repeated


def _replaces(record: RunRecord, known: dict[Key, Known], key: Key) -> bool:
    """Whether a record replaces the stored one: it differs, and is not less complete.

    Of two equally complete records of one format the later one stays, because a newer release may
    have read it. Of two formats the first stays: they would replace each other at every import.
    """
    before = known.get(key)
    if before is None or before.digest == record.run["digest"]:
        return False
    if before.source != record.run["source"]:
        return before.amount < record.amount
    return before.amount <= record.amount


def _known(connection: Connection, wanted: Iterable[Key]) -> dict[Key, Known]:
    by_kind: dict[str, list[str]] = {}
    for kind, run_id in wanted:
        by_kind.setdefault(kind, []).append(run_id)
    names = ("source", "run_id", "id", "digest", "tasks_told", "facts_told")
    columns = [RUNS.c[name] for name in names]
    found: dict[Key, Known] = {}
    for kind, run_ids in by_kind.items():
        is_wanted = RUNS.c.source.in_(sources_of(kind)) & RUNS.c.run_id.in_(run_ids)
        for row in connection.execute(select(*columns).where(is_wanted)):
            amount = (row.tasks_told, row.facts_told)
            one = Known(row.id, row.source, row.digest, amount)
            before = found.get((job_kind(row.source), row.run_id))
            # Stores of older releases may have a run twice.
            if before is None or before.amount < one.amount:
                found[job_kind(row.source), row.run_id] = one
    return found


def _insert(connection: Connection, records: list[RunRecord]) -> None:
    """Insert new rows, numbered after the last one; no other process numbers meanwhile."""
    if not records:
        return
    (last,) = connection.execute(select(func.max(RUNS.c.id))).one()
    numbered = list(zip(count((last or 0) + 1), records, strict=False))
    connection.execute(insert(RUNS), [{"id": number, **record.run} for number, record in numbered])
    phases = [{"run": number, **row} for number, record in numbered for row in record.phases]
    if phases:
        connection.execute(insert(PHASES), phases)
