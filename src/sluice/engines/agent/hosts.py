"""Interpreter hosts: processes that have imported the user's code and fork an attempt at a time.

A host is a fork of the agent that imports what the work asks for and then reads orders. Each
attempt becomes a child of the agent (engines spec, section 1: usage of one attempt needs `wait4`
on its own process). The host forks it as its own sibling and announces its process id; the attempt
begins once it is announced. Where that fork is not there, or a library of the user's module has
threads, the host forks a middle child, which forks the attempt, announces it and exits, so that
the attempt is handed to the agent. In both ways the announcement is in the pipe before an attempt
can end, unless it is killed before it begins.

The attempt opens its *door*, a named pipe that the agent reads: progress and result go through
it. A launch is taken back by removing the door; an attempt that finds none exits at once. Through a
second named pipe, next to the door, the process may get the next attempt (`workers`).
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import signal
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from sluice.engines.agent import kernel
from sluice.engines.agent.attempts import NO_ROOM, Ending, Exit, Running, tail
from sluice.engines.agent.channel import Channel
from sluice.engines.agent.child import become_attempt, log_to
from sluice.engines.agent.signals import unhandled

HOSTS_MAX = 4  # that wait for more work of their job; one that is needed is never refused
IDLE_S = 60.0
ORDERS_FD, ANNOUNCEMENTS_FD = 3, 4

HostKey = tuple[str, str | None]  # the module that does the work, and the name of the host


class Host:
    """A host as the agent sees it. `waiting`: attempts requested, not yet forked."""

    def __init__(self, key: HostKey, pid: int, channel: Channel, log: Path) -> None:
        self.key = key
        self.pid = pid
        self.channel = channel
        self.log = log
        self.waiting: dict[str, Running] = {}
        self.used_at_s = time.monotonic()

    def fork_attempt(self, attempt: Running, order: dict[str, Any]) -> None:
        """Ask for an attempt; it is announced through the channel."""
        self.waiting[attempt.attempt_id] = attempt
        self.used_at_s = time.monotonic()
        self.channel.send(order)

    def end(self) -> None:
        """End the host and what it started for itself; attempts that it forked live on."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # forked this instant, it does not lead a group yet


def start_host(key: HostKey, work: dict[str, Any], log: Path) -> Host:
    """Fork a host from this process, the agent. Raises OSError where there is no room."""
    agent_pid = os.getpid()
    orders, announcements = os.pipe(), os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for descriptor in (*orders, *announcements):
            os.close(descriptor)
        raise
    if pid == 0:
        _become_host(work, agent_pid, str(log), (orders[0], announcements[1]))
    os.close(orders[0])
    os.close(announcements[1])
    return Host(key, pid, Channel(announcements[0], orders[1]), log)


def host_failure(host: Host, how: Exit) -> Ending:
    """Why the attempts that a host has not brought forth fail, when it has ended."""
    if how.code == NO_ROOM:
        return Ending("node_fault", f"the log {str(host.log)!r} cannot be opened")
    detail = f"the interpreter could not get ready: {how}\n{tail(host.log)}"
    return Ending("exit", detail.rstrip())


def superfluous(hosts: list[Host], now_s: float) -> list[Host]:
    """The hosts that have waited too long for more work, or are too many; the eldest first."""
    idle = sorted((host for host in hosts if not host.waiting), key=lambda host: host.used_at_s)
    too_many = len(hosts) - HOSTS_MAX
    return [
        host
        for position, host in enumerate(idle)
        if position < too_many or now_s >= host.used_at_s + IDLE_S
    ]


