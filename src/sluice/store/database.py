"""How the store opens its databases, and what it says when the disk does not play along."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.model.errors import SluiceError, StoreCorrupt

BUSY_S = 10.0  # how long to wait for another process that writes

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})


class StoreUnavailable(SluiceError):
    """The disk is full, may not be written, or failed: nothing was lost, nothing was added."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection whose commits are on the disk when they return; text comes back as bytes.

    The write-ahead log lets others read while one process writes, and FULL has it synced at each
    commit. Raises StoreUnavailable, or StoreCorrupt where the file is no database.
    """
    with told_clearly(path):
        # Commits are said, never implied; text as bytes, so that damaged text reaches the checksum.
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        connection.text_factory = bytes
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside is durable when the block ends, or none of it happened."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have rolled back by itself already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def told_clearly(path: Path) -> Iterator[None]:
    """Faults of files and databases as errors of the house, naming the file."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        # The low byte is the fault, the others say more about it.
        if code is not None and code & 0xFF in _DAMAGE:
            raise StoreCorrupt(f"{path}: {error}. Keep the file; it is evidence.") from error
        raise _unavailable(path, str(error)) from error
    except OSError as error:
        raise _unavailable(Path(error.filename or path), error.strerror or str(error)) from error


def _unavailable(path: Path, why: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path}: {why}. Make room and allow writing there, or set SLUICE_HOME to another folder."
    )
