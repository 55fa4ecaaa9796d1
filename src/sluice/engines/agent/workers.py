"""Processes that have done an attempt and wait for the next one of the same job.

A fork of an interpreter copies each page that the task touches, which for a tiny task costs more
than the task. So the process of a short Python task may do the next one, if the task has left no
trace in it: `child` looks, and says so with the result.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import NamedTuple

from sluice.engines.agent import kernel
from sluice.engines.agent.attempts import Running
from sluice.engines.agent.channel import Channel
from sluice.engines.agent.hosts import HostKey

IDLE_S = 2.0  # a worker that is not needed for so long ends

WorkerKey = tuple[HostKey, str]  # of its host, and the limits that are in force in it


class Worker(NamedTuple):
    """A process that waits for an attempt. `talk`: reports come from it, orders go to it."""

    key: WorkerKey
    pid: int
    talk: Channel
    log: Path
    idle_since_s: float


class Workers:
    """The processes of a node that wait for an attempt."""

    def __init__(self) -> None:
        self._idle: dict[int, Worker] = {}

    @property
    def pids(self) -> set[int]:
        """All that are not yet reaped."""
        return set(self._idle)

    @property
    def next_at_s(self) -> float:
        """When the first of them has waited too long; infinity if none waits."""
        waits = (one.idle_since_s for one in self._idle.values() if one.talk.write_fd is not None)
        return min(waits, default=math.inf) + IDLE_S

    def take(self, attempt: Running) -> Worker | None:
        """The process that came last of those that can do this attempt; it waits no more."""
        key = _key(attempt)
        for worker in reversed(self._idle.values()):
            is_free = worker.key == key and worker.talk.write_fd is not None
            if is_free and not kernel.has_ended(worker.pid):
                return self._idle.pop(worker.pid)
        return None

    def add(self, attempt: Running) -> None:
        """The attempt has ended, and its process waits for another."""
        assert attempt.pid is not None
        assert attempt.reports is not None
        self._idle[attempt.pid] = Worker(
            _key(attempt), attempt.pid, attempt.reports, attempt.log, time.monotonic()
        )

    def overdue(self, now_s: float) -> list[Worker]:
        """Those that have waited too long."""
        last_s = now_s - IDLE_S
        waiting = (one for one in self._idle.values() if one.talk.write_fd is not None)
        return [worker for worker in waiting if worker.idle_since_s <= last_s]

    def gone(self, pid: int) -> Worker | None:
        """Forget a process that was reaped; None if it was none of these."""
        return self._idle.pop(pid, None)


def open_talk(attempt: Running, folder: Path) -> dict[str, str]:
    """Make both pipes of a process that is yet to come: its door, and that of its orders.

    Returns what its first order says of them.
    """
    attempt.door = folder / attempt.attempt_id
    orders = _orders_of(attempt.door)
    for pipe in (attempt.door, orders):
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe, 0o600)
    read_fd = os.open(attempt.door, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    # For both ends, or there would have to be a reader already.
    write_fd = os.open(orders, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    attempt.reports = Channel(read_fd, write_fd)
    return {"door": str(attempt.door), "orders": str(orders)}


def unlink_talk(attempt: Running) -> None:
    """Remove the names of both pipes, if it has some: no later process can open them."""
    if attempt.door is not None:
        attempt.door.unlink(missing_ok=True)
        _orders_of(attempt.door).unlink(missing_ok=True)


def _orders_of(door: Path) -> Path:
    """The pipe of orders. No attempt id begins so."""
    return door.with_name(f"~{door.name}")


def _key(attempt: Running) -> WorkerKey:
    assert attempt.host is not None
    return attempt.host, json.dumps(attempt.limits, sort_keys=True)
