"""The forked child's side: what happens between the fork and the work.

A child is a fork of a host or of the agent, so the first rule is to do little before the work
begins: each page of memory that it writes to is copied. It puts its limits in force, opens its log,
and becomes the command, or does an order of Python code and reports the result. A child whose task
left no trace in the process may do another order; any other exits.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from sluice.engines.agent import kernel
from sluice.engines.agent.orders import Orders
from sluice.engines.agent.process_state import Meter, ProcessState

ATTEMPT_MARK = "SLUICE_ATTEMPT"
NOT_STARTED = 127  # what a shell says of a command that cannot be run
ORDERS_MAX = 100  # that one process does; what a task leaks is then given back
SHORT_S = 1.0  # a task that takes longer is worth a process of its own


Spawn = Callable[
    [bytes, list[bytes], list[bytes], bytes | None, int, list[tuple[int, int]]], tuple[int, int]
]


def _compiled() -> Spawn | None:
    """Return what starts a command without a fork, in a package that was compiled."""
    try:
        from sluice.engines.agent import vfork
    except ImportError:
        return None
    return vfork.spawn


spawn = _compiled()


class Command(NamedTuple):
    """All that a forked child needs to become a command.

    Made ready before the fork: each page of memory that the child then writes to is copied, and
    that was two fifths of what a short command cost.
    """

    path: bytes
    argv: list[bytes]
    env: dict[bytes, bytes]
    cwd: bytes | None
    limits: dict[str, Any]


def command(order: dict[str, Any], env: dict[bytes, bytes]) -> Command:
    """The command of an order, under the environment of the agent.

    Raises TypeError or ValueError for words that are none.
    """
    work = order["work"]
    own = {os.fsencode(name): os.fsencode(text) for name, text in (work.get("env") or {}).items()}
    env = env | own | {ATTEMPT_MARK.encode(): order["id"].encode()}
    argv = [os.fsencode(word) for word in work["argv"]]
    cwd = work.get("cwd")
    return Command(
        path=_found(argv[0], env),
        argv=argv,
        env=env,
        cwd=None if cwd is None else os.fsencode(cwd),
        limits=order["limits"],
    )


def start_command(what: Command, log: str) -> int:
    """Start a child that is the command; returns its process id.

    What cannot be run exits with 127. Raises OSError where there is no room for a process.
    """
    log_fd = _log_fd(log)
    try:
        return _forked(what, log_fd) if spawn is None else _spawned(what, log_fd)
    finally:
        os.close(log_fd)


def _spawned(what: Command, log_fd: int) -> int:
    assert spawn is not None
    env = [name + b"=" + text for name, text in what.env.items()]
    pid, error = spawn(what.path, what.argv, env, what.cwd, log_fd, _kept(what.limits))
    if error:
        _say_cannot_run(what, os.strerror(error), log_fd)
    return pid


def _forked(what: Command, log_fd: int) -> int:
    agent_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_command(what, log_fd, agent_pid)
    return pid


def log_to(path: str) -> None:
    """Send standard output and standard error to a file of their own."""
    log_fd = _log_fd(path)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    os.close(log_fd)


def obey(limits: dict[str, Any]) -> None:
    """Put the limits in force that the kernel can keep; the agent keeps those of time."""
    for number, most in _kept(limits):
        resource.setrlimit(number, (most, most))


def _kept(limits: dict[str, Any]) -> list[tuple[int, int]]:
    """The limits of the kernel, by the number of the resource."""
    kept = []
    for number, name in (
        (resource.RLIMIT_FSIZE, "output_bytes"),
        (resource.RLIMIT_AS, "memory_bytes"),
    ):
        if limits.get(name) is not None:
            hard = resource.getrlimit(number)[1]
            most = limits[name] if hard == resource.RLIM_INFINITY else min(limits[name], hard)
            kept.append((number, most))
    return kept


def become_attempt(
    order: dict[str, Any], agent_pid: int, middle_pid: int, gate_fd: int
) -> NoReturn:
    """Do the work of `order` in this child of a host, report the result, and exit.

    As long as each attempt is short and leaves no trace, it takes another order instead. It begins
    only once announced (a byte through the gate) and handed over to the agent. Raises nothing: what
    goes wrong is written to the attempt's log and shown by the exit code.
    """
    code = 1
    try:
        os.setsid()
        if not os.read(gate_fd, 1):
            os._exit(0)
        os.close(gate_fd)
        while os.getppid() == middle_pid:  # it exits at once; then the agent is the parent
            time.sleep(0.0001)
        kernel.die_with_parent(agent_pid)
        report_fd, orders_fd = _opened(order["door"], order["orders"])
        obey(order["limits"])
        code = _perform_all(order, report_fd, orders_fd)
    except SystemExit as error:  # the user's code may call sys.exit
        code = _exit_code(error)
    except BaseException:  # noqa: BLE001  # this is the top of a process
        traceback.print_exc()
    finally:
        _leave(code)


def _become_command(what: Command, log_fd: int, agent_pid: int) -> NoReturn:
    # The agent ignores no signal, so that the command finds all of them as they should be.
    try:
        os.setsid()
        kernel.die_with_parent(agent_pid)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        if what.cwd is not None:
            os.chdir(what.cwd)
        obey(what.limits)
        os.execve(what.path, what.argv, what.env)  # noqa: S606  # no shell, on purpose
    except OSError as error:
        _say_cannot_run(what, str(error.strerror), 2)
    except ValueError as error:
        _say_cannot_run(what, str(error), 2)
    finally:
        os._exit(NOT_STARTED)


def _say_cannot_run(what: Command, why: str, fd: int) -> None:
    program = os.fsdecode(what.argv[0])
    os.write(fd, f"sluice: cannot run {program!r}: {why}\n".encode(errors="replace"))


def _found(name: bytes, env: dict[bytes, bytes]) -> bytes:
    """Where PATH has a program; the name itself if it is a path, or nowhere."""
    if b"/" not in name:
        for folder in env.get(b"PATH", os.fsencode(os.defpath)).split(b":"):
            path = folder + b"/" + name
            if os.access(path, os.X_OK):
                return path
    return name


def _log_fd(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _move_log(old: str, new: str) -> None:
    """Go on with the log of the last task if it is empty: a new file costs more than its task."""
    if os.fstat(1).st_size == 0:
        with contextlib.suppress(OSError):  # then there is a new one
            os.rename(old, new)  # noqa: PTH104  # it may overwrite


def _opened(door: str, orders: str) -> tuple[int, int]:
    try:
        report_fd = os.open(door, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        orders_fd = os.open(orders, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # the launch was taken back before this process came to be
        os._exit(0)
    for descriptor in (report_fd, orders_fd):
        os.set_blocking(descriptor, True)
    return report_fd, orders_fd


def _log_to(log: str, report_fd: int) -> None:
    """Open the log. Without one the attempt ends here, by a fault of its node."""
    try:
        log_to(log)
    except OSError as error:
        answer = {"message": f"the log {log!r} cannot be opened: {error.strerror}"}
        failure = {"failure": answer | {"blames": [], "is_node_fault": True}}
        os.write(report_fd, b"\n" + json.dumps(failure).encode() + b"\n")
        os._exit(1)


def _perform_all(order: dict[str, Any], report_fd: int, orders_fd: int) -> int:
    """Do an order, and those that come after it. Returns the exit code."""
    meter, trace = Meter(), None
    with contextlib.closing(Orders(orders_fd)) as orders:
        for number in range(1, ORDERS_MAX + 1):
            began_at_s = time.monotonic()
            _log_to(order["log"], report_fd)
            module = importlib.import_module(order["work"]["module"])
            trace = trace or Trace(module, order["work"])
            os.environ[ATTEMPT_MARK] = order["id"]
            answer, code = _perform(module, order, report_fd, orders)
            is_short = time.monotonic() < began_at_s + SHORT_S
            may_stay = code == 0 and is_short and number < ORDERS_MAX and not trace.is_left()
            _send(report_fd, answer | ({"stays": meter.taken()} if may_stay else {}))
            if not may_stay:
                return code
            following = orders.next_order()
            if following is None:
                break
            last_log, order = order["log"], following
            _move_log(last_log, order["log"])
    return 0


class Trace:
    """The state of a process and of the user's modules in it before its first task.

    After each task they must be the same, or the next one would find something of it.
    """

    def __init__(self, module: ModuleType, work: dict[str, Any]) -> None:
        self._state_of = getattr(module, "user_state", lambda _: None)
        self._work = work
        self._modules = self._state_of(work)
        self._process = None if self._modules is None else ProcessState()

    def is_left(self) -> bool:
        """Whether something has changed, or that cannot be known."""
        if self._process is None:
            return True
        sys.stdout.flush()
        sys.stderr.flush()
        return not self._process.put_back() or self._state_of(self._work) != self._modules


def _perform(
    module: ModuleType, order: dict[str, Any], report_fd: int, orders: Orders
) -> tuple[dict[str, Any], int]:
    """The answer to an order, and the exit code if it is the last."""
    place = {
        "attempt_id": order["id"],
        "node_id": order["node_id"],
        "scratch": order["scratch"],
        "limits": order["limits"],
        "progress_fd": report_fd,
        "orders": orders,
    }
    try:
        return {"result": module.perform(order["work"], place)}, 0
    except Exception as error:
        blames = getattr(error, "blames", None)  # a failure that explains itself: WorkFailed
        if blames is None:
            raise
        failure = {
            "message": str(error),
            "blames": [list(one) for one in blames],
            "is_permanent": getattr(error, "is_permanent", False),
            "is_node_fault": getattr(error, "is_node_fault", False),
            "cause": getattr(error, "cause", ""),
        }
        return {"failure": failure}, 1


def _send(report_fd: int, answer: dict[str, Any]) -> None:
    line = b"\n" + json.dumps(answer).encode() + b"\n"
    while line:
        line = line[os.write(report_fd, line) :]


def _leave(code: int) -> NoReturn:
    """Exit without running what the host had registered to be run at its own exit."""
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code)


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1
