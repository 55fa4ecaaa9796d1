"""One attempt as its agent sees it, from launch to the report of its end."""

from __future__ import annotations

import contextlib
import math
import os
import re
import resource
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

from sluice.engines.agent.channel import Channel

SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=+@-]{0,199}")
NO_ROOM = 75  # EX_TEMPFAIL: the exit code of an interpreter host without a log
TAIL_LINES = 20
TAIL_BYTES = 4096
PRESS_EVERY_S = 0.1
LOOKS_PER_IDLE_LIMIT = 4
NO_MEMORY = re.compile(r"MemoryError|annot allocate memory|bad_alloc|out of memory", re.IGNORECASE)


class Exit(NamedTuple):
    """How a leader ended: what `wait4` said, and when, by CLOCK_MONOTONIC.

    If the leader waits for another attempt, what it took is what it says itself.
    """

    status: int
    cpu_s: float
    rss_bytes_max: int
    at_s: float

    @classmethod
    def of(cls, status: int, rusage: resource.struct_rusage, at_s: float) -> Exit:
        """The exit of a process that was reaped."""
        return cls(status, rusage.ru_utime + rusage.ru_stime, rusage.ru_maxrss * 1024, at_s)

    @property
    def code(self) -> int:
        """The exit code, or the signal that ended it as a negative number."""
        return os.waitstatus_to_exitcode(self.status)

    def __str__(self) -> str:
        if self.code >= 0:
            return f"exit code {self.code}"
        name = signal_name(-self.code)
        cause = ", as the kernel does when memory runs out" if name == "SIGKILL" else ""
        return f"the task's process was ended by {name}{cause}"


class Ending(NamedTuple):
    """Why the agent is ending an attempt; `kind` is what its failure will be called."""

    kind: str
    detail: str


def refusal(command: dict[str, Any], *, is_stopping: bool) -> Ending | None:
    """Why an attempt cannot be launched on this node; None if it can."""
    if is_stopping:
        return Ending("node_fault", "the node is stopping")
    if not SAFE_ID.fullmatch(command["id"]):  # it becomes the name of files
        return Ending("rejected", f"attempt id {command['id']!r} is not a safe file name")
    if command["work"].get("kind") == "command" and not command["work"].get("argv"):
        return Ending("rejected", "its command has no words")
    return None


