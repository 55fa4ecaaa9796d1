"""The number of the next run of a state folder.

Runs are ordered by a counter and not by the clock: a clock that is set back must not change which
run is the newest. The counter is `runs/counter.json`. A new run is made while its lock is held, so
a folder without a journal is not one that another process is just making.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.store.database import store_errors
from sluice.store.private import open_private_file

COUNTER_NAME = "counter.json"

_NUMBERED = re.compile(r"run-(\d{6,})-[0-9a-f]{8}")
_DATED = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{6}")  # of releases without a counter
_BYTES_MAX = 1000


def run_id(number: int) -> str:
    """A new id. The random part keeps runs of different state folders apart.

    >>> run_id(42)[:11]
    'run-000042-'
    """
    return f"run-{number:06d}-{secrets.token_hex(4)}"


def is_run_id(name: str) -> bool:
    """Whether a folder of this name is a run's."""
    return bool(_NUMBERED.fullmatch(name) or _DATED.fullmatch(name))


def run_order(name: str) -> tuple[int, str]:
    """Sorts run ids, oldest first. Runs of releases without a counter come first.

    >>> sorted(["run-000010-00000000", "20260101T000000.000000Z-abcdef"], key=run_order)[0]
    '20260101T000000.000000Z-abcdef'
    """
    numbered = _NUMBERED.fullmatch(name)
    return (int(numbered[1]) if numbered else 0, name)


@contextmanager
def counter_lock(runs: Path) -> Iterator[int]:
    """Holds the lock of the counter; gives a descriptor of its file. Waits for other holders."""
    path = runs / COUNTER_NAME
    with store_errors(path):
        file = open_private_file(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


@contextmanager
def next_number(runs: Path) -> Iterator[tuple[int, str]]:
    """The number of a new run and the id of the state folder, with the lock held.

    The number is above all that were given and above all runs that are there, so a lost or
    damaged counter file does no harm.
    """
    with counter_lock(runs) as file:
        highest, home = _read(file)
        there = (run_order(path.name)[0] for path in runs.iterdir())
        number = max(highest, *there) + 1
        with store_errors(runs / COUNTER_NAME):
            _write(file, number, home)
        yield number, home


def home_id(runs: Path) -> str | None:
    """The id of the state folder; None if no run was made in it."""
    try:
        file = os.open(runs / COUNTER_NAME, os.O_RDONLY)
    except OSError:
        return None
    try:
        return _parsed(os.pread(file, _BYTES_MAX, 0))[1]
    finally:
        os.close(file)


def _read(file: int) -> tuple[int, str]:
    highest, home = _parsed(os.pread(file, _BYTES_MAX, 0))
    return highest, home or secrets.token_hex(8)


def _parsed(content: bytes) -> tuple[int, str | None]:
    try:
        recorded = json.loads(content)
        return max(0, int(recorded["highest"])), str(recorded["home"])
    except (ValueError, TypeError, KeyError):
        return 0, None


def _write(file: int, highest: int, home: str) -> None:
    content = json.dumps({"highest": highest, "home": home}).encode()
    os.pwrite(file, content, 0)
    os.ftruncate(file, len(content))
