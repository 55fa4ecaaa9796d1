"""The file of a journal: how it is made, whole or not at all, and how a row is put into it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sluice.store.database import connected, store_errors, transaction
from sluice.store.head import Head, Position
from sluice.store.rows import (
    FILE_NAME,
    NOTHING_BEFORE,
    SCHEMA_VERSION,
    EntryKind,
    chained,
    head,
    opened,
)

FIRST_EPOCH = 1

_SCHEMA = """
CREATE TABLE rows (
    seq INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    checksum BLOB NOT NULL
);
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, checksum BLOB NOT NULL
)
"""


def write_first_rows(folder: Path, rows: Sequence[tuple[EntryKind, str]], epoch: int) -> None:
    """Make the journal with everything that a resumed run needs, or not at all."""
    draft, path = folder / f"{FILE_NAME}.new", folder / FILE_NAME
    with store_errors(path):
        draft.unlink(missing_ok=True)
        with closing(connected(draft)) as connection:
            with transaction(connection):
                last = _insert_first_rows(connection, rows, epoch)
            # On a full disk a close leaves the log, under its old name.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # The head comes first: a journal of this release is never without one.
        Head.create(folder, last).close()
        draft.rename(path)
        for place in (folder, folder.parent):
            sync_folder(place)


def _insert_first_rows(
    connection: sqlite3.Connection, rows: Sequence[tuple[EntryKind, str]], epoch: int
) -> Position:
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    checksum = NOTHING_BEFORE
    for seq, (kind, payload) in enumerate(rows):
        checksum = insert_row(connection, checksum, (seq, epoch, kind.value, payload))
    connection.execute("INSERT INTO head VALUES (1, ?, ?)", (len(rows) - 1, checksum))
    return Position(len(rows) - 1, checksum, SCHEMA_VERSION)


def insert_row(
    connection: sqlite3.Connection, before: bytes, row: tuple[int, int, str, str]
) -> bytes:
    """Add one row; returns its checksum."""
    seq, epoch, kind, payload = row
    checksum = chained(before, seq, epoch, kind.encode(), payload.encode())
    connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", (*row, checksum))
    return checksum


def end_of(path: Path) -> tuple[int, bytes, int]:
    """Number and checksum of the last row of a journal, and the epoch of the next life."""
    with closing(opened(path)) as connection, store_errors(path):
        seq, checksum = head(connection)
        (last,) = connection.execute("SELECT max(epoch) FROM rows").fetchone()
    # Damage is found when the rows are read; until then any number will do.
    return seq, checksum, last + 1 if isinstance(last, int) else FIRST_EPOCH


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def sync_folder(folder: Path) -> None:
    """Sync a folder: a new or renamed file in it survives a power cut only after this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
