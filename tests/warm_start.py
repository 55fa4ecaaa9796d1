"""Commands as processes of their own, without the half second that their imports take.

`Popen` is that of `subprocess`, but `python -m sluice ...` is forked from a host: an interpreter
that has imported Sluice and has run nothing. A command has its own arguments, environment, working
folder, streams, session and umask. It is a child of the process that asked, as any other, and ends
with it. What makes an interpreter another one starts truly: flags, variables such as
PYTHONHASHSEED or LC_ALL, an ignored signal, functions before the start, other programs.

A service starts processes of its own. It has a host too, a copy of it that has run nothing, and
its processes live on when it is killed, as they do otherwise.

What a command shows of itself in /proc is not its own: the command line is the host's, and so is
the environment there. Tests that look at those ask `subprocess` itself.
"""

import atexit
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import sluice
from sluice import cli
from sluice.engines.agent import kernel

SOURCE = Path(sluice.__path__[0]).parent
HOUSE = Path(__file__).resolve().parent.parent
# What is started warm.
MODULES = (
    "sluice",
    "sluice.service",
    "sluice.bootstrap.service.driver_process",
    "sluice.bootstrap.service.follower_process",
    "sluice.bootstrap.service.steering_process",
    "tests.live.dying_at",
    "tests.store.profile_lives",
)
# Parts that few commands need.
NOT_IMPORTED = ("sluice.reproductions", "sluice.engines.ray")
_MESSAGE_MAX = 1 << 20
STDERR = 2

