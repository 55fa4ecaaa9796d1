"""How the store opens its SQLite databases, and how it reports faults of disks and databases."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.model.errors import SluiceError, StoreCorrupt
from sluice.store.private import make_private_file

BUSY_S = 10.0  # how long to wait for another process that writes

# A log of about 1 MiB is copied into the database file, so that damage in the log reaches back
# only that far. SQLite's default of 1000 pages saves little time (bench/journal.py).
CHECKPOINT_PAGES = 256

# ERROR is a missing table or column, and MISMATCH a wrong type: our statements fit the schema, so
# the schema in the file is damaged.
_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_TOOBIG,
    }
)


_FULL = {errno.ENOSPC, errno.EDQUOT}


class StoreUnavailable(SluiceError):
    """The disk is full, may not be written, or failed: nothing was lost, nothing was added."""


class StoreFull(StoreUnavailable):
    """No room is left on the disk, or for its user; with room, the same write succeeds."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection for writing, whose commits are on the disk when they return.

    The file is made if it is missing, private from the start. Text comes back as bytes. The
    write-ahead log lets others read while one process writes; FULL syncs it at each commit.
    Raises StoreUnavailable, or StoreCorrupt if the file is not a database.
    """
    with store_errors(path):
        make_private_file(path)
        connection = _connection(str(path), is_uri=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection


def connected_to_read(path: Path) -> sqlite3.Connection:
    """A connection for reading an existing database; it leaves database and log as they are.

    The last connection that closes normally copies the log into the database file and deletes the
    log. If the log is damaged that would destroy the evidence, so a database with a log is opened
    read-only, and such a connection cannot do it.
    """
    mode = "immutable=1" if is_immutable(path) else "mode=ro" if _has_log(path) else "mode=rw"
    with store_errors(path):
        return _connection(f"{path.absolute().as_uri()}?{mode}", is_uri=True)


def is_immutable(path: Path) -> bool:
    """Whether a database must be opened as immutable: it is in a folder that may only be read.

    SQLite reads a database with a write-ahead log only if it can make its side files next to it.
    Without a log all is in the database file, and SQLite reads that file without them if it is
    said to be immutable. Another user who writes at that moment would be missed, or be reported as
    damage. If there is a log, the side files are there as well, or SQLite reports the fault.
    """
    return not (os.access(path.parent, os.W_OK) or _has_log(path)) and path.is_file()


def _connection(name: str, *, is_uri: bool) -> sqlite3.Connection:
    # Commits are explicit. Text stays bytes, so that damaged text reaches the checksums.
    connection = sqlite3.connect(name, timeout=BUSY_S, isolation_level=None, uri=is_uri)
    connection.text_factory = bytes
    return connection


def _has_log(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside is durable when the block ends, or none of it happened."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself when the disk is full.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def committed_as(connection: sqlite3.Connection, *, is_synced: bool) -> Iterator[None]:
    """A `transaction` that is synced when the block ends, or written and not yet synced."""
    if is_synced:
        with transaction(connection):
            yield
        return
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        with transaction(connection):
            yield
    finally:
        connection.execute("PRAGMA synchronous = FULL")


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise faults of files and databases as StoreUnavailable or StoreCorrupt, naming the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        # The message of SQLite quotes damaged bytes of the schema, and Python cannot decode them.
        raise _corrupt(path, "its schema is damaged") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        # The low byte is the fault, the other bytes are details of it.
        if code is not None and code & 0xFF in _DAMAGE:
            raise _corrupt(path, str(error)) from error
        if code == sqlite3.SQLITE_CANTOPEN and path.is_dir():
            raise _corrupt(path, "it is a folder") from error
        kind = StoreFull if code == sqlite3.SQLITE_FULL else StoreUnavailable
        raise _unavailable(path, str(error), kind) from error
    except OSError as error:
        kind = StoreFull if error.errno in _FULL else StoreUnavailable
        what = error.strerror or str(error)
        raise _unavailable(Path(error.filename or path), what, kind) from error


def _corrupt(path: Path, why: str) -> StoreCorrupt:
    return StoreCorrupt(f"{path}: {why}. Keep the file; it is evidence.")


def _unavailable(path: Path, why: str, kind: type[StoreUnavailable]) -> StoreUnavailable:
    return kind(
        f"{path}: {why}. Make room and allow writing there, or set SLUICE_HOME to another folder."
    )
