"""Starts of queued jobs under first come first served and EASY backfilling, as plain arithmetic.

It says what `fcfs` and `easy` do in `simulate` (a property test compares them), for jobs that start
as a whole on slots that are all alike. A forecast asks a hundred times for one queue: 500 jobs take
8 ms here and a few hundred in the simulator.
Source: Mu'alem and Feitelson, IEEE TPDS 12 (2001).
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, insort
from collections.abc import Sequence
from copy import copy
from heapq import heappop, heappush
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

BACKFILLED_MAX: Final = 500  # waiting jobs that are looked at behind the first
_LEAST_S: Final = 1e-3
_LONGEST_S: Final = sys.float_info.max
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
    """The start of each entry, seconds from now; infinite for one that never starts.

    lengths_s: how long each really runs, for those that run now from now on; infinite for one that
    never ends, whose estimate must be infinite, too.
    running: so many entries at the head run already.  slots: of the cluster.
    """
    line = _Line(entries, lengths_s, slots, running=running, backfills=backfills)
    line.walk()
    return line.starts


class LastInLine:
    """The last entry of a line, which may be another: what is ahead goes on as before.

    All that happens until it comes into sight happens once. Arguments as for `starts`.
    """

    def __init__(
        self,
        entries: Sequence[QueueEntry],
        lengths_s: Sequence[float],
        slots: int,
        *,
        running: int = 0,
        backfills: bool = True,
    ) -> None:
        ahead = [*entries[:-1], QueueEntry(0, 0.0)]  # for which there is room in every cluster
        self._line = _Line(ahead, lengths_s, slots, running=running, backfills=backfills)
        self._line.walk(until_last=True)
        self._most = slots

    def start_s(self, entry: QueueEntry, length_s: float) -> float:
        """The start of the last one if it is this entry; infinite if it never fits."""
        if entry.slots > self._most:
            return math.inf
        line = copy(self._line)
        line.change_last(entry, length_s)
        line.walk()
        return line.starts[-1]


class _Line:
    """One walk through the ends of jobs."""

    def __init__(
        self,
        entries: Sequence[QueueEntry],
        lengths_s: Sequence[float],
        slots: int,
        *,
        running: int,
        backfills: bool,
    ) -> None:
        self._entries = list(entries)
        self._lengths_s = list(lengths_s)
        self._free = slots
        self._backfills = backfills
        self.starts = [math.inf] * len(entries)
        self._running: list[tuple[float, int]] = []  # when each really ends, a heap
        self._expected: list[tuple[float, int]] = []  # when each is expected to end, ascending
        self._end_s: dict[int, float] = {}  # the same by place
        self._slots = np.array([entry.slots for entry in entries], dtype=np.int64)
        self._estimates_s = np.array([entry.estimate_s for entry in entries])
        self._now_s = 0.0
        self._look_at(np.empty(0, dtype=np.int64))
        self._fitting = np.flatnonzero(self._slots <= slots)
        self._behind = int(np.searchsorted(self._fitting, running))  # so many have been in sight
        for place in self._fitting[: self._behind]:
            self._start(int(place), 0.0)
        self._top_up()

    def change_last(self, entry: QueueEntry, length_s: float) -> None:
        """Let another one be at the end. The line that this one was copied from stays as it is."""
        self._entries = [*self._entries[:-1], entry]
        self._lengths_s = [*self._lengths_s[:-1], length_s]
        self.starts, self._end_s = list(self.starts), dict(self._end_s)
        self._running, self._expected = list(self._running), list(self._expected)
        self._slots, self._estimates_s = self._slots.copy(), self._estimates_s.copy()
        self._slots[-1], self._estimates_s[-1] = entry
        self._look_at(self._line)

    def walk(self, *, until_last: bool = False) -> None:
        """Go on until all have started, or until the last one comes into sight."""
        while len(self._line):
            if until_last and self._behind == len(self._fitting):
                return
            now_s, due_s = self._now_s, self._serve(self._now_s)
            if self._behind < len(self._fitting) and len(self._line) <= BACKFILLED_MAX:
                self._top_up()
                if self._free:
                    continue  # one of those that came into sight may start, too
            if not len(self._line):
                return
            ends_s = self._running[0][0]
            if ends_s == math.inf:
                return  # nothing that runs ever ends
            self._now_s = min(ends_s, due_s) if due_s > now_s else ends_s
            self._end_until(self._now_s)

    def _top_up(self) -> None:
        """Let in as many of those behind the line as are looked at."""
        more = self._fitting[self._behind : self._behind + BACKFILLED_MAX + 1 - len(self._line)]
        self._behind += len(more)
        self._look_at(np.concatenate([self._line, more]))

    def _look_at(self, line: _Places) -> None:
        """The line is this; what is compared at each end is kept in its order."""
        self._line = line
        self._line_slots, self._line_s = self._slots[line], self._estimates_s[line]

    def _serve(self, now_s: float) -> float:
        """Start what may start. Returns the instant reserved for the first of the others."""
        first = 0
        while first < len(self._line) and self._line_slots[first] <= self._free:
            self._start(int(self._line[first]), now_s)
            first += 1
        if first:
            self._look_at(self._line[first:])
        if not len(self._line) or not self._backfills:
            return math.inf
        due_s, extra = self._reserved(int(self._line_slots[0]), now_s)
        if not self._free:
            return due_s
        # A job that may never end delays the first one, whenever that one could start.
        slots, in_time = self._line_slots, now_s + self._line_s <= min(due_s, _LONGEST_S)
        may = (slots <= self._free) & (in_time | (slots <= extra))
        may[0] = False
        started = []
        for at in may.nonzero()[0]:
            held = int(slots[at])
            if held <= self._free and (in_time[at] or held <= extra):
                extra -= 0 if in_time[at] else held
                self._start(int(self._line[at]), now_s)
                started.append(at)
        if started:
            may[:] = True
            may[started] = False
            self._look_at(self._line[may])
        return due_s

    def _start(self, place: int, now_s: float) -> None:
        self.starts[place] = now_s
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
            self._expect(place, end_s + (end_s - self.starts[place]))
        free, due_s = self._free, now_s
        for end_s, place in self._expected:
            if free >= slots and end_s > due_s:
                break
            free += self._entries[place].slots
            due_s = end_s
        return due_s, free - slots
