"""Linux calls of the agent: death signals, children of a process, and bytes that they moved."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
PR_GET_TID_ADDRESS = 40
CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
EXEC_S_MAX = 5.0  # of one exec, on a machine that is very busy

# Of /proc/PID/stat, counted from the third field: see `man proc`.
_STATE, _MEMORY, _CODE, _ENVIRONMENT = 0, 20, 23, slice(47, 49)
_ENDED = {b"Z", b"X"}

_NUMBER_OF_CLONE = {"x86_64": 56, "aarch64": 220}  # of the system call, by machine

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


class SiblingFork:
    """Forks this process; the child is its sibling, as if its own parent had forked.

    `os.fork` twice does the same, with a middle child that hands its own child over by exiting.
    That costs another fork, and a fork of an interpreter costs a millisecond. glibc has no
    function for it, so this is the system call, with what `os.fork` and glibc's `fork` do for a
    process of one thread: Python's own hooks, and the address at which glibc keeps the number of
    the thread. Handlers of `pthread_atfork` do not run. They are for locks and threads of
    libraries; without another thread no lock is held.
    """

    def __init__(self, number: int, tid_address: int) -> None:
        flags = CLONE_PARENT | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | signal.SIGCHLD
        # x86_64 takes the address as the fourth argument, aarch64 as the fifth; the other of the
        # two is not read.
        words = (number, flags, 0, 0, tid_address, tid_address)
        self._arguments = tuple(ctypes.c_long(word) for word in words)
        # The interpreter's lock stays held, as it is around the fork of `os.fork`.
        self._syscall = ctypes.PyDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long

    @classmethod
    def found(cls) -> SiblingFork | None:
        """None where the machine or the kernel has no such fork."""
        number = _NUMBER_OF_CLONE.get(os.uname().machine)
        tid_address = ctypes.c_void_p()
        if _prctl(PR_GET_TID_ADDRESS, ctypes.byref(tid_address), 0, 0, 0) != 0:
            return None
        return cls(number, tid_address.value) if number and tid_address.value else None

    @property
    def is_safe(self) -> bool:
        """Whether this process has one thread now; a library may have started others."""
        return (PROC / "self/task").stat().st_nlink == 2 + 1

    def __call__(self) -> int:
        """0 in the child, and its process id here. Raises OSError where there is no room."""
        ctypes.pythonapi.PyOS_BeforeFork()
        pid: int = self._syscall(*self._arguments)
        if pid == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
            return pid
        number = ctypes.get_errno()
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        if pid < 0:
            raise OSError(number or errno.EAGAIN, os.strerror(number or errno.EAGAIN))
        return pid


def name_process(name: str) -> None:
    """Set the name that `ps` and `top` show; the kernel keeps 15 bytes."""
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
    fields = _stat(PROC / str(pid))
    if fields is None:
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]) / TICKS_PER_S)


def _stat(thread: Path) -> list[bytes] | None:
    """The fields of /proc/PID/stat from the third on; None if the process or thread is gone."""
    try:
        text = (thread / "stat").read_bytes()
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


def end_children(groups: Iterable[int], give_up_at_s: float) -> None:
    """Kill these process groups, then every child until none is left, and reap them."""
    for pid in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    while (pids := children()) and time.monotonic() < give_up_at_s:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still theirs
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)


def is_child(pid: int) -> bool:
    """Whether this process is the parent of another, which may have ended and is not reaped."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def has_ended(pid: int) -> bool:
    """Whether a child of this process has ended; it is not reaped by this."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def has_mark(pid: int, mark: str) -> bool:
    """Whether a process was started with `mark` (NAME=value) in its environment.

    The first thread of a process may end before the others; then one of those shows it.
    """
    place = PROC / str(pid)
    environment = _environment(place)
    if not environment:
        with contextlib.suppress(OSError):
            threads = [thread for thread in (place / "task").iterdir() if thread.name != place.name]
            environment = next(filter(None, map(_environment, threads)), b"")
    return os.fsencode(mark) in environment.split(b"\0")


def _environment(thread: Path) -> bytes:
    """The environment of a thread; empty if it has none, or has ended.

    In the middle of an exec it shows none for a moment, so it is asked again.
    """
    give_up_at_s = time.monotonic() + EXEC_S_MAX
    try:
        while not (environment := (thread / "environ").read_bytes()):
            if not _has_environment(thread) or time.monotonic() > give_up_at_s:
                break
            time.sleep(0.0005)
    except OSError:
        return b""
    return environment


def _has_environment(thread: Path) -> bool:
    """Whether a thread has an environment, or will have one at the end of its exec."""
    fields = _stat(thread)
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
