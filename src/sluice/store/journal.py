"""The journal of a live run: what happened, durable before it counts.

Theory of operation. One SQLite file per run, rows only ever added. Row 0 is the run's header;
then come epochs (lives of the core), events, and notes. `append` writes a batch of events in one
transaction and returns once it is on the disk. `note` keeps a digest of what was decided on the
batch; it travels with the next write, for it is only there to catch a replay that decides
otherwise, and what a crash takes of it, the replay decides anew.

Rows are chained by checksums (see `rows`); one that was changed or lost is `StoreCorrupt`, and
nothing is repaired. SQLite sees to it that a write that was cut short never happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from sluice.core.codec import decision_line, encode
from sluice.core.commands import Command
from sluice.core.events import Event
from sluice.model.ids import JobId
from sluice.store.database import connected, told_clearly, transaction
from sluice.store.rows import (
    FILE_NAME,
    NOTHING_BEFORE,
    SCHEMA_VERSION,
    Entry,
    EntryKind,
    RunHeader,
    chained,
    head,
    opened,
    verified,
)
from sluice.store.run_lock import RunLock

FIRST_EPOCH = 1

Prepared = Mapping[JobId, Mapping[str, Any]]

_SCHEMA = """
CREATE TABLE rows (
    seq INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    checksum BLOB NOT NULL
);
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, checksum BLOB NOT NULL
)
"""


def decision_digest(commands: Iterable[Command]) -> str:
    """What `note` keeps of a list of commands, in hex."""
    return hashlib.blake2b(decision_line(commands).encode(), digest_size=16).hexdigest()


class Journal:
    """The one writer of a run's journal. Made by `create` or `reopened`; close it after use."""

    def __init__(self, folder: Path, lock: RunLock, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self.epoch = FIRST_EPOCH
        self._lock = lock
        self._connection = connection
        self._seq, self._checksum = -1, NOTHING_BEFORE
        self._noted: list[tuple[EntryKind, str]] = []

    @classmethod
    def create(cls, folder: Path, header: RunHeader, prepared: Prepared | None = None) -> Self:
        """Begin the journal of a new run, in its first epoch, in a folder that exists.

        prepared: for each job what a resumed run could not find out anew, as plain JSON values.
        """
        lock = RunLock(folder)
        try:
            _write_first_rows(folder, header, prepared or {})
        finally:
            lock.release()
        journal = cls.reopened(folder)
        journal.epoch = FIRST_EPOCH
        return journal

    @classmethod
    def reopened(cls, folder: Path) -> Self:
        """Take up the journal of a run that was left. `read` it before writing: that verifies it.

        Its `epoch` is that of the life to come; it counts once `begin_epoch` was called.
        Raises EngineUnavailable while another process drives the run.
        """
        lock = RunLock(folder)
        try:
            journal = cls(folder, lock, opened(folder / FILE_NAME))
        except BaseException:
            lock.release()
            raise
        try:
            journal._find_end()
        except BaseException:
            journal.close()
            raise
        return journal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file and the lock."""
        self._connection.close()
        self._lock.release()

    # --- writing ------------------------------------------------------------------------------

    def append(self, events: Sequence[Event]) -> None:
        """Add events in one transaction; they are durable when this returns.

        Raises StoreUnavailable, having added nothing, where the disk does not take them.
        """
        self._write([(EntryKind.EVENT, encode(event)) for event in events])

    def note(self, commands: Iterable[Command]) -> None:
        """Keep what was decided on the events appended last; durable with the next write."""
        self._noted.append((EntryKind.DECISION, decision_digest(commands)))

    def committed(self, job_id: JobId) -> None:
        """The job's output stands in its place."""
        self._write([(EntryKind.COMMITTED, job_id)])

    def aborted(self, job_id: JobId) -> None:
        """What the job had left is removed."""
        self._write([(EntryKind.ABORTED, job_id)])

    def begin_epoch(self) -> None:
        """A new life of the core begins, with the number `epoch`, above all earlier ones."""
        self._write([(EntryKind.EPOCH, "")])

    def finish(self) -> None:
        """The run is over."""
        self._write([(EntryKind.FINISHED, "")])

    def _find_end(self) -> None:
        with told_clearly(self.path):
            self._seq, self._checksum = head(self._connection)
            (last,) = self._connection.execute("SELECT max(epoch) FROM rows").fetchone()
        # Damage shows when the rows are read; until then any number will do.
        self.epoch = last + 1 if isinstance(last, int) else FIRST_EPOCH

    def _write(self, rows: list[tuple[EntryKind, str]]) -> None:
        before = self._seq, self._checksum
        try:
            with told_clearly(self.path), transaction(self._connection):
                self._insert(self._noted + rows)
        except BaseException:
            self._seq, self._checksum = before
            raise
        self._noted.clear()

    def _insert(self, rows: list[tuple[EntryKind, str]]) -> None:
        for kind, payload in rows:
            self._seq += 1
            self._checksum = _insert(
                self._connection, self._checksum, (self._seq, self.epoch, kind.value, payload)
            )
        last = self._seq, self._checksum
        self._connection.execute("UPDATE head SET seq = ?, checksum = ?", last)

    # --- reading ------------------------------------------------------------------------------

    def read(self) -> Iterator[Entry]:
        """All rows in order, each verified. Raises StoreCorrupt, with its seq, at a damaged one."""
        return verified(self._connection, self.path)


def _write_first_rows(folder: Path, header: RunHeader, prepared: Prepared) -> None:
    """A journal comes to stand there with all that a resumed run needs, or not at all."""
    draft, path = folder / f"{FILE_NAME}.new", folder / FILE_NAME
    with told_clearly(path):
        draft.unlink(missing_ok=True)
        with closing(connected(draft)) as connection, transaction(connection):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            first = [(EntryKind.RUN, header.line())]
            first += [(EntryKind.PREPARED, json.dumps(pair)) for pair in prepared.items()]
            checksum = NOTHING_BEFORE
            for seq, (kind, payload) in enumerate(first):
                row = (seq, FIRST_EPOCH, kind.value, payload)
                checksum = _insert(connection, checksum, row)
            connection.execute("INSERT INTO head VALUES (1, ?, ?)", (len(first) - 1, checksum))
        draft.rename(path)
        for place in (folder, folder.parent):
            _sync(place)


def _insert(connection: sqlite3.Connection, before: bytes, row: tuple[int, int, str, str]) -> bytes:
    """Add one row; returns its checksum."""
    seq, epoch, kind, payload = row
    checksum = chained(before, seq, epoch, kind.encode(), payload.encode())
    connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", (*row, checksum))
    return checksum


def _sync(folder: Path) -> None:
    """What was made or renamed in a folder survives a power cut only after this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
