"""The processes of one attempt: started side by side, all waited for, none left behind.

They stay in the attempt's process group, so that whoever kills the group kills them, and they are
reaped here, so that their use of the machine is told with the attempt's own.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from subprocess import Popen
from types import TracebackType
from typing import IO, Self

from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.watch import Watch

Stream = int | IO[bytes] | None
MESSAGE_BYTES_MAX = 4000


class ProcessGroup:
    """Starts processes and answers for them: on leaving, whatever still runs is killed."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._members: list[tuple[str, Popen[bytes]]] = []

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
        """A running process. Raises WorkFailed where it cannot be started."""
        # What `sort` has to say belongs into our message; what user code says, where we talk.
        stderr = subprocess.PIPE if name == "sort" else None
        try:
            process = Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env)
        except OSError as error:
            raise WorkFailed(f"{name} {argv[0]!r} cannot be started: {error.strerror}") from error
        # Our copy of a pipe's reading end would keep its writer from seeing that the reader left.
        for stream in (stdin, stdout):
            if stream is not None and not isinstance(stream, int) and _is_pipe(stream):
                stream.close()
        self._members.append((name, process))
        self._watch.add_process(process)
        return process

    def finish(self, *only: Popen[bytes]) -> None:
        """Wait for all, or for these; raises WorkFailed if one failed, and kills the others then.

        One that died of writing to a closed pipe has not failed: its reader had seen enough. And
        if `sort` failed it is told before the rest, for then that is why they did.
        """
        leaving = [member for member in self._members if not only or member[1] in only]
        for name, process in leaving:
            code = process.wait()
            if code not in {0, -signal.SIGPIPE}:
                self._watch.check()
                # An agent may hold single files to the limit too, through the kernel.
                if code == -signal.SIGXFSZ:
                    raise WorkFailed(self._watch.too_much)
                raise WorkFailed(self._sort_failure() or _failure(name, process))
        for member in leaving:
            self._members.remove(member)
            self._watch.drop_process(member[1])
            _close_pipes(member[1])
        self._watch.check()

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
            _close_pipes(process)
            process.wait()
        self._members.clear()


def _failure(name: str, process: Popen[bytes]) -> str:
    code = process.wait()
    said = process.stderr.read(MESSAGE_BYTES_MAX) if process.stderr is not None else b""
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    return f"{name} {how}" + (f": {os.fsdecode(said).strip()}" if said else "")


def _close_pipes(process: Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            _close_quietly(stream)


def _is_pipe(stream: IO[bytes]) -> bool:
    # Files that we opened to be written stay ours: the index of a spill is still to come.
    return "w" not in stream.mode and "+" not in stream.mode


def _close_quietly(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return  # what was still to be flushed into a dead process is of no use
