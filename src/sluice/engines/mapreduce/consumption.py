"""How much of its input the user's code has consumed: the progress of an attempt.

Bytes that were read from a file, or written to a pipe, may still wait for the user's code. And a
process reads more than its input: an interpreter reads its own library when it starts, which is
more than a small split. So progress counts the input that was taken:

* by a command, the bytes written to its pipe, without those that are still in the pipe;
* by Python functions and mrjob classes, the lines that were taken and are done with.

Each meter has one property, `consumed_bytes`, which another thread may read at any time.
"""

from __future__ import annotations

import array
import fcntl
import os
import stat
import termios
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from operator import length_hint
from pathlib import Path
from subprocess import Popen
from typing import IO, Protocol, TypeVar

Line = TypeVar("Line")  # text, bytes, or what was made of them
Cut = Callable[[bytes], Sequence[Line]]


class Meter(Protocol):
    """Counts input that was consumed."""

    @property
    def consumed_bytes(self) -> float:
        """How much so far; never falls."""


class ConsumedTogether:
    """Counts what several meters count."""

    def __init__(self, meters: Sequence[Meter]) -> None:
        self._meters = meters

    @property
    def consumed_bytes(self) -> float:
        """The sum of all."""
        return sum(meter.consumed_bytes for meter in self._meters)


class ConsumedLines:
    r"""Hands out the lines of blocks and counts those that are done with.

    A line is done with when the next one is taken. An iterator of a list knows how many items are
    left, so a line costs nothing extra.

    >>> meter = ConsumedLines()
    >>> lines = meter.lines([b"ab\ncd\n", b"ef\n"], bytes.splitlines)
    >>> [(line, meter.consumed_bytes) for line in lines], meter.consumed_bytes
    ([(b'ab', 0.0), (b'cd', 3.0), (b'ef', 6.0)], 9.0)
    """

    def __init__(self) -> None:
        # Bytes of earlier blocks; bytes and lines of this block, and its iterator. One tuple, so
        # that the reading thread sees either the old or the new block.
        self._block: tuple[int, int, int, Iterator[object]] = (0, 0, 0, iter(()))

    def lines(self, blocks: Iterable[bytes], cut: Cut[Line]) -> Iterator[Line]:
        """All lines of blocks that end with whole lines. cut: makes lines of a block."""
        before = 0
        for block in blocks:
            lines = cut(block)
            taken = iter(lines)
            self._block = (before, len(block), len(lines), taken)
            yield from taken
            before += len(block)
            self._block = (before, 0, 0, iter(()))

    @property
    def consumed_bytes(self) -> float:
        before, size, lines, taken = self._block
        if not lines:
            return float(before)
        done = lines - length_hint(taken) - 1
        return before + size * max(0, done) / lines


class PipedBytes:
    """Counts the bytes that a process has read from the pipe that is its standard input.

    written_bytes: how many bytes were written to the pipe so far.
    """

    def __init__(
        self, process: Popen[bytes], pipe_inode: int | None, written_bytes: Callable[[], int]
    ) -> None:
        self._pid = process.pid
        self._inode = pipe_inode
        self._written_bytes = written_bytes
        self._consumed_bytes = 0

    @property
    def consumed_bytes(self) -> float:
        # In this order, bytes that are written in between count as waiting, not as consumed.
        written_bytes = self._written_bytes()
        waiting_bytes = self._waiting_bytes()
        if waiting_bytes is not None:
            consumed_bytes = written_bytes - waiting_bytes
            self._consumed_bytes = max(self._consumed_bytes, consumed_bytes)
        return self._consumed_bytes

    def _waiting_bytes(self) -> int | None:
        """Bytes in the pipe; None if the process has ended, or reads something else by now."""
        stdin = f"/proc/{self._pid}/fd/0"
        try:
            if os.readlink(stdin) != f"pipe:[{self._inode}]":  # noqa: PTH115  # not a path of a file
                return None
            # For an instant only: an open reading end hides from the writer that its reader left.
            pipe = os.open(stdin, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            waiting = array.array("i", [0])
            fcntl.ioctl(pipe, termios.FIONREAD, waiting)
            return waiting[0]
        finally:
            os.close(pipe)


def lines_of(block: bytes) -> list[bytes]:
    r"""The lines of a block with their newlines; unlike `splitlines`, only a newline ends one.

    >>> lines_of(b"a\rb\nc\n")
    [b'a\rb\n', b'c\n']
    """
    return BytesIO(block).readlines()


def pipe_inode(stream: IO[bytes] | None) -> int | None:
    """The inode by which a pipe is recognised; None for anything else."""
    if stream is None or stream.closed:
        return None
    found = os.fstat(stream.fileno())
    return found.st_ino if stat.S_ISFIFO(found.st_mode) else None


def written_bytes(process: Popen[bytes], total_bytes: int) -> int:
    """Bytes that a process has written to its output, of `total_bytes` when it has ended."""
    if process.poll() is not None:
        return total_bytes
    try:
        text = Path(f"/proc/{process.pid}/io").read_text("ascii")
    except OSError:
        return 0
    fields = dict(line.split(": ") for line in text.splitlines())
    return min(total_bytes, int(fields.get("wchar", 0)))
