"""Find processes that a command left behind, and that hold one of its pipes open.

The end of a pipe is seen only when the last process that holds it has closed it. A command that
exits while a child of its own runs on in the background may leave its output, or its input, in the
hands of that child; then every process at the other end waits for ever. So a process that holds
such a pipe and does nothing for a few seconds is killed, and the attempt fails with its name. One
that still works is waited for, as with `tee >(sort)`; if the command itself has failed, no process
is waited for.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import IO

from sluice.engines.mapreduce.consumption import pipe_inode

WINDOW_S = 3.0  # in which a process must work to be waited for
WINDOW_AFTER_FAILURE_S = 0.5
BUSY_SHARE = 0.05  # of a processor
BUSY_BYTES = 64 << 10  # read and written
_COMMAND_CHARACTERS_MAX = 80


@dataclass(slots=True, kw_only=True)
class _Watched:
    """A command and the pipes that it got, as inode -> "input" or "output".

    judge_at_s: the end of the present window; None before the exit.
    suspects, cpu_s, moved_bytes: processes that held a pipe when the window began, and what they
    had used by then.
    """

    name: str
    process: Popen[bytes]
    pipes: Mapping[int, str]
    judge_at_s: float | None = None
    suspects: frozenset[int] = frozenset()
    cpu_s: float = 0.0
    moved_bytes: int = 0

    @property
    def has_failed(self) -> bool:
        """Whether the command itself failed, other than by a reader that left."""
        return self.process.returncode not in {0, -signal.SIGPIPE}

    @property
    def window_s(self) -> float:
        """Seconds between two judgements."""
        return WINDOW_AFTER_FAILURE_S if self.has_failed else WINDOW_S

    def is_busy_since(self, cpu_s: float, moved_bytes: int) -> bool:
        """Whether the holders worked in the window that ends now; starts the next one."""
        worked_s, worked_bytes = cpu_s - self.cpu_s, moved_bytes - self.moved_bytes
        self.cpu_s, self.moved_bytes = cpu_s, moved_bytes
        return worked_s >= BUSY_SHARE * self.window_s or worked_bytes >= BUSY_BYTES


@dataclass(slots=True)
class HeldPipes:
    """Watches the pipes of commands after their exit. `look` is called by one thread."""

    _watched: list[_Watched] = field(default_factory=list)

    def add(
        self, name: str, process: Popen[bytes], stdin: IO[bytes] | None, stdout: IO[bytes] | None
    ) -> None:
        """A command has started; streams that are not pipes are ignored."""
        ends = ((stdin, "input"), (stdout, "output"))
        pipes = {inode: end for stream, end in ends if (inode := pipe_inode(stream)) is not None}
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
            if one.judge_at_s is None:
                # Not at once: mostly all is over in an instant, and to look at all processes costs.
                one.judge_at_s = now_s + one.window_s / 3
            if now_s >= one.judge_at_s:
                one.judge_at_s = now_s + one.window_s
                reason = self._judge(one, own_pids)
                if reason is not None:
                    return reason
        return None

    def _judge(self, one: _Watched, own_pids: Collection[int]) -> str | None:
        holders = {pid: one.pipes[inode] for pid, inode in _holders(one.pipes, own_pids)}
        # A process that we are just starting holds all our pipes for an instant, not for a window.
        found = sorted(one.suspects & holders.keys())
        one.suspects = frozenset(holders)
        used = [_used(holder) for holder in holders]
        is_busy = one.is_busy_since(sum(cpu for cpu, _ in used), sum(moved for _, moved in used))
        if not holders:
            self.drop(one.process)
        if not found or (is_busy and not one.has_failed):
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


def _used(pid: int) -> tuple[float, int]:
    """Processor seconds, children included, and bytes that a process has read and written."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = sum(map(int, fields[11:15]))
        moved = Path(f"/proc/{pid}/io").read_bytes().split()
    except OSError:
        return 0.0, 0  # it has ended
    return ticks / os.sysconf("SC_CLK_TCK"), int(moved[1]) + int(moved[3])


def _command(pid: int) -> str:
    """The command line of a process, for a message."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return "ended"
    return os.fsdecode(b" ".join(words))[:_COMMAND_CHARACTERS_MAX] or "no command line"
