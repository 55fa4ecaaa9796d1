"""Adding runs: each whole, each once, and of two accounts of a run the one that tells more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from sluice.store.profiles.rows import RunRecord
from sluice.store.profiles.tables import PHASES, RUNS

CHUNK_RUNS = 200  # of one transaction, so that other writers need not wait for a whole log

Key = tuple[str, str]


class Known(NamedTuple):
    """A run that the store holds already."""

    number: int
    digest: str
    told: tuple[int, int]


class Added(NamedTuple):
    """How many runs were new, told more than the store knew, or were known already."""

    new: int = 0
    replaced: int = 0
    known: int = 0

    def plus(self, other: Added) -> Added:
        """Both together."""
        return Added(*(one + more for one, more in zip(self, other, strict=True)))


def chunks(records: Iterable[RunRecord]) -> Iterator[list[RunRecord]]:
    """The records, a transaction's worth at a time."""
    left = iter(records)
    while chunk := list(islice(left, CHUNK_RUNS)):
        yield chunk


def write(connection: Connection, records: Iterable[RunRecord]) -> Added:
    """Add the runs, in the transaction of the caller, while nobody else writes."""
    fullest, repeated = _fullest(records)
    known = _known(connection, fullest)
    gone = [known[key].number for key, record in fullest.items() if _outdoes(record, known, key)]
    new = [record for key, record in fullest.items() if key not in known]
    better = [record for key, record in fullest.items() if _outdoes(record, known, key)]
    drop(connection, gone)
    _insert(connection, new + better)
    left_alone = repeated + len(fullest) - len(new) - len(better)
    return Added(new=len(new), replaced=len(better), known=left_alone)


def drop(connection: Connection, numbers: Iterable[int]) -> None:
    """Remove runs with all that hangs on them."""
    wanted = iter(numbers)
    # A statement takes only so many values.
    while some := list(islice(wanted, CHUNK_RUNS)):
        connection.execute(delete(PHASES).where(PHASES.c.run.in_(some)))
        connection.execute(delete(RUNS).where(RUNS.c.id.in_(some)))


def _fullest(records: Iterable[RunRecord]) -> tuple[dict[Key, RunRecord], int]:
    """Of each run the account that tells most, the later of equals; and how many others."""
    fullest: dict[Key, RunRecord] = {}
    repeated = 0
    for record in records:
        before = fullest.get(record.key)
        repeated += before is not None
        if before is None or before.told <= record.told:
            fullest[record.key] = record
    return fullest, repeated


def _outdoes(record: RunRecord, known: dict[Key, Known], key: Key) -> bool:
    """Whether it takes the place of what is known: other content, and no less of it.

    Of two that tell as much the later one stays: it was read by the newer release.
    """
    before = known.get(key)
    if before is None or before.digest == record.run["digest"]:
        return False
    return before.told <= record.told


def _known(connection: Connection, wanted: Iterable[Key]) -> dict[Key, Known]:
    by_source: dict[str, list[str]] = {}
    for source, run_id in wanted:
        by_source.setdefault(source, []).append(run_id)
    columns = (RUNS.c.run_id, RUNS.c.id, RUNS.c.digest, RUNS.c.tasks_told, RUNS.c.facts_told)
    return {
        (source, row.run_id): Known(row.id, row.digest, (row.tasks_told, row.facts_told))
        for source, run_ids in by_source.items()
        for row in connection.execute(
            select(*columns).where(RUNS.c.source == source, RUNS.c.run_id.in_(run_ids))
        )
    }


def _insert(connection: Connection, records: list[RunRecord]) -> None:
    """New rows, numbered on from the last one: nobody else numbers meanwhile."""
    if not records:
        return
    (last,) = connection.execute(select(func.max(RUNS.c.id))).one()
    numbered = list(zip(count((last or 0) + 1), records, strict=False))
    connection.execute(insert(RUNS), [{"id": number, **record.run} for number, record in numbered])
    phases = [{"run": number, **row} for number, record in numbered for row in record.phases]
    if phases:
        connection.execute(insert(PHASES), phases)
