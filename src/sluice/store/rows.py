"""The rows of a journal: what one tells, how each is chained to the one before, how they are read.

Every row's checksum continues that of the row before, and the head keeps the last one, so that a
changed, missing, added or cut-off row is found by whoever reads.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from sluice.core.codec import decode
from sluice.core.events import Event
from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.model.ids import JobId
from sluice.store.database import connected, told_clearly

SCHEMA_VERSION = 1
FILE_NAME = "journal.db"
NOTHING_BEFORE = b""  # what the first row's checksum continues

_SELECT = "SELECT seq, epoch, kind, payload, checksum FROM rows ORDER BY seq"

_SELECT_WITH_HEAD = (
    "SELECT seq, epoch, kind, payload, checksum, (SELECT seq FROM head),"
    " (SELECT checksum FROM head) FROM rows ORDER BY seq"
)


class EntryKind(Enum):
    """What a row tells."""

    RUN = "run"  # the header
    PREPARED = "prepared"  # how one job will be run, found out before anything ran
    EPOCH = "epoch"  # a new life of the core begins
    EVENT = "event"
    DECISION = "decision"  # digest of the commands since the last one
    COMMITTED = "committed"  # a job's output stands where the user wants it
    ABORTED = "aborted"  # what a job that did not succeed had left is removed
    FINISHED = "finished"  # the run is over; always the last row


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What a run is about, told once at its start.

    source: the workload file's real path, or "-".  sha256: of its text, in hex.
    folder: where relative paths in it start; empty in runs of older releases.
    policies, settings: what makes the same scheduler again.
    started_at: wall clock, ISO 8601; nothing is ever computed from it.
    """

    source: str
    sha256: str
    started_at: str
    policies: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    folder: str = ""

    def line(self) -> str:
        """The header as JSON, as row 0 holds it."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps(told, default=dict)


class Entry(NamedTuple):
    """One row, verified."""

    seq: int
    epoch: int
    kind: EntryKind
    payload: str

    def event(self) -> Event:
        """The event of an EVENT row. Raises StoreCorrupt where this release cannot read it."""
        try:
            return decode(self.payload)
        except InvalidInput as error:
            raise StoreCorrupt(f"row {self.seq} of the journal: {error}") from error

    def prepared(self) -> tuple[JobId, Mapping[str, Any]]:
        """The job of a PREPARED row, and the record of it, as `create` was given it."""
        job_id, record = json.loads(self.payload)
        return job_id, record


def entries(folder: Path) -> Iterator[Entry]:
    """The rows of any run's journal, also while another process drives it; as `Journal.read`."""
    path = folder / FILE_NAME
    with closing(opened(path)) as connection:
        yield from verified(connection, path)


def header_and_end(folder: Path) -> tuple[RunHeader, EntryKind]:
    """What a run is about, and the kind of its last row, without reading what lies between."""
    path = folder / FILE_NAME
    with closing(opened(path)) as connection, told_clearly(path):
        first = connection.execute(f"{_SELECT} LIMIT 1").fetchone()
        if first is None:
            raise _damage(path, 0, "is missing")
        entry, _ = _entry(path, first, NOTHING_BEFORE)
        (last,) = connection.execute("SELECT kind FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    try:
        return RunHeader(**json.loads(entry.payload)), EntryKind(last.decode())
    except (AttributeError, TypeError, ValueError) as error:
        raise _damage(path, 0, f"cannot be read: {error}") from error


def opened(path: Path) -> sqlite3.Connection:
    """A connection to a journal that exists, in the version that this release reads."""
    if not path.exists():  # SQLite would make an empty one
        raise InvalidInput("there is no journal", where=str(path), hint="start the run anew")
    connection = connected(path)
    try:
        _check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    with told_clearly(path):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise InvalidInput(
            f"the journal has version {version}, this release reads {SCHEMA_VERSION}",
            where=str(path),
            hint="use the release that wrote it",
        )


def head(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """Number and checksum of the last row."""
    seq, checksum = connection.execute("SELECT seq, checksum FROM head").fetchone() or (-1, b"")
    return seq, checksum


def verified(connection: sqlite3.Connection, path: Path) -> Iterator[Entry]:
    """All rows in order. Raises StoreCorrupt, naming the row, at the first that is not right."""
    seq, checksum = -1, NOTHING_BEFORE
    last: tuple[object, object] = (None, None)
    with told_clearly(path):
        # One statement sees one state of the file, whatever its writer adds meanwhile.
        for *row, last_seq, last_checksum in connection.execute(_SELECT_WITH_HEAD):
            seq += 1
            last = last_seq, last_checksum
            if row[0] != seq:
                raise _damage(path, seq, "is missing")
            entry, checksum = _entry(path, row, checksum)
            yield entry
    if last != (seq, checksum):
        raise _damage(path, seq + 1, "is missing, or the head is wrong")


def _entry(path: Path, row: Sequence[Any], before: bytes) -> tuple[Entry, bytes]:
    seq, epoch, kind, payload, checksum = row
    try:
        if checksum == chained(before, seq, epoch, kind, payload):
            return Entry(seq, epoch, EntryKind(kind.decode()), payload.decode()), checksum
    except (AttributeError, TypeError, ValueError) as error:
        raise _damage(path, seq, f"cannot be read: {error}") from error
    raise _damage(path, seq, "does not fit its checksum")


def chained(before: bytes, seq: int, epoch: int, kind: bytes, payload: bytes) -> bytes:
    """The checksum of a row, given that of the row before."""
    digest = hashlib.blake2b(before, digest_size=16)
    digest.update(b"%d %d %b " % (seq, epoch, kind))
    digest.update(payload)
    return digest.digest()


def _damage(path: Path, seq: int, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"{path}: row {seq} {what}. The journal was changed or damaged after it was written;"
        " keep it as evidence, and start the run anew."
    )