# What an interpreter reads before anything runs in it.
_START_VARIABLES = ("PYTHON", "LC_", "LD_", "LANG", "MALLOC_", "COVERAGE")
# Python ignores them itself, and `subprocess` gives a child their defaults.
_IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen`, with a warm start where it is the same."""

    def _execute_child(self, *given):
        call = inspect.signature(super()._execute_child).bind(*given).arguments  # type: ignore[misc]
        if not is_as_usual(call):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        streams = [call[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        self.pid = _host().start(
            {
                "words": words_of(call["args"]),
                "has_safe_path": call["args"][1] == "-P",
                "cwd": os.fspath(call["cwd"] or Path.cwd()),
                "env": {**(os.environ if call["env"] is None else call["env"])},
                "has_session": call["start_new_session"],
            },
            [number if stream == -1 else stream for number, stream in enumerate(streams)],
        )
        self._child_created = True
        self._close_pipe_fds(
            *(call[f"{pipe}{end}"] for pipe in ("p2c", "c2p", "err") for end in ("read", "write"))
        )


def run(words, *, timeout=None, check=False, capture_output=False, input=None, **options):  # noqa: A002  # as subprocess calls it
    """`subprocess.run` with a warm start."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(words, **options) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def is_as_usual(call):
    """Whether a start is one that a fork does as well."""
    args = call["args"]
    if isinstance(args, (str, bytes)) or call["shell"] or call["executable"] is not None:
        return False
    is_module = args[0] == sys.executable and words_of(args)[:1] in [[name] for name in MODULES]
    unusual = [call["preexec_fn"], call["pass_fds"], call["process_group"] != -1]
    unusual += [call[name] is not None for name in ("gid", "gids", "uid")]
    unusual += [call["umask"] != -1, not call["restore_signals"], not call["close_fds"]]
    env = os.environ if call["env"] is None else call["env"]
    return (
        is_module
        and not any(unusual)
        and start_variables(env) == start_variables(os.environ)
        and not any(
            signal.getsignal(number) is signal.SIG_IGN
            for number in signal.valid_signals() - _IGNORED_BY_PYTHON
        )
    )


def words_of(args):
    """The module of `python -m` or `python -P -m` and its arguments; nothing for others."""
    words = [os.fsdecode(word) for word in args[1:]]
    rest = words[1:] if words[:1] == ["-P"] else words
    return rest[1:] if rest[:1] == ["-m"] else []


def start_variables(env):
    """Variables that make another interpreter; the path of modules can be changed later."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_START_VARIABLES) and name != "PYTHONPATH"
    }


# --- this side ------------------------------------------------------------------------------------


_hosts: dict[int, "Host"] = {}  # by the process that asks


def _host():
    """The host of this process; a fork of this process needs one of its own."""
    if (pid := os.getpid()) not in _hosts:
        _hosts[pid] = Host.started()
        atexit.register(_hosts[pid].end)
    return _hosts[pid]


def channels():
    """Both ends of what a host and the process that asks it talk over."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_MAX)
    return ours, theirs


class Host:
    """The process to fork from; it ends when this process does."""

    def __init__(self, channel, process=None):
        self._channel, self._process = channel, process
        self._lock = threading.Lock()

    @classmethod
    def started(cls):
        """Start one: an interpreter that imports Sluice."""
        ours, theirs = channels()
        # Without PYTHONPATH, so that what follows it in the path of modules is known.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        begin = f"import sys; sys.path[:0] = {[str(SOURCE), str(HOUSE)]}"
        serve = f"from tests.warm_start import serve; serve({theirs.fileno()}, {os.getpid()})"
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"{begin}; {serve}"],
                pass_fds=[theirs.fileno()], env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        return cls(ours, process)

    @classmethod
    def forked(cls, base):
        """Fork one from this process, which has run nothing yet."""
        ours, theirs = channels()
        me = os.getpid()
        if os.fork() == 0:
            kernel.die_with_parent(me)
            ours.close()
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
            end_with(answer, theirs, base)
        theirs.close()
        return cls(ours)

    def start(self, request, streams):
        """The process id of a command, which is a child of this process."""
        with self._lock:
            request["umask"] = os.umask(0o77)
            os.umask(request["umask"])
            socket.send_fds(self._channel, [json.dumps(request).encode()], streams)
            return int(self._channel.recv(64))

    def end(self):
        """End it; commands that still run go on."""
        self._channel.close()
        self._process.wait()


# --- the host -------------------------------------------------------------------------------------


def serve(number, parent_pid):
    """Import Sluice, and fork for each request until the process that asks is gone."""
    base = sys.path[2:]
    # Else numpy starts threads, which a fork does not copy.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import_sluice()
    gc.collect()
    gc.freeze()
    # Ctrl-C is for commands: they get what comes before they are ready.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    answer(socket.socket(fileno=number), base, parent_pid)


def answer(channel, base, parent_pid=None):
    """Fork for each request. parent_pid: of the process with which all that is forked ends."""
    fork = kernel.SiblingFork.found()
    assert fork is not None
    assert fork.is_safe, "an import has started a thread"
    while (got := socket.recv_fds(channel, _MESSAGE_MAX, 3))[0]:
        message, streams, _, _ = got
        if (pid := fork()) == 0:
            if parent_pid is not None:
                kernel.die_with_parent(parent_pid)
            channel.close()
            end_with(outcome, json.loads(message), streams, base)
        channel.send(str(pid).encode())
        for stream in streams:
            os.close(stream)


def import_sluice():
    """Import and build what commands share, but for what most of them do not need."""
    for module in pkgutil.walk_packages(sluice.__path__, "sluice."):
        parts = module.name.split(".")
        if not module.name.startswith(NOT_IMPORTED) and not {"__main__", "migrations"} & {*parts}:
            importlib.import_module(module.name)
    for name in (
        "rich.columns",
        "rich.panel",
        "rich.table",
        "sqlalchemy.dialects.sqlite",
        "alembic.context",
    ):
        importlib.import_module(name)
    from sluice.bootstrap import offered_policies

    cli._command()
    offered_policies.offered()


def outcome(request, streams, base):
    """Become the command and run it; its exit code."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    if starts_others(request["words"]):
        _hosts[os.getpid()] = Host.forked(base)
        subprocess.Popen = Popen  # type: ignore[misc]
    if request["has_session"]:
        os.setsid()
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    given = filter(None, request["env"].get("PYTHONPATH", "").split(os.pathsep))
    here = [] if request["has_safe_path"] else [os.getcwd()]  # noqa: PTH109  # as `site`
    sys.path[:] = dict.fromkeys([*here, *map(os.path.abspath, given), *base])
    importlib.invalidate_caches()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, stream_of(number))
        setattr(sys, f"__{name}__", getattr(sys, name))
    module, *sys.argv[1:] = request["words"]
    if not hasattr(sys.modules.get(module), "__path__"):
        sys.modules.pop(module, None)  # `python -m` has not imported what it runs
    # From here on an interrupt is the command's.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def starts_others(words):
    """Whether a command starts processes: a service, and its web process for what it calculates."""
    is_service = words[:2] == ["sluice", "serve"] and all(one.startswith("-") for one in words[2:3])
    return is_service or words[0] == "sluice.service"


def stream_of(number):
    """A standard stream as the interpreter makes it; one of the host's shows how."""
    old = (sys.__stdin__, sys.__stdout__, sys.__stderr__)[number]
    is_raw = isinstance(old.buffer, io.RawIOBase)  # as PYTHONUNBUFFERED asks for
    file = open(number, "wb" if number else "rb", 0 if is_raw else -1, closefd=False)  # noqa: SIM115
    setattr(file if is_raw else file.raw, "name", old.name)  # noqa: B010  # mypy knows no raw file
    return io.TextIOWrapper(
        file, old.encoding, old.errors, newline="\n" if number else None,
        line_buffering=not is_raw and (number == STDERR or file.isatty()),
        write_through=old.write_through,
    )  # fmt: skip


def end_with(function, *given):
    """End this process as an interpreter does that has run a function."""
    code = 1
    try:
        try:
            code = function(*given)
        except SystemExit as wanted:
            code = code_of(wanted.code)
        except KeyboardInterrupt:
            traceback.print_exc()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        except BaseException:  # noqa: BLE001  # as the interpreter's
            traceback.print_exc()
        threading._shutdown()
        atexit._run_exitfuncs()
        gc.collect()  # what is left has files open
        code = 120 if not are_flushed() else code
    finally:
        os._exit(code & 0xFF)


def code_of(wanted):
    """The exit code for what was given to `sys.exit`."""
    if wanted is None or isinstance(wanted, int):
        return wanted or 0
    print(wanted, file=sys.stderr)  # noqa: T201  # as the interpreter
    return 1


def are_flushed():
    """Whether all that was written has gone out."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except OSError:
        return False
    return True
