"""Linux calls of the agent: death signals, children of a process, and bytes that they moved."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def die_with_parent(parent_pid: int) -> None:
    """Let the kernel end this process when the thread that forked it ends.

    Ends this process at once if `parent_pid`, its parent, is gone already.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def adopt_orphans() -> None:
    """Make this process the new parent of every descendant that loses its own."""
    if _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def name_process(name: str) -> None:
    """What `ps` and `top` show; the kernel keeps 15 bytes."""
    _prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


class Process(NamedTuple):
    """A process as /proc shows it; `started_s` is in seconds since the machine booted."""

    pid: int
    parent: int
    session: int
    started_s: float


def process(pid: int) -> Process | None:
    """A process by its id; None if it is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The second field is the name in parentheses, and may itself hold blanks and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]) / TICKS_PER_S)


def all_pids() -> Iterator[int]:
    """Every process there is."""
    return (int(name) for name in os.listdir(PROC) if name.isdigit())  # noqa: PTH208  # names do


def children() -> set[int]:
    """The processes whose parent is this one; it must have a single thread."""
    me = os.getpid()
    try:
        return {int(pid) for pid in (PROC / f"{me}/task/{me}/children").read_bytes().split()}
    except FileNotFoundError:  # a kernel built without that list
        found = (process(pid) for pid in all_pids())
        return {child.pid for child in found if child is not None and child.parent == me}


def has_mark(pid: int, mark: str) -> bool:
    """Whether a process was started with `mark` (NAME=value) in its environment."""
    try:
        return os.fsencode(mark) in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def bytes_moved(session: int) -> int:
    """Bytes read and written so far by the living processes of a session, by any means."""
    found = (process(pid) for pid in all_pids())
    return sum(_bytes_of(one.pid) for one in found if one is not None and one.session == session)


def _bytes_of(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "io").read_bytes().split(b"\n")
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines[:2])  # rchar and wchar
