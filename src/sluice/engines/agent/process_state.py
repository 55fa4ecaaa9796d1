"""The process around a task: put back as it was, so that the next task finds nothing of the last.

Source: engines spec, section 1 (what one attempt leaves and takes is its own).
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGALRM,
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
OWN_THREAD = "sluice-"  # how the names of threads begin that wait for the next task too


class ProcessState:
    """The state of a process before a task: its folder, environment, files, threads and signals."""

    def __init__(self) -> None:
        self._folder = os.getcwd()  # noqa: PTH109  # it may be bytes that are no text
        self._env = dict(os.environb)
        self._rest = _rest()

    def put_back(self) -> bool:
        """Put folder and environment back. Returns whether all else is as it was.

        Random numbers go on from a new seed, as Python itself takes one after a fork.
        """
        random.seed()  # noqa: TID251  # the one that user code uses
        for name in os.environb.keys() - self._env.keys():
            del os.environb[name]
        for name, value in self._env.items():
            if os.environb.get(name) != value:
                os.environb[name] = value
        try:
            os.chdir(self._folder)
        except OSError:
            return False
        return _is_alone() and _rest() == self._rest


class Meter:
    """The resources that a process took since the last look: CPU seconds and the most memory."""

    def __init__(self) -> None:
        self._cpu_s = 0.0

    def taken(self) -> dict[str, Any]:
        """cpu_s and rss_bytes_max since the last call; the peak is measured again from here."""
        spent = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = spent.ru_utime + spent.ru_stime
        taken = {"cpu_s": cpu_s - self._cpu_s, "rss_bytes_max": spent.ru_maxrss * 1024}
        self._cpu_s = cpu_s
        # Resets the peak, see `man proc`; else it is that of all tasks of this process so far.
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_bytes(b"5")
        return taken


def _is_alone() -> bool:
    """Whether this process has no child, and no thread but the main one and our own."""
    threads = threading.enumerate()
    others = [one for one in threads[1:] if not one.name.startswith(OWN_THREAD)]
    if others or Path("/proc/self/task").stat().st_nlink != 2 + len(threads):
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _rest() -> list[Any]:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return [
        sorted(os.listdir("/proc/self/fd")),  # noqa: PTH208  # names do
        children.ru_utime + children.ru_stime + children.ru_maxrss,
        [signal.getsignal(number) for number in SIGNALS],
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        signal.getitimer(signal.ITIMER_REAL),
        list(sys.path),
        (sys.stdout, sys.stderr, sys.stdin, sys.excepthook, sys.getrecursionlimit()),
        _umask(),
    ]


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