def _become_host(
    work: dict[str, Any], agent_pid: int, log: str, descriptors: tuple[int, int]
) -> NoReturn:
    try:
        unhandled()
        os.setsid()
        kernel.die_with_parent(agent_pid)
        kernel.name_process("sluice-host")
        _log_to(log)
        # The agent's talk with its engine and the doors of other attempts are not for user code.
        _keep_only(*descriptors)
        module = importlib.import_module(work["module"])
        if work.get("host") is not None:
            module.preload(work)
        gc.freeze()  # a collection in a fork would copy every page of what is shared
        _serve(agent_pid)
    except BaseException:  # noqa: BLE001  # this is the top of a process
        traceback.print_exc()
    finally:
        os._exit(1)


def _log_to(log: str) -> None:
    try:
        log_to(log)
    except OSError:  # nothing of the user's has run yet, so this is the machine's fault
        os._exit(NO_ROOM)


def _keep_only(orders_fd: int, announcements_fd: int) -> None:
    high = [
        fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, ANNOUNCEMENTS_FD + 1)
        for descriptor in (orders_fd, announcements_fd)
    ]
    os.dup2(high[0], ORDERS_FD, inheritable=False)
    os.dup2(high[1], ANNOUNCEMENTS_FD, inheritable=False)
    os.closerange(ANNOUNCEMENTS_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _serve(agent_pid: int) -> None:
    fork = kernel.SiblingFork.found()
    with os.fdopen(ORDERS_FD, "rb", closefd=False) as orders:
        for line in orders:
            order = json.loads(line)
            try:
                if fork is not None and fork.is_safe:
                    _fork_sibling(order, agent_pid, fork)
                else:
                    _fork_grandchild(order, agent_pid)
            except OSError as error:
                _announce(order, {"error": f"no room to fork: {error}"})


def _fork_sibling(order: dict[str, Any], agent_pid: int, fork: kernel.SiblingFork) -> None:
    host_pid = os.getpid()
    gate = os.pipe()  # an attempt whose host dies before it is announced must not begin
    try:
        pid = fork()
        if pid == 0:
            _enter_attempt(order, agent_pid, host_pid, gate)
        _announce(order, {"pid": pid, "is_sibling": True})
        with contextlib.suppress(BrokenPipeError):  # it was killed, and its parent sees that
            os.write(gate[1], b"\n")
    finally:
        for descriptor in gate:
            os.close(descriptor)


def _fork_grandchild(order: dict[str, Any], agent_pid: int) -> None:
    middle_pid = os.fork()
    if middle_pid == 0:
        _hand_over(order, agent_pid)
    with contextlib.suppress(ChildProcessError):  # user code may have ignored SIGCHLD
        _, status = os.waitpid(middle_pid, 0)
        if status:
            # Whatever ended it, its attempt has not begun. If it was announced all the same,
            # this second word is not heeded, and the attempt ends without a result.
            code = os.waitstatus_to_exitcode(status)
            _announce(order, {"error": f"its process was ended as it came to be ({code})"})


def _hand_over(order: dict[str, Any], agent_pid: int) -> NoReturn:
    middle_pid, code = os.getpid(), 1
    try:
        gate = os.pipe()  # an attempt whose middle parent dies unannounced must not begin
        pid = os.fork()
        if pid == 0:
            _enter_attempt(order, agent_pid, middle_pid, gate)
        _announce(order, {"pid": pid})
        os.write(gate[1], b"\n")
        code = 0
    except OSError as error:
        _announce(order, {"error": f"no room to fork: {error}"})
        code = 0
    finally:
        os._exit(code)


def _enter_attempt(
    order: dict[str, Any], agent_pid: int, forked_by: int, gate: tuple[int, int]
) -> NoReturn:
    try:
        for descriptor in (ORDERS_FD, ANNOUNCEMENTS_FD, gate[1]):
            os.close(descriptor)
        become_attempt(order, agent_pid, forked_by, gate[0])
    finally:
        os._exit(1)


def _announce(order: dict[str, Any], what: dict[str, Any]) -> None:
    message = {"id": order["id"], "at": time.monotonic()} | what
    os.write(ANNOUNCEMENTS_FD, json.dumps(message).encode() + b"\n")
