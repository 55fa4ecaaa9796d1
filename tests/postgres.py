"""A private PostgreSQL server for the tests, and a fresh database on it for each that asks.

SLUICE_TEST_POSTGRES in the environment: the URL of a server to use, whose user may make databases.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.skips import skip

VARIABLE = "SLUICE_TEST_POSTGRES"
_START_S = 60.0
_numbers = count()


def programs() -> Path | None:
    """The folder of the newest server that is installed here."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    beside = shutil.which("initdb")
    return Path(beside).parent if beside else None


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that stands for as long as the block. Skips where there is none."""
    given = os.environ.get(VARIABLE, "")
    if given:
        yield given
        return
    folder = programs()
    if folder is None:
        skip("PostgreSQL is not installed here")
    with _private_server(folder) as url:
        yield url


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of an empty database on the server; it is dropped afterwards."""
    import psycopg
    from sqlalchemy.engine import make_url

    name = f"sluice_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield make_url(url).set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _private_server(folder: Path) -> Iterator[str]:
    # A short path, for a socket's name has room for some hundred characters; and one that another
    # account may reach, wherever root keeps its temporary files.
    home = Path(tempfile.mkdtemp(prefix="sluice-pg-", dir="/tmp"))
    try:
        yield from _served(folder, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _served(folder: Path, home: Path) -> Iterator[str]:
    account = _account(home)
    _run([folder / "initdb", "-D", home / "data", "-U", "tests", "-A", "trust", "-N"], account)
    command = [folder / "postgres", "-D", home / "data", "-k", home, "-c", "listen_addresses="]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, stdout=log, stderr=log, **account)
    try:
        url = f"postgresql://tests@/postgres?host={home}"
        _await(url, process, home / "log")
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # end sessions, then the server
        process.wait(timeout=_START_S)


def _account(home: Path) -> dict[str, Any]:
    """Root may not run the server; another account does, and owns the folder."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    os.chown(home, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _run(command: list[Any], account: dict[str, Any]) -> None:
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=_START_S, **account
    )


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    give_up_at_s = time.monotonic() + _START_S
    while True:
        assert process.poll() is None, log.read_text()
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert time.monotonic() < give_up_at_s, log.read_text()
            time.sleep(0.05)
        else:
            return
