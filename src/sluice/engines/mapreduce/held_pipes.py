"""Find processes that a command left behind, and that hold one of its pipes open.

The end of a pipe is seen only when the last process that holds it has closed it. A command that
exits while a child of its own runs on in the background may leave its output, or its input, in the
hands of that child; then every process at the other end waits for ever. So a little after a command
has exited, nobody but the attempt's own processes may hold its pipes. A process that does is
killed, and the attempt fails with its name.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import IO

GRACE_S = 3.0  # for a child that is about to end by itself
GRACE_AFTER_FAILURE_S = 0.5
_COMMAND_CHARACTERS_MAX = 80


@dataclass(slots=True, kw_only=True)
class _Watched:
    """A command and the pipes that it got, as inode -> "input" or "output".

    suspects: processes that held one of them at the last look.
    """

    name: str
    process: Popen[bytes]
    pipes: Mapping[int, str]
    exited_at_s: float | None = None
    suspects: frozenset[int] = frozenset()


@dataclass(slots=True)
class HeldPipes:
    """Watches the pipes of commands after their exit. `look` is called by one thread."""

    _watched: list[_Watched] = field(default_factory=list)

    def add(
        self, name: str, process: Popen[bytes], stdin: IO[bytes] | None, stdout: IO[bytes] | None
    ) -> None:
        """A command has started; streams that are not pipes are ignored."""
        ends = ((stdin, "input"), (stdout, "output"))
        pipes = {inode: end for stream, end in ends if (inode := _pipe_inode(stream)) is not None}
        if pipes:
            self._watched.append(_Watched(name=name, process=process, pipes=pipes))

    def drop(self, process: Popen[bytes]) -> None:
        """All that the command wrote has been read."""
        self._watched = [one for one in self._watched if one.process is not process]

    def look(self, now_s: float, own_pids: Collection[int]) -> str | None:
        """Kill processes that hold a pipe of an exited command; returns the reason, if any.

        own_pids: the processes of the attempt, which may hold pipes.
        """
        for one in self._watched:
            if one.process.poll() is None:
                continue
            if one.exited_at_s is None:
                one.exited_at_s = now_s
            grace_s = GRACE_AFTER_FAILURE_S if one.process.returncode else GRACE_S
            if now_s >= one.exited_at_s + grace_s:
                reason = self._judge(one, own_pids)
                if reason is not None:
                    return reason
        return None

    def _judge(self, one: _Watched, own_pids: Collection[int]) -> str | None:
        holders = {pid: one.pipes[inode] for pid, inode in _holders(one.pipes, own_pids)}
        # Twice, because a process that we are just starting holds all our pipes for an instant.
        found = sorted(one.suspects & holders.keys())
        one.suspects = frozenset(holders)
        if not holders:
            self.drop(one.process)
        if not found:
            return None
        pid, command = found[0], _command(found[0])
        for holder in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(holder, signal.SIGKILL)
        return (
            f"{one.name} {exit_text(one.process.returncode)}, but process {pid} ({command}), which"
            f" it left running, holds its {holders[pid]} open"
        )


def exit_text(code: int) -> str:
    """How a process ended.

    >>> exit_text(3), exit_text(-9)
    ('exited with 3', 'was ended by SIGKILL')
    """
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"


def _pipe_inode(stream: IO[bytes] | None) -> int | None:
    if stream is None or stream.closed:
        return None
    found = os.fstat(stream.fileno())
    return found.st_ino if stat.S_ISFIFO(found.st_mode) else None


def _holders(inodes: Collection[int], own_pids: Collection[int]) -> Iterator[tuple[int, int]]:
    """(process, inode) of other processes that hold one of these pipes."""
    links = {f"pipe:[{inode}]": inode for inode in inodes}
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal() or int(entry.name) in own_pids:
            continue
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            for descriptor in os.scandir(f"/proc/{entry.name}/fd"):
                inode = links.get(_target(descriptor.path))
                if inode is not None:
                    yield int(entry.name), inode
                    break


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115  # thousands of them
    except OSError:
        return ""


def _command(pid: int) -> str:
    """The command line of a process, for a message."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return "ended"
    return os.fsdecode(b" ".join(words))[:_COMMAND_CHARACTERS_MAX] or "no command line"
