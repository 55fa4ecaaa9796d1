"""The processes of one attempt: they run at the same time, all are waited for, none is left.

They stay in the attempt's process group, so that a signal to the group reaches them, and they are
reaped here, so that their resource usage is part of the attempt's own. A command that exits but
leaves a child on its pipes fails the attempt (`held_pipes`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from subprocess import Popen
from types import TracebackType
from typing import IO, Self

from sluice.engines.mapreduce.errors import MACHINE_FAULTS, NodeFault, WorkFailed
from sluice.engines.mapreduce.held_pipes import HeldPipes, exit_text
from sluice.engines.mapreduce.user_errors import one_line
from sluice.engines.mapreduce.watch import Watch

Stream = int | IO[bytes] | None
MESSAGE_BYTES_MAX = 4000
# `sort` reads and writes our own files only, and may add a line of its own after the reason.
_SORT_FAULTS = ("memory exhausted", *(os.strerror(number) for number in sorted(MACHINE_FAULTS)))


class ProcessGroup:
    """Starts processes and waits for them; leaving the context kills those that still run."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._members: list[tuple[str, Popen[bytes]]] = []
        self._pipes = HeldPipes()
        watch.add_check(self._held_pipe)

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        stdin: Stream,
        stdout: Stream,
        cwd: str | None = None,
        env: Mapping[str, str],
    ) -> Popen[bytes]:
        """A running process. Raises WorkFailed if it cannot be started."""
        # The errors of `sort` become part of our message; those of user code go to the log.
        stderr = subprocess.PIPE if name == "sort" else None
        try:
            process = Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env)
        except OSError as error:
            failure = NodeFault if error.errno in MACHINE_FAULTS else WorkFailed
            raise failure(f"{name} {argv[0]!r} cannot be started: {error.strerror}") from error
        if name != "sort":
            self._pipes.add(
                name, process, process.stdin or _file(stdin), process.stdout or _file(stdout)
            )
        # Our copy of a pipe's reading end would keep its writer from seeing that the reader left.
        for stream in (stdin, stdout):
            if stream is not None and not isinstance(stream, int) and _is_pipe(stream):
                stream.close()
        self._members.append((name, process))
        self._watch.add_process(process)
        return process

    def finish(self, *only: Popen[bytes]) -> None:
        """Wait for all processes, or for these. Raises WorkFailed if one failed.

        A process that died of writing to a closed pipe has not failed: its reader left early. A
        failure of `sort` comes first, because it makes the others fail.
        """
        leaving = [member for member in self._members if not only or member[1] in only]
        for name, process in leaving:
            code = process.wait()
            if code not in {0, -signal.SIGPIPE}:
                self._watch.check()
                # An agent may hold single files to the limit too, through the kernel.
                if code == -signal.SIGXFSZ:
                    raise WorkFailed(self._watch.too_much)
                message = self._sort_failure() or _failure(name, process)
                if message.startswith("sort ") and any(one in message for one in _SORT_FAULTS):
                    raise NodeFault(message)
                raise WorkFailed(message)
        for member in leaving:
            self._members.remove(member)
            self._watch.drop_process(member[1])
            self._pipes.drop(member[1])
            _close_pipes(member[1])
        self._watch.check()

    def _held_pipe(self) -> str | None:
        """The reason if a process that a command left behind holds one of its pipes."""
        own_pids = {os.getpid(), *(process.pid for _, process in list(self._members))}
        return self._pipes.look(time.monotonic(), own_pids)

    def _sort_failure(self) -> str | None:
        for name, process in self._members:
            if name == "sort" and process.poll() not in {None, 0, -signal.SIGPIPE}:
                return _failure(name, process)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for _, process in self._members:
            process.kill()
        for _, process in self._members:
            self._pipes.drop(process)
            _close_pipes(process)
            process.wait()
        self._members.clear()


def _failure(name: str, process: Popen[bytes]) -> str:
    code = process.wait()
    errors = process.stderr.read(MESSAGE_BYTES_MAX) if process.stderr is not None else b""
    message = f"{name} {exit_text(code)}"
    return f"{message}: {one_line(os.fsdecode(errors))}" if errors else message


def _file(stream: Stream) -> IO[bytes] | None:
    """The stream, unless it is a number such as `subprocess.PIPE`."""
    return None if isinstance(stream, int) else stream


def _close_pipes(process: Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            _close_quietly(stream)


def _is_pipe(stream: IO[bytes]) -> bool:
    # Files that we opened for writing stay open: the index of a spill is still to be written.
    return "w" not in stream.mode and "+" not in stream.mode


def _close_quietly(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return  # a dead process does not need the rest of its input