class Running:
    """The record of an attempt that has been launched and whose end is not yet reported.

    pid: its leader; None until its interpreter host has forked it.
    kill_at_s: when its remaining processes are killed.
    """

    def __init__(self, order: dict[str, Any], log: Path) -> None:
        self.attempt_id: str = order["id"]
        self.limits: dict[str, Any] = order["limits"]
        self.is_early = bool(order["work"].get("is_early"))  # it began before its input was there
        self.works_from_s = math.inf if self.is_early else -math.inf  # limits of time count from it
        self.grace_s: float = order["grace_s"]
        self.log = log
        self.pid: int | None = None
        self.reports: Channel | None = None  # None for a command, which sends no reports
        self.born_s = time.clock_gettime(time.CLOCK_BOOTTIME)  # as /proc gives start times
        self.started_at_s = self.active_at_s = time.monotonic()
        self.ending: Ending | None = None
        self.exit: Exit | None = None
        self.kill_at_s = math.inf
        self.pressed_at_s: float | None = None
        self.result: dict[str, Any] | None = None
        self.failure: dict[str, Any] | None = None
        self.stays: dict[str, Any] | None = None  # its process may do more, and took this
        self.door: Path | None = None  # where a new process opens its pipes
        self.host: tuple[str, str | None] | None = None  # the key of the host that forks it
        self.shuffled_after_s: float | None = None
        self.told_at_s = -math.inf
        self.bytes_moved = 0
        self.look_at_s = self.started_at_s + self._look_every_s

    @property
    def _look_every_s(self) -> float:
        idle_s = self.limits.get("idle_s")
        return math.inf if idle_s is None else idle_s / LOOKS_PER_IDLE_LIMIT

    @property
    def next_at_s(self) -> float:
        """When something is due for this attempt, if nothing happens before."""
        if self.ending is not None or self.exit is not None:
            pressed_at_s = self.pressed_at_s
            return self.kill_at_s if pressed_at_s is None else pressed_at_s + PRESS_EVERY_S
        wall_s, idle_s = self.limits.get("wall_s"), self.limits.get("idle_s")
        return min(
            math.inf if wall_s is None else self._began_at_s + wall_s,
            math.inf if idle_s is None else self.active_at_s + idle_s,
            self.look_at_s if self.reports is None else math.inf,
        )

    @property
    def _began_at_s(self) -> float:
        """When its own work began; infinity as long as it waits for its input."""
        return max(self.started_at_s, self.works_from_s)

    @property
    def is_handed_on(self) -> bool:
        """Whether a process that has done another attempt got it."""
        return self.reports is not None and self.door is None

    @property
    def ended_at_s(self) -> float:
        """When its leader ended; now, if none came to be."""
        return time.monotonic() if self.exit is None else self.exit.at_s

    @property
    def shuffled_at_s(self) -> float | None:
        """When its input was all fetched, by CLOCK_MONOTONIC."""
        after_s = (self.result or {}).get("shuffled_at_s")
        after_s = self.shuffled_after_s if after_s is None else after_s
        return None if after_s is None else self.started_at_s + after_s

    def overdue(self, now_s: float) -> Ending | None:
        """The limit of time that it has hit, if any."""
        wall_s, idle_s = self.limits.get("wall_s"), self.limits.get("idle_s")
        if wall_s is not None and now_s >= self._began_at_s + wall_s:
            return Ending("timeout", f"ran longer than its limit wall_s={wall_s:g}")
        if idle_s is not None and now_s >= self.active_at_s + idle_s:
            return Ending("timeout", f"read and wrote nothing for its limit idle_s={idle_s:g}")
        return None

    def look(self, now_s: float, bytes_moved: int) -> None:
        """Record how many bytes its processes have moved by now.

        Only for commands: other work reports its bytes itself. Any change is a sign of life, also
        a smaller sum: then one of the processes has ended.
        """
        if bytes_moved != self.bytes_moved:
            self.bytes_moved = bytes_moved
            self.active_at_s = now_s
        idle_at_s = self.active_at_s + (self.limits.get("idle_s") or math.inf)
        self.look_at_s = min(now_s + self._look_every_s, idle_at_s)

    def signal(self, number: int) -> None:
        """Send a signal to its process group, as long as its leader holds the group's number."""
        if self.pid is None or self.exit is not None:
            return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:  # forked this instant: it does not lead its group yet
            os.kill(self.pid, number)

    def usage(self) -> dict[str, Any]:
        """Return what it took: seconds, bytes, and the counters of its result."""
        counters = dict((self.result or {}).get("counters") or {})
        if self.exit is None:
            return counters
        return counters | {
            "wall_s": self.exit.at_s - self.started_at_s,
            "cpu_s": self.exit.cpu_s,
            "rss_bytes_max": self.exit.rss_bytes_max,
        }

    def verdict(self) -> Ending | None:
        """Why it failed; None if it ended well."""
        if self.ending is not None:
            return self.ending
        assert self.exit is not None
        if self.failure is not None:
            kind = "permanent" if self.failure.get("is_permanent") else "exit"
            kind = "node_fault" if self.failure.get("is_node_fault") else kind
            return Ending(kind, str(self.failure.get("message", "")))
        if self.is_handed_on and self.exit.code != 0 and not self.log.exists():
            # It opens the log first: it ended as it waited, and that is not the task's doing.
            return Ending("node_fault", f"{self.exit}, before it began the task")
        if self.exit.code != 0:
            return Ending("exit", f"{self.exit}{self._limit_hit()}")
        if self.reports is not None and self.result is None:
            return Ending("exit", "it ended without a result")
        return None

    def _limit_hit(self) -> str:
        assert self.exit is not None
        output_bytes = self.limits.get("output_bytes")
        memory_bytes = self.limits.get("memory_bytes")
        if output_bytes is not None and self.exit.code == -signal.SIGXFSZ:
            return f": wrote a file beyond its limit output_bytes={output_bytes}"
        if memory_bytes is not None and NO_MEMORY.search(tail(self.log)):
            return f": needed more than its limit memory_bytes={memory_bytes}"
        return ""


def signal_name(number: int) -> str:
    """SIGSEGV and the like; the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def tail(log: Path) -> str:
    """The last lines of a log: at most 20 lines and 4 KiB, whatever bytes they hold."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = file.read(TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def drop_if_empty(log: Path) -> None:
    """Remove a log in which nothing was written."""
    with contextlib.suppress(OSError):
        if log.stat().st_size == 0:
            log.unlink()
