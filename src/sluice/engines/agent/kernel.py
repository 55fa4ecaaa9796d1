"""Linux calls of the agent: death signals, children of a process, and bytes that they moved."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
EXEC_S_MAX = 5.0  # of one exec, on a machine that is very busy

# Of /proc/PID/stat, counted from the third field: see `man proc`.
_STATE, _MEMORY, _CODE, _ENVIRONMENT = 0, 20, 23, slice(47, 49)
_ENDED = {b"Z", b"X"}

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


def process_name(pid: int) -> str:
    """The name of a process, as `name_process` gave it; "" if it is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text("utf-8", "replace").rstrip("\n")
    except OSError:
        return ""


class Process(NamedTuple):
    """A process as /proc shows it; `started_s` is in seconds since the machine booted."""

    pid: int
    parent: int
    session: int
    started_s: float


def process(pid: int) -> Process | None:
    """A process by its id; None if it is gone."""
    fields = _stat(pid)
    if fields is None:
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]) / TICKS_PER_S)


def _stat(pid: int) -> list[bytes] | None:
    """The fields of /proc/PID/stat from the third on; None if the process is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The second field is the name in parentheses, and may itself hold blanks and parentheses.
    return text[text.rindex(b")") + 2 :].split()


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
    """Whether a process was started with `mark` (NAME=value) in its environment.

    A process in the middle of an exec shows no environment for a moment, so it is asked again.
    """
    give_up_at_s = time.monotonic() + EXEC_S_MAX
    try:
        while not (environment := (PROC / str(pid) / "environ").read_bytes()):
            if not _has_environment(pid) or time.monotonic() > give_up_at_s:
                return False
            time.sleep(0.0005)
    except OSError:
        return False
    return os.fsencode(mark) in environment.split(b"\0")


def _has_environment(pid: int) -> bool:
    """Whether a process has an environment, or will have one at the end of its exec."""
    fields = _stat(pid)
    if fields is None or fields[_STATE] in _ENDED or fields[_MEMORY] == b"0":
        return False  # it has ended, or it is a thread of the kernel
    # The exec sets the addresses of the environment first and that of the code last.
    start, end = fields[_ENVIRONMENT]
    return start != end or fields[_CODE] == b"0"


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
