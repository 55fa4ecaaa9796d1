"""Snapshots of a journal's events: read again about six times as fast as its rows.

Theory of operation. The state of a run is the replay of its events, and most of a replay is not the
scheduler's work: it is the reading of rows, their checksums and their JSON. So the writer of a
journal also keeps the events in `journal.snapshot`, a segment for each few thousand, in the form
that Python loads fastest. A reader takes the events of the valid segments from there, and those of
the rows after them (the tail) from the database. The events, and so all answers, are the same.

The file is only a copy, and it is used as far as it proves to be one. A segment counts if

* it and all segments before it are whole: each begins with a checksum of its content;
* it was written by a release with the same classes of events, and the same Python;
* the row that it ends with has the same chained checksum in the database. That checksum covers all
  rows before it too, so the segment is of this journal, and of no longer one that a power cut took.

Everything else is ignored: the database has all events. The file is not synced for the same reason.

It holds pickles, because they load six times as fast as JSON. Loading finds the classes that events
are made of and no others, so a pickle that was made to run code is an unusable segment.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sqlite3
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import sluice
from sluice.core.events import Event
from sluice.core.record.codec import event_classes
from sluice.store.database import store_errors
from sluice.store.head import CHECKSUM_BYTES, Position
from sluice.store.private import open_private_file
from sluice.store.rows import FILE_NAME, NOTHING_BEFORE, SCHEMA_VERSION, EntryKind, opened, verified

SNAPSHOT_NAME = "journal.snapshot"
SEGMENT_EVENTS = 5_000  # a segment is loaded as a whole; a shorter run is replayed as quickly
_DIGEST_BYTES = 16
# checksum of all that follows, the layout of events, the last row and its checksum, bytes of events
_HEAD = struct.Struct(f">{_DIGEST_BYTES}s{_DIGEST_BYTES}sq{CHECKSUM_BYTES}sq")


class Segment(NamedTuple):
    """Consecutive events, and the last row of the journal that they cover."""

    events: list[Event]
    last: Position


class SnapshotWriter:
    """Writes the snapshot of a new run's journal, in step with it.

    A resumed run adds nothing: the events of its earlier lives that no segment has are not at hand.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / SNAPSHOT_NAME
        self._events: list[Event] = []
        self._has_failed = False

    def add(self, events: Sequence[Event], last: Position) -> None:
        """Take events that are in the journal now. last: its last row."""
        if not self._has_failed:
            self._events += events
            if len(self._events) >= SEGMENT_EVENTS:
                self._write(last)

    def finish(self, last: Position) -> None:
        """Write the last segment. A run of few events needs none."""
        if self._events and self._path.exists():
            self._write(last)

    def _write(self, last: Position) -> None:
        events, self._events = self._events, []
        try:
            descriptor = open_private_file(self._path, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_packed(events, last))
        except OSError:  # a full disk, for one; a reader ignores a segment that was cut short
            self._has_failed = True


def recorded_events(folder: Path) -> Iterator[Event]:
    """All events of the journal in a folder, in order, also while another process drives the run.

    Rows that a valid snapshot covers are not read; the others are verified, as by `entries`.
    Raises StoreCorrupt, with its number, at the first damaged row.
    """
    path = folder / FILE_NAME
    with closing(opened(path)) as connection:
        seq, checksum = -1, NOTHING_BEFORE
        for segment in _segments(folder / SNAPSHOT_NAME):
            if not _is_in(connection, path, segment.last):
                break
            seq, checksum = segment.last.seq, segment.last.checksum
            yield from segment.events
        for entry in verified(connection, path, after=(seq, checksum)):
            if entry.kind is EntryKind.EVENT:
                yield entry.event()


def _is_in(connection: sqlite3.Connection, path: Path, last: Position) -> bool:
    with store_errors(path):
        row = connection.execute("SELECT checksum FROM rows WHERE seq = ?", (last.seq,)).fetchone()
    return row is not None and row[0] == last.checksum


def _segments(path: Path) -> Iterator[Segment]:
    """The valid segments at the start of a file."""
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        while (segment := _read(file)) is not None:
            yield segment


def _read(file: io.BufferedReader) -> Segment | None:
    try:
        head = file.read(_HEAD.size)
        digest, layout, seq, checksum, length = _HEAD.unpack(head)
        # A damaged length must not ask for more memory than the file is long.
        if not 0 <= length <= os.fstat(file.fileno()).st_size:
            return None
        content = file.read(length)
        if digest != _digest(head[_DIGEST_BYTES:] + content) or layout != _layout():
            return None
        events = _Loader(io.BytesIO(content)).load()
    except (OSError, struct.error, pickle.UnpicklingError):
        return None
    return Segment(events, Position(seq, checksum, SCHEMA_VERSION))


def _packed(events: list[Event], last: Position) -> bytes:
    content = pickle.dumps(events, pickle.HIGHEST_PROTOCOL)
    head = _HEAD.pack(b"", _layout(), last.seq, last.checksum, len(content))[_DIGEST_BYTES:]
    return _digest(head + content) + head + content


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _layout() -> bytes:
    """Equal where a pickle of events means the same: the releases, classes and their fields."""
    fields = [(name, *names) for name, (_, names) in sorted(event_classes().items())]
    known = (SCHEMA_VERSION, sluice.__version__, sys.version_info[:2], fields)
    return _digest(repr(known).encode())


class _Loader(pickle.Unpickler):
    """Loads values of the classes that an event may hold, and nothing else."""

    def find_class(self, module: str, name: str) -> type:
        found = event_classes().get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of an event")
        return found[0]
