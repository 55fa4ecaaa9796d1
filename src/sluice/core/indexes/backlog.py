"""The queue of released work of one kind, of all pools or of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from mypy_extensions import i64


class QueuedPhase:
    """A phase as a backlog reads it. release_seq: the place of its job in the order of release;
    index: its own in the job; is_queued: whether it has tasks to start.
    """

    __slots__ = ("index", "is_queued", "release_seq")

    def __init__(self, index: int) -> None:
        self.index: i64 = index
        self.release_seq: i64 = -1
        self.is_queued = False


_LEFT_MAX: Final = 16  # phases that have left a short queue

P = TypeVar("P", bound=QueuedPhase)


class Backlog(Generic[P]):
    """Startable phases with waiting tasks, in the order of their release.

    A sorted list, for nearly every phase joins behind all others. A phase with nothing left stays
    in it until it comes to the front, or most of the list has left, as when jobs are backfilled
    past a first one that waits for long.

    count: phases in the queue, without those that have left it.  added: how often one entered it.
    """

    __slots__ = ("_gone", "_line", "added", "count")

    def __init__(self) -> None:
        self._line: list[P] = []
        self._gone: i64 = 0  # so many at the front have left
        self.count: i64 = 0
        self.added: i64 = 0

    def add(self, phase: P) -> None:
        """A phase enters the queue."""
        self.count += 1
        self.added += 1
        if len(self._line) > 2 * self.count + _LEFT_MAX:
            self.compact()
        line, low = self._line, self._gone
        high: i64 = len(line)
        if high > low and not _is_before(line[high - 1], phase):
            while low < high:
                middle: i64 = (low + high) >> 1
                if _is_before(line[middle], phase):
                    low = middle + 1
                else:
                    high = middle
            if line[low] is phase:
                return  # it left, and has come back
        line.insert(high, phase)

    def leave(self) -> None:
        """A phase has left the queue; its `is_queued` says which."""
        self.count -= 1

    def compact(self) -> None:
        """Let go of the phases that have left it, also behind a first one that waits for long."""
        self._line = list(self.in_order())
        self._gone = 0

    def phases(self) -> set[P]:
        """All of them, in no order."""
        return set(self.in_order())

    def first(self) -> P | None:
        """The first phase."""
        line, gone = self._line, self._gone
        while gone < len(line):
            phase = line[gone]
            if phase.is_queued:
                self._gone = gone
                return phase
            gone += 1
        self._gone = gone
        return None

    def in_order(self) -> Iterator[P]:
        """All of them in order; costs only what is consumed. Change nothing meanwhile."""
        for at in range(self._gone, len(self._line)):
            phase = self._line[at]
            if phase.is_queued:
                yield phase


def _is_before(one: QueuedPhase, other: QueuedPhase) -> bool:
    """Whether a phase is before another in the queue of released work."""
    seq, other_seq = one.release_seq, other.release_seq
    return one.index < other.index if seq == other_seq else seq < other_seq
