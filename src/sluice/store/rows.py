"""The rows of a journal: their kinds, the chain of their checksums, and how they are read.

The checksum of each row continues that of the row before. Two heads hold the last one: a table of
the database, in the transaction of the rows, and a file outside it (see `head`). So a reader finds
every row that was changed, lost, added or cut off, also when SQLite itself dropped it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sluice.core.events import Event
from sluice.core.record.codec import decode
from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.model.ids import JobId
from sluice.store.database import connected_to_read, store_errors
from sluice.store.head import Heads, after_damage, heads

SCHEMA_VERSION = 1
FILE_NAME = "journal.db"
NOTHING_BEFORE = b""  # what the first row's checksum continues

_SELECT = "SELECT seq, epoch, kind, payload, checksum FROM rows ORDER BY seq"

_SELECT_WITH_HEAD = (
    "SELECT seq, epoch, kind, payload, checksum, (SELECT seq FROM head),"
    " (SELECT checksum FROM head) FROM rows WHERE seq > ? ORDER BY seq"
)


class EntryKind(Enum):
    """The kind of a row."""

    RUN = "run"  # the header
    OPENING = "opening"  # what the events of the segments before had led to
    SUBMITTED = "submitted"  # jobs of a service, with their promise: acknowledged once durable
    CHANGED = "changed"  # a job of a service that its user holds or changes
    PREPARED = "prepared"  # how one job will be run, determined before anything ran
    LAID_OUT = "laid out"  # the same of a job that reads what other jobs of the run make
    EPOCH = "epoch"  # a new life of the core begins
    EVENT = "event"
    DECISION = "decision"  # digest of the commands since the last one
    COMMITTED = "committed"  # the output of a job is in its place
    ABORTED = "aborted"  # the files of a job that did not succeed are removed
    FINISHED = "finished"  # the run is over; always the last row


_RECORDS = (EntryKind.PREPARED, EntryKind.LAID_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """The workload and the scheduler of a run, written once at its start.

    source: the workload file's real path, or "-".  sha256: of its text, in hex.
    folder: start of relative paths in it; empty in runs of older releases.
    policies, settings: enough to build the same scheduler again.
    started_at: wall clock, ISO 8601; nothing is ever computed from it.
    forecasts: numbers of each job's forecast, as they were before anything ran.
    after: the segment of a service that this one goes on from, by its name; "" for none.
    changed: what the file of the service has otherwise than it had there, a line for each.
    """

    source: str
    sha256: str
    started_at: str
    policies: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    folder: str = ""
    forecasts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    after: str = ""
    changed: Sequence[str] = ()

    def line(self) -> str:
        """The header as JSON, as row 0 holds it."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("after", "changed"):
            if not values[name]:
                del values[name]
        return json.dumps(values, default=dict)


class Entry(NamedTuple):
    """One row, verified."""

    seq: int
    epoch: int
    kind: EntryKind
    payload: str

    def event(self) -> Event:
        """The event of an EVENT row. Raises StoreCorrupt if this release cannot read it."""
        try:
            return decode(self.payload)
        except InvalidInput as error:
            raise StoreCorrupt(f"row {self.seq} of the journal: {error}") from error

    def prepared(self) -> tuple[JobId, Mapping[str, Any]]:
        """The job of a PREPARED or LAID_OUT row, and its record, as the journal received it."""
        job_id, record = json.loads(self.payload)
        return job_id, record


def entries(folder: Path) -> Iterator[Entry]:
    """The rows of the journal in a folder, also while another process drives the run.

    Each row is verified. Raises StoreCorrupt, with its number, at the first damaged one.
    """
    path = folder / FILE_NAME
    with closing(opened(path)) as connection:
        yield from verified(connection, path)


def prepared_jobs(folder: Path) -> dict[JobId, Mapping[str, Any]]:
    """The records of all jobs of a journal; the rows after them are read only if a job needs it."""
    found: dict[JobId, Mapping[str, Any]] = {}
    for entry in entries(folder):
        if entry.kind in _RECORDS:
            job_id, record = entry.prepared()
            found[job_id] = record
        elif entry.kind is not EntryKind.RUN and not _awaits_input(found):
            break
    return found


def _awaits_input(records: Mapping[JobId, Mapping[str, Any]]) -> bool:
    """Whether one of the jobs was not laid out before the run."""
    return any(record.get("awaits_input") for record in records.values())


