"""Fits of earlier calibrations, on disk, so that a calibration costs only what is new.

One SQLite file in the state folder. It is a cache: what is lost or damaged is computed again, and
no fault of it fails a command. A fit is kept for the code that made it: the key of a row holds a
digest of that code, so a new release starts afresh. Each row has a checksum, because a damaged
number would be used without a word. Beyond ROWS_MAX rows the oldest are dropped.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

from sluice.model.errors import SluiceError, StoreCorrupt
from sluice.store.database import connected, store_errors, transaction
from sluice.store.home import FITS_FILE, SIDE_FILES, make_state_folder, state_folder

ROWS_MAX = 50_000  # about 20 MB
_SCHEMA = "CREATE TABLE IF NOT EXISTS fits (key BLOB PRIMARY KEY, record TEXT, checksum BLOB)"
_DROP_OLD = (
    "DELETE FROM fits WHERE rowid <= (SELECT rowid FROM fits ORDER BY rowid DESC LIMIT 1 OFFSET ?)"
)


class FitStore:
    """Records of fits by key. Use it in a `with` block; what is new is written at its end.

    code: folder of the modules that make the fits.  home: the state folder, by default one's own.
    """

    def __init__(self, code: Path, home: Path | None = None) -> None:
        self._code, self._home = code, home
        self._salt = b""
        self._new: dict[bytes, bytes] = {}
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        with suppress(SluiceError, OSError):
            self._salt = _digest_of(self._code)
            self._open()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._connection is None:
            return
        with closing(self._connection), suppress(sqlite3.Error):
            self._write(self._connection)
        self._connection = None

    @property
    def path(self) -> Path:
        """The file of the fits."""
        return (self._home or state_folder()) / FITS_FILE

    def get(self, key: bytes) -> str | None:
        """The record under a key; None if there is none, or it is damaged."""
        key = self._salt + key
        record = self._new.get(key) or self._stored(key)
        return None if record is None else record.decode()

    def put(self, key: bytes, record: str) -> None:
        """Keep a record under a key."""
        self._new[self._salt + key] = record.encode()

    def _open(self) -> None:
        make_state_folder(self.path.parent)
        try:
            connection = connected(self.path)
            with store_errors(self.path):
                connection.execute(_SCHEMA)
        except StoreCorrupt:
            for side in ("", *SIDE_FILES):
                self.path.with_name(self.path.name + side).unlink(missing_ok=True)
            return
        self._connection = connection

    def _stored(self, key: bytes) -> bytes | None:
        if self._connection is None:
            return None
        try:
            row = self._connection.execute(
                "SELECT record, checksum FROM fits WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.Error:
            return None
        return row[0] if row is not None and row[1] == _checksum(key, row[0]) else None

    def _write(self, connection: sqlite3.Connection) -> None:
        if not self._new:
            return
        rows = [(key, record.decode(), _checksum(key, record)) for key, record in self._new.items()]
        with transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO fits VALUES (?, ?, ?)", rows)
            connection.execute(_DROP_OLD, (ROWS_MAX,))


def _checksum(key: bytes, record: object) -> bytes:
    content = record if isinstance(record, bytes) else b""
    return hashlib.blake2b(key + content, digest_size=8).digest()


def _digest_of(folder: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()
