"""Starts of queued jobs under first come first served and EASY backfilling, as plain arithmetic.

It says what `fcfs` and `easy` do in `simulate` (a property test compares them), for jobs that start
as a whole on slots that are all alike. A forecast asks a hundred times for one queue: 500 jobs take
8 ms here and a few hundred in the simulator.
Source: Mu'alem and Feitelson, IEEE TPDS 12 (2001).
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

BACKFILLED_MAX: Final = 500  # waiting jobs that are looked at behind the first
_LEAST_S: Final = 1e-3
_Places = npt.NDArray[np.int64]


class QueueEntry(NamedTuple):
    """A job in the line. slots: that it holds.  estimate_s: what the scheduler expects of it."""

    slots: int
    estimate_s: float


def starts(
    entries: Sequence[QueueEntry],
    lengths_s: Sequence[float],
    slots: int,
    *,
    running: int = 0,
    backfills: bool = True,
) -> list[float]:
    """The start of each entry, seconds from now; infinite for one that never fits.

    lengths_s: how long each really runs, for those that run now from now on.
    running: so many entries at the head run already.  slots: of the cluster.
    """
    return _Line(entries, lengths_s, slots, backfills=backfills).walk(running)


class _Line:
    """One walk through the ends of jobs."""

    def __init__(
        self,
        entries: Sequence[QueueEntry],
        lengths_s: Sequence[float],
        slots: int,
        *,
        backfills: bool,
    ) -> None:
        self._entries = entries
        self._lengths_s = lengths_s
        self._free = slots
        self._backfills = backfills
        self._starts = [math.inf] * len(entries)
        self._running: list[tuple[float, int]] = []  # when each really ends, a heap
        self._expected: list[tuple[float, int]] = []  # when each is expected to end, ascending
        self._end_s: dict[int, float] = {}  # the same by place
        self._slots = np.array([entry.slots for entry in entries], dtype=np.int64)
        self._estimates_s = np.array([entry.estimate_s for entry in entries])

    def walk(self, running: int) -> list[float]:
        fitting = np.flatnonzero(self._slots <= self._free)
        first = int(np.searchsorted(fitting, running))
        for place in fitting[:first]:
            self._start(int(place), 0.0)
        line, behind = self._topped_up(fitting[:0], fitting, first)
        now_s = 0.0
        while len(line):
            line, due_s = self._serve(line, now_s)
            if behind < len(fitting) and len(line) <= BACKFILLED_MAX:
                line, behind = self._topped_up(line, fitting, behind)
                if self._free:
                    continue  # one of those that came into sight may start, too
            if not len(line):
                break
            ends_s = self._running[0][0]
            now_s = min(ends_s, due_s) if due_s > now_s else ends_s
            self._end_until(now_s)
        return self._starts

    @staticmethod
    def _topped_up(line: _Places, fitting: _Places, behind: int) -> tuple[_Places, int]:
        """The line with as many of those behind it as are looked at, and where these end."""
        more = fitting[behind : behind + BACKFILLED_MAX + 1 - len(line)]
        return np.concatenate([line, more]), behind + len(more)

    def _serve(self, line: _Places, now_s: float) -> tuple[_Places, float]:
        """Start what may start. The others, and the instant reserved for the first of them."""
        first = 0
        while first < len(line) and self._slots[line[first]] <= self._free:
            self._start(int(line[first]), now_s)
            first += 1
        line = line[first:]
        if not len(line) or not self._backfills:
            return line, math.inf
        due_s, extra = self._reserved(int(self._slots[line[0]]), now_s)
        if not self._free:
            return line, due_s
        slots, in_time = self._slots[line], now_s + self._estimates_s[line] <= due_s
        may = (slots <= self._free) & (in_time | (slots <= extra))
        may[0] = False
        started = []
        for at in np.flatnonzero(may):
            held = int(slots[at])
            if held <= self._free and (in_time[at] or held <= extra):
                extra -= 0 if in_time[at] else held
                self._start(int(line[at]), now_s)
                started.append(at)
        return (np.delete(line, started) if started else line), due_s

    def _start(self, place: int, now_s: float) -> None:
        self._starts[place] = now_s
        self._free -= self._entries[place].slots
        heappush(self._running, (now_s + self._lengths_s[place], place))
        self._expect(place, now_s + max(self._entries[place].estimate_s, _LEAST_S))

    def _end_until(self, now_s: float) -> None:
        while self._running and self._running[0][0] <= now_s:
            _, place = heappop(self._running)
            self._free += self._entries[place].slots
            expected = (self._end_s.pop(place), place)
            del self._expected[bisect_left(self._expected, expected)]

    def _expect(self, place: int, end_s: float) -> None:
        self._end_s[place] = end_s
        insort(self._expected, (end_s, place))

    def _reserved(self, slots: int, now_s: float) -> tuple[float, int]:
        """When so many slots are free by the estimates, and how many more are free then."""
        while self._expected[0][0] <= now_s:  # it runs on: twice as long, and again
            end_s, place = self._expected.pop(0)
            self._expect(place, end_s + (end_s - self._starts[place]))
        free, due_s = self._free, now_s
        for end_s, place in self._expected:
            if free >= slots and end_s > due_s:
                break
            free += self._entries[place].slots
            due_s = end_s
        return due_s, free - slots
