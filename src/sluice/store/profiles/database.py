"""How the profile store opens its database, and how it reports faults of the database.

SQLite: a write-ahead log, so that others read while one process writes; each commit synced; a
writer waits for the one before it. PostgreSQL: one writer at a time by an advisory lock, readers
see one instant, and a commit counts only once it is durable, whatever the server's default.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sluice.model.errors import SluiceError, StoreCorrupt
from sluice.store.database import StoreUnavailable, is_immutable
from sluice.store.profiles.address import Address

BUSY_S = 60.0  # how long a writer waits for those before it
CONNECT_S = 10  # how long a server may take to answer
_RETRY_S = 0.02

_WRITES = "sluice_writes"
_WRITERS_KEY = 0x51_1CE  # any number, the same in every process
_PER_WRITE = (
    "SET LOCAL synchronous_commit = on",
    f"SET LOCAL lock_timeout = {int(BUSY_S * 1000)}",
    f"SELECT pg_advisory_xact_lock({_WRITERS_KEY})",
)

# SQLite's codes (the low byte), and PostgreSQL's classes and codes.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_READ_ONLY = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
_DAMAGE_STATES = {"XX001", "XX002", "42P01", "42703"}  # the last two: a table or column is missing
_BUSY_STATES = {"55P03", "40P01", "57014"}
_NOISE = "connection is bad: "


def engine_of(address: Address) -> Engine:
    """An engine on the store's database; nothing is opened yet.

    Raises StoreUnavailable if the library for it is not installed.
    """
    if address.is_file:
        engine = create_engine(address.url, creator=partial(_file, address.path))
        event.listen(engine, "begin", _begin_on_file)
        return engine
    _check_psycopg()
    given = address.url.query
    patience = {} if "connect_timeout" in given else {"connect_timeout": CONNECT_S}
    engine = create_engine(address.url, connect_args=patience, pool_pre_ping=True)
    event.listen(engine, "begin", _begin_on_server)
    return engine


def _check_psycopg() -> None:
    try:
        import psycopg  # noqa: F401  # only to see whether it is installed
    except ImportError as error:
        raise StoreUnavailable(
            "A store in PostgreSQL needs psycopg, which is not installed."
            ' Run: pip install "sluice[postgresql]"'
        ) from error


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees the store as it is at one instant."""
    is_file = engine.dialect.name == "sqlite"
    how: dict[str, Any] = {} if is_file else {"isolation_level": "REPEATABLE READ"}
    with engine.execution_options(**how).begin() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection of which all is durable when the block ends, or nothing has happened.

    No other process writes meanwhile.
    """
    with engine.execution_options(**{_WRITES: True}).begin() as connection:
        yield connection


# --- how SQLite and PostgreSQL differ -------------------------------------------------------------


def _file(path: Path) -> sqlite3.Connection:
    """A connection to a store that is a file; transactions are explicit, see below."""
    is_read_only = is_immutable(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?immutable=1" if is_read_only else path,
        uri=is_read_only,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,  # the pool gives it to one thread at a time
    )
    try:
        if not is_read_only:
            _set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    give_up_at_s = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # If two processes make the file at once, SQLite does not wait here, so this does.
            if not _is_busy(error) or time.monotonic() > give_up_at_s:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _is_busy(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _BUSY


def _begin_on_file(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_on_server(connection: Connection) -> None:
    if connection.get_execution_options().get(_WRITES):
        for statement in _PER_WRITE:
            connection.exec_driver_sql(statement)


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def database_errors(address: Address) -> Iterator[None]:
    """Raise faults of the database as StoreUnavailable or StoreCorrupt, naming the store."""
    try:
        yield
    except UnicodeDecodeError as error:
        # The message of SQLite quotes damaged bytes of the schema, and Python cannot decode them.
        raise damage(address, "its schema is damaged") from error
    except SQLAlchemyError as error:
        raise _complaint(address, error) from error
    except OSError as error:
        raise StoreUnavailable(f"{error.filename or address}: {error.strerror}.") from error


def _complaint(address: Address, error: SQLAlchemyError) -> SluiceError:
    cause = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(cause, sqlite3.Error):
        return _file_complaint(address, cause)
    state = getattr(cause, "sqlstate", None)
    why = _first_line(cause if cause is not None else error)
    if state in _DAMAGE_STATES:
        return damage(address, why)
    if state in _BUSY_STATES:
        return _busy(address)
    return StoreUnavailable(
        f"{address}: {why}. Check that the server runs, and that the URL's user may use it."
    )


def _file_complaint(address: Address, cause: sqlite3.Error) -> SluiceError:
    code = getattr(cause, "sqlite_errorcode", None)
    fault = None if code is None else code & 0xFF
    if fault in _DAMAGE or fault == sqlite3.SQLITE_ERROR:
        return damage(address, str(cause))
    if fault in _BUSY:
        return _busy(address)
    if fault in _READ_ONLY:
        return StoreUnavailable(
            f"{address}: {cause}. Allow reading and writing there, or name another store."
        )
    return StoreUnavailable(f"{address}: {cause}. Make room there, or name another store.")


def damage(address: Address, why: str) -> StoreCorrupt:
    """The error for a store that contradicts itself."""
    return StoreCorrupt(f"{address}: {why}. Keep it; it is evidence. Name another store meanwhile.")


def _busy(address: Address) -> StoreUnavailable:
    return StoreUnavailable(
        f"{address}: another process has been writing there for {BUSY_S:g} s. Try again."
    )


def _first_line(error: BaseException) -> str:
    """The first line of a driver's message, without the detail and help below it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).removeprefix(_NOISE).rstrip(".")