def header_and_end(folder: Path) -> tuple[RunHeader, EntryKind]:
    """The header and the kind of the last row, without reading the rows between them."""
    path = folder / FILE_NAME
    with closing(opened(path)) as connection, store_errors(path):
        first = connection.execute(f"{_SELECT} LIMIT 1").fetchone()
        if first is None:
            raise _damage(path, 0, "is missing")
        entry, _ = _entry(path, first, NOTHING_BEFORE)
        (last,) = connection.execute("SELECT kind FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    try:
        return RunHeader(**json.loads(entry.payload)), EntryKind(last.decode())
    except (AttributeError, TypeError, ValueError) as error:
        raise _damage(path, 0, f"cannot be read: {error}") from error


def opening_row(folder: Path) -> str | None:
    """The opening of a segment that goes on from another; None for any other journal."""
    first = list(islice(entries(folder), 2))
    is_there = len(first) > 1 and first[1].kind is EntryKind.OPENING
    return first[1].payload if is_there else None


def opened(path: Path) -> sqlite3.Connection:
    """A connection for reading an existing journal in the version that this release reads.

    Raises StoreCorrupt if rows are missing that were on the disk; the files stay as they are then.
    """
    if not path.exists():  # SQLite would make an empty one
        raise InvalidInput(
            "there is no journal", where=str(path), hint="run the workload again without --resume"
        )
    # Before the database: a driver that writes meanwhile moves the database ahead, never back.
    acknowledged = heads(path.parent)
    connection = connected_to_read(path)
    try:
        _check_version(connection, path, acknowledged)
        if acknowledged is not None:
            _check_head(connection, path, acknowledged)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path, acknowledged: Heads | None) -> None:
    with store_errors(path):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    if acknowledged is not None and acknowledged.synced.version != version:
        raise StoreCorrupt(
            f"{path}: its version is {version}, and {acknowledged.synced.version} in the journal's"
            f" head. {after_damage(path.parent)}"
        )
    raise InvalidInput(
        f"the journal has version {version}, this release reads {SCHEMA_VERSION}",
        where=str(path),
        hint="use the release that wrote it",
    )


def _check_head(connection: sqlite3.Connection, path: Path, acknowledged: Heads) -> None:
    """Compare the database with the head outside it: it may be ahead, and never behind what is on
    the disk.
    """
    with store_errors(path):
        seq: Any = head(connection)[0]  # of any type, if the file is damaged
        last = acknowledged.written
        if isinstance(seq, int) and seq < last.seq:
            last = acknowledged.synced
        row = connection.execute("SELECT checksum FROM rows WHERE seq = ?", (last.seq,)).fetchone()
    if isinstance(seq, int) and seq < last.seq:
        missing = last.seq - max(seq, -1)
        rows = "1 acknowledged row is" if missing == 1 else f"{missing} acknowledged rows are"
        raise StoreCorrupt(
            f"{path}: {rows} missing (the last one is row {last.seq}). The file or its"
            f" log {path.name}-wal is damaged. {after_damage(path.parent)}"
        )
    if row is None or row[0] != last.checksum:
        raise _damage(path, last.seq, "does not match the journal's head")


def head(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """Number and checksum of the last row, as the database holds them."""
    seq, checksum = connection.execute("SELECT seq, checksum FROM head").fetchone() or (-1, b"")
    return seq, checksum


def verified(
    connection: sqlite3.Connection, path: Path, after: tuple[int, bytes] = (-1, NOTHING_BEFORE)
) -> Iterator[Entry]:
    """All rows in order. Raises StoreCorrupt, with its number, at the first damaged row.

    after: number and checksum of the row before the first one to read.
    """
    seq, checksum = after
    last: tuple[object, object] = after if after[0] >= 0 else (None, None)
    with store_errors(path):
        # One statement sees one state of the file, also while its writer adds rows.
        for *row, last_seq, last_checksum in connection.execute(_SELECT_WITH_HEAD, (seq,)):
            seq += 1
            last = last_seq, last_checksum
            if row[0] != seq:
                raise _damage(path, seq, "is missing")
            entry, checksum = _entry(path, row, checksum)
            yield entry
    if last != (seq, checksum):
        raise _damage(path, seq + 1, "is missing, or the head is wrong")


class JournalReader:
    """Reads a journal further and further while its driver writes it. Close it after use."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._connection = opened(self._path)
        self._last: tuple[int, bytes] = (-1, NOTHING_BEFORE)
        self._version: int | None = None  # of the file when it was read last

    @property
    def seq(self) -> int:
        """The number of the last row that was read; -1 before the first."""
        return self._last[0]

    def new(self) -> Iterator[Entry]:
        """The rows since the last one that was read. Raises StoreCorrupt at a damaged one.

        One by one: those of a million attempts would fill the memory.
        """
        with store_errors(self._path):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        checksum = self._last[1]
        for entry in verified(self._connection, self._path, self._last):
            row = entry.kind.value.encode(), entry.payload.encode()
            checksum = chained(checksum, entry.seq, entry.epoch, *row)
            self._last = entry.seq, checksum
            yield entry
        self._version = version

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _entry(path: Path, row: Sequence[Any], before: bytes) -> tuple[Entry, bytes]:
    seq, epoch, kind, payload, checksum = row
    try:
        if checksum == chained(before, seq, epoch, kind, payload):
            return Entry(seq, epoch, EntryKind(kind.decode()), payload.decode()), checksum
    except (AttributeError, TypeError, ValueError) as error:
        raise _damage(path, seq, f"cannot be read: {error}") from error
    raise _damage(path, seq, "does not match its checksum")


def chained(before: bytes, seq: int, epoch: int, kind: bytes, payload: bytes) -> bytes:
    """The checksum of a row, given that of the row before."""
    digest = hashlib.blake2b(before, digest_size=16)
    digest.update(b"%d %d %b " % (seq, epoch, kind))
    digest.update(payload)
    return digest.digest()


def _damage(path: Path, seq: int, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"{path}: row {seq} {what}. The journal was changed or damaged after it was written."
        f" {after_damage(path.parent)}"
    )
