"""The place of the profile store: a file (by default in the state folder) or PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from sluice.model.errors import InvalidInput
from sluice.store.home import PROFILES_FILE, state_folder

OPTION, VARIABLE = "--store", "SLUICE_STORE"

_SQLITE, _POSTGRESQL = "sqlite", "postgresql"
# The forms that people write; older tools write the fourth.
_DRIVERS = {
    "sqlite": _SQLITE,
    "sqlite+pysqlite": _SQLITE,
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    "postgresql+psycopg": _POSTGRESQL,
}
_EXAMPLES = "give postgresql://user@host/database, or the path of a file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The place of a store. is_named: the user named it; it is not the state folder's own."""

    url: URL
    is_named: bool

    @property
    def is_file(self) -> bool:
        return self.url.get_backend_name() == _SQLITE

    @property
    def path(self) -> Path:
        """The file of a store that is a file."""
        assert self.is_file
        return Path(str(self.url.database))

    def __str__(self) -> str:
        """The place as messages show it: the path of a file, or the URL without its password."""
        if self.is_file:
            return str(self.url.database)
        url = self.url
        plain = URL.create(_POSTGRESQL, url.username, None, url.host, url.port, url.database)
        return plain.render_as_string()


def address_of(given: str | None = None, environ: Mapping[str, str] | None = None) -> Address:
    """The given place, else the one that SLUICE_STORE names, else the state folder's own file.

    given: a URL, or the path of a file.  environ: by default that of the process.
    Raises InvalidInput for anything else; the message never contains a password.
    """
    environ = os.environ if environ is None else environ
    if given is not None:
        return _named(given, where=OPTION)
    if from_environment := environ.get(VARIABLE):
        return _named(from_environment, where=VARIABLE)
    path = state_folder(environ) / PROFILES_FILE
    return Address(url=URL.create(_SQLITE, database=str(path)), is_named=False)


def _named(text: str, *, where: str) -> Address:
    if "\0" in text or not text.strip():
        raise InvalidInput("it names no store", where=where, hint=_EXAMPLES)
    if "://" not in text:
        path = Path(text).absolute()
        return Address(url=URL.create(_SQLITE, database=str(path)), is_named=True)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidInput("it is not the URL of a database", where=where, hint=_EXAMPLES) from None
    return Address(url=_checked(url, where), is_named=True)


def _checked(url: URL, where: str) -> URL:
    backend = _DRIVERS.get(url.drivername)
    if backend is None:
        raise InvalidInput(
            f"{url.drivername!r} is not a kind of database that a store can be in",
            where=where,
            hint=_EXAMPLES,
        )
    if backend == _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if url.host or not url.database or url.database == ":memory:" or url.query:
        raise InvalidInput(
            "it names no file", where=where, hint="give the path of a file, as in sqlite:///runs.db"
        )
    return URL.create(_SQLITE, database=str(Path(url.database).absolute()))
