"""The journal of a live run: the events of the run, durable before they count.

Theory of operation. One SQLite file for each run, whose rows are only ever added. Row 0 is the
header of the run; epochs (lives of the core), events and notes follow. `append` writes a batch of
events in one transaction and returns once it is on the disk. `add` writes a batch without waiting
for the disk: it survives the end of the process at once, and a power cut after the next `sync` or
`append`. `note` keeps a digest of the decisions
on the batch. The digest only serves to detect a replay that decides otherwise, so it is written
with the next batch; the replay makes the decisions again if a crash takes it.

Three things keep acknowledged rows, or report their loss:

* Rows are chained by checksums (see `rows`). A changed or lost row is `StoreCorrupt`, and nothing
  is repaired. SQLite undoes a write that was cut short.
* The position of the last row is kept outside SQLite (see `head`), because SQLite drops the end of
  a damaged write-ahead log without an error. It is written after each commit and before `append`
  returns. A database behind it has lost rows; one ahead of it has rows of a crash in between.
* The log is copied into the database at the first sync after about 1 MiB, and again at a clean
  close, so that damage in the log concerns recent rows only. SQLite would copy it amid a turn,
  several times a second in a run of short tasks, and wait for the disk twice each time.

Reading never changes a file that has a log, so damaged files stay as they were found. The
connection that writes is opened at the first write, when the journal has been read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from sluice.core.commands import Command
from sluice.core.events import Event
from sluice.core.record.codec import decision_line, encode
from sluice.model.ids import JobId
from sluice.store.database import StoreFull, StoreUnavailable, committed_as, connected, store_errors
from sluice.store.head import Head, Position, forget_unsynced
from sluice.store.journal_file import (
    FIRST_EPOCH,
    end_of,
    insert_row,
    log_of,
    sync_folder,
    write_first_rows,
)
from sluice.store.output_locks import OutputLocks
from sluice.store.rows import (
    FILE_NAME,
    SCHEMA_VERSION,
    Entry,
    EntryKind,
    RunHeader,
    entries,
    header_and_end,
)
from sluice.store.run_lock import RunLock
from sluice.store.snapshots import SNAPSHOT_NAME, SnapshotWriter, recorded_events

LOG_BYTES_MAX = 1 << 20
_COMMIT_BYTES = 3 << 12  # the pages that a commit of few rows writes to the log

Prepared = Mapping[JobId, Mapping[str, Any]]


def decision_digest(commands: Iterable[Command]) -> str:
    """The digest that `note` keeps of a list of commands, in hex."""
    return hashlib.blake2b(decision_line(commands).encode(), digest_size=16).hexdigest()


class Journal:
    """The one writer of a run's journal. Made by `create` or `reopened`; close it after use."""

    def __init__(self, folder: Path, lock: RunLock) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self._lock = lock
        self._first_lock: RunLock | None = None  # of the segment that this writer began with
        self.outputs: OutputLocks | None = None  # held until the journal is closed
        self._writer: sqlite3.Connection | None = None
        self._head: Head | None = None
        self._failure: StoreUnavailable | None = None
        self._seq, self._checksum, self.epoch = end_of(self.path)
        self.snapshot: SnapshotWriter | None = None  # of a new run
        self._noted: list[tuple[EntryKind, str]] = []
        self.has_unsynced = False
        self._log_bytes = 0  # written since the log was copied, about
        # Called on a full disk: returns when the write is to be tried again, or raises.
        self.on_full: Callable[[StoreFull], None] | None = None

    @classmethod
    def create(cls, folder: Path, header: RunHeader, prepared: Prepared | None = None) -> Self:
        """Begin the journal of a new run, in its first epoch, in an existing folder.

        prepared: for each job, as plain JSON values, what a resumed run cannot determine again.
        """
        first = [(EntryKind.RUN, header.line())]
        first += [(EntryKind.PREPARED, json.dumps(pair)) for pair in (prepared or {}).items()]
        lock = RunLock(folder)
        try:
            write_first_rows(folder, first, FIRST_EPOCH)
        finally:
            lock.release()
        journal = cls.reopened(folder)
        journal.epoch = FIRST_EPOCH
        journal.snapshot = SnapshotWriter(folder)
        return journal

    @classmethod
    def reopened(cls, folder: Path, on_message: Callable[[str], None] = lambda _: None) -> Self:
        """Open the journal of a run to continue it. `read` verifies it; do that before writing.

        Its `epoch` is that of the next life, which counts once `begin_epoch` was called.
        Raises EngineUnavailable while another process drives the run, and StoreCorrupt if rows are
        missing that were on the disk. on_message: called with a note if only later ones are.
        """
        lock = RunLock(folder)
        try:
            journal = cls(folder, lock)
            with store_errors(folder):
                forget_unsynced(folder, journal._seq, on_message)
            return journal
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Make everything durable, close the files and release the lock."""
        with suppress(StoreUnavailable):  # what cannot be synced is still written
            self.sync()
        if self._writer is not None:
            self._writer.close()
        if self._head is not None:
            self._head.close()
        if self.outputs is not None:
            self.outputs.release()
        self._lock.release()
        if self._first_lock is not None:
            self._first_lock.release()

    def go_on_in(self, folder: Path, header: RunHeader, opening: str) -> None:
        """Begin a segment that goes on from this one, and write there from now on.

        opening: what all rows so far have led to. The folder of the segment that this journal was
        opened with stays locked. Raises StoreUnavailable, and goes on as before, if the disk does
        not take the segment.
        """
        if self._noted:
            self._write([])  # the note on the last batch belongs to this segment
        self.sync()
        lock = RunLock(folder)
        try:
            first = [(EntryKind.RUN, header.line()), (EntryKind.OPENING, opening)]
            write_first_rows(folder, first, self.epoch)
        except BaseException:
            # A segment that is there is the newest, and this one would be forgotten.
            (folder / FILE_NAME).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()
            raise
        for file in (self._writer, self._head):
            if file is not None:
                file.close()
        self._writer = self._head = self.snapshot = None
        if self._first_lock is None:
            self._first_lock = self._lock
        else:
            self._lock.release()
        self._lock = lock
        self.folder, self.path = folder, folder / FILE_NAME
        self._seq, self._checksum, _ = end_of(self.path)
        self._log_bytes = 0

    @property
    def rows(self) -> int:
        """How many rows it has, in the present segment."""
        return self._seq + 1

    # --- writing ------------------------------------------------------------------------------

    def append(self, events: Sequence[Event]) -> None:
        """Add events in one transaction; they are durable when this returns.

        Raises StoreUnavailable if the disk does not take them. Nothing was added then, or the
        journal refuses all further writes and a resumed run finds the events in it.
        """
        self._write([(EntryKind.EVENT, encode(event)) for event in events])
        self._copy(events)

    def add(self, events: Sequence[Event], requests: Iterable[tuple[EntryKind, str]] = ()) -> None:
        """Add events in one transaction. Others see them, and they survive the end of this
        process, when this returns; they survive a power cut after `sync`.

        requests: rows of what users submitted and changed, written before the events.
        Raises StoreUnavailable as `append` does.
        """
        rows = [*requests, *((EntryKind.EVENT, encode(event)) for event in events)]
        self._write(rows, is_synced=False)
        self._copy(events)

    def _copy(self, events: Sequence[Event]) -> None:
        if self.snapshot is not None:
            self.snapshot.add(events, self._position)

    def sync(self) -> None:
        """All that was added is durable when this returns. Costs nothing if it is already."""
        if self.has_unsynced and self._failure is None:
            self._sync_log()
            self._with_room(self._move_head)

    def _sync_log(self) -> None:
        """Sync the write-ahead log. Without one, all rows are in the database, which was synced."""
        log = log_of(self.path)
        try:
            with store_errors(log), suppress(FileNotFoundError), log.open("rb") as file:
                os.fdatasync(file.fileno())
        except StoreUnavailable as error:
            # The kernel drops pages that it could not write: a second sync would succeed without.
            self._failure = StoreUnavailable(str(error))
            raise self._failure from error

    def note(self, commands: Iterable[Command]) -> None:
        """Keep the digest of the decisions on the last events; durable with the next write."""
        self._noted.append((EntryKind.DECISION, decision_digest(commands)))

    def laid_out(self, job_id: JobId, record: Mapping[str, Any]) -> None:
        """Record what a job reads, now that the jobs before it are done."""
        self._write([(EntryKind.LAID_OUT, json.dumps((job_id, record)))])

    def committed(self, job_id: JobId) -> None:
        """The output of the job is in its place."""
        self._write([(EntryKind.COMMITTED, job_id)])

    def aborted(self, job_id: JobId) -> None:
        """The unfinished files of the job are removed."""
        self._write([(EntryKind.ABORTED, job_id)])

    def begin_epoch(self, at_s: float | None = None) -> None:
        """A new life of the core begins, with the number `epoch`, above all earlier ones.

        at_s: where its clock goes on, kept with the time on the wall: it stops while no core runs.
        """
        clocks = "" if at_s is None else json.dumps((at_s, time.time()))
        self._write([(EntryKind.EPOCH, clocks)])

    def finish(self) -> None:
        """The run is over."""
        self._write([(EntryKind.FINISHED, "")])
        if self.snapshot is not None:
            self.snapshot.finish(self._position)

    @property
    def _connection(self) -> sqlite3.Connection:
        """The connection that writes; opened at the first write."""
        if self._writer is None:
            self._writer = connected(self.path)
            self._writer.execute("PRAGMA wal_autocheckpoint = 0")
        return self._writer

    @property
    def written_at_s(self) -> float:
        """When the last row was written: wall clock, seconds since 1970.

        Of a journal that its writer could close, it is when that was.
        """
        # Not the head: a sync moves that without a new row. A reader that ends may remove the log.
        with suppress(FileNotFoundError):
            return log_of(self.path).stat().st_mtime
        return self.path.stat().st_mtime

    def _write(self, rows: list[tuple[EntryKind, str]], *, is_synced: bool = True) -> None:
        if self._failure is not None:
            raise self._failure
        self._with_room(lambda: self._commit(rows, is_synced=is_synced))
        self._noted.clear()
        self._log_bytes += _COMMIT_BYTES + sum(len(payload) for _, payload in rows)
        if is_synced or self._head is None:
            self._with_room(self._move_head)
        else:
            self.has_unsynced = True
            self._with_room(self._write_head)

    def _with_room(self, write: Callable[[], None]) -> None:
        """Write, again and again while the disk is full, if that is wanted."""
        while True:
            try:
                write()
            except StoreFull as error:
                if self.on_full is None:
                    raise
                self.on_full(error)
            else:
                return

    def _commit(self, rows: list[tuple[EntryKind, str]], *, is_synced: bool) -> None:
        """Insert the rows in one transaction, or none of them."""
        before = self._seq, self._checksum
        try:
            with store_errors(self.path), committed_as(self._connection, is_synced=is_synced):
                self._insert(self._noted + rows)
        except BaseException:
            self._seq, self._checksum = before
            raise

    def _write_head(self) -> None:
        assert self._head is not None
        with store_errors(self.path):
            self._head.write_unsynced(self._position)

    @property
    def _position(self) -> Position:
        return Position(self._seq, self._checksum, SCHEMA_VERSION)

    def _insert(self, rows: list[tuple[EntryKind, str]]) -> None:
        for kind, payload in rows:
            self._seq += 1
            self._checksum = insert_row(
                self._connection, self._checksum, (self._seq, self.epoch, kind.value, payload)
            )
        last = self._seq, self._checksum
        self._connection.execute("UPDATE head SET seq = ?, checksum = ?", last)

    def _move_head(self) -> None:
        """Put the last row on record outside the database; only then is it acknowledged."""
        position = self._position
        try:
            with store_errors(self.path):
                if self._head is None:
                    self._head = Head.opened(self.folder)
                if self._head is not None:
                    self._head.write(position)
                else:  # the journal of an older release has no head yet
                    self._head = Head.create(self.folder, position)
                    sync_folder(self.folder)
        except StoreUnavailable as error:
            # The rows are in the database, and their writer will not act on them.
            self._failure = error
            raise
        self._failure = None
        self.has_unsynced = False
        if self._log_bytes >= LOG_BYTES_MAX:
            self._log_bytes = 0
            with suppress(sqlite3.Error):  # such as a full disk; the rows are in the log
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    # --- reading ------------------------------------------------------------------------------

    def read(self) -> Iterator[Entry]:
        """All rows in order, each verified, as `rows.entries` gives them."""
        return entries(self.folder)

    def events_if_finished(self) -> Iterator[Event] | None:
        """The events of a finished run that has a snapshot, as `recorded_events` gives them.

        None for any other run: its replay must compare the decisions, too.
        """
        if not (self.folder / SNAPSHOT_NAME).exists():
            return None
        _, end = header_and_end(self.folder)
        return recorded_events(self.folder) if end is EntryKind.FINISHED else None
