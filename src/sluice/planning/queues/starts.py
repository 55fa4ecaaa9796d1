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
from collections.abc import Callable, Sequence
from copy import copy
from heapq import heappop, heappush
from typing import Final, NamedTuple

import numpy as np

BACKFILLED_MAX: Final = 500  # waiting jobs that are looked at behind the first
_LEAST_S: Final = 1e-3
_LONGEST_S: Final = sys.float_info.max
_STARTED: Final = sys.maxsize  # slots of a row that waits no more
_FEW: Final = 8  # rows that are compared faster one by one


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
    line.walk(lambda: False)
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
        self._most = slots
        self._found: dict[tuple[QueueEntry, float], float] = {}

    def is_behind(self, lengths_s: Sequence[float]) -> bool:
        """Whether those ahead of it take exactly as long as the first of these."""
        return self._line.lengths_s[:-1] == lengths_s[:-1]

    def starts(self, entry: QueueEntry, length_s: float) -> list[float]:
        """The starts of all if the last one is this entry, for which there is room."""
        ahead = self._line
        ahead.walk(lambda: ahead.is_last_in_sight)
        line = copy(ahead)
        line.change_last(entry, length_s)
        line.walk(lambda: False)
        return line.starts

    def start_s(self, entry: QueueEntry, length_s: float, *, by_s: float = math.inf) -> float:
        """The start of the last one if it is this entry; infinite if it never fits.

        by_s: infinite, too, if it ends later than then.
        """
        if entry.slots > self._most:
            return math.inf
        key = (entry, length_s)
        if key not in self._found:
            start_s = self._walked(entry, length_s, by_s)
            if start_s == math.inf and by_s < math.inf:
                return math.inf  # which is not known without the bound
            self._found[key] = start_s
        found_s = self._found[key]
        return found_s if found_s + length_s <= by_s else math.inf

    def _walked(self, entry: QueueEntry, length_s: float, by_s: float) -> float:
        ahead = self._line
        ahead.walk(lambda: ahead.is_last_in_sight or ahead.now_s + length_s > by_s)
        if ahead.now_s + length_s > by_s:
            return math.inf
        line = copy(ahead)
        line.change_last(entry, length_s)
        line.walk(lambda: line.starts[-1] < math.inf or line.now_s + length_s > by_s)
        return line.starts[-1]


class _Line:
    """One walk through the ends of jobs.

    Jobs that fit into the cluster have a row each. The rows of the line are those from `_first` up
    to `_behind`, without the ones that have started.
    """

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
        self.lengths_s = list(lengths_s)
        self._free = slots
        self._backfills = backfills
        self.starts = [math.inf] * len(entries)
        self._running: list[tuple[float, int]] = []  # when each really ends, a heap
        self._expected: list[tuple[float, int]] = []  # when each is expected to end, ascending
        self._end_s: dict[int, float] = {}  # the same by place
        self.now_s = 0.0
        needs = np.array([entry.slots for entry in entries], dtype=np.int64)
        self._places = np.flatnonzero(needs <= slots)
        self._slots = needs[self._places]
        self._estimates_s = np.array([entry.estimate_s for entry in entries])[self._places]
        self._first = self._behind = int(np.searchsorted(self._places, running))
        self._waiting = 0  # rows of the line
        for place in self._places[: self._behind]:
            self._start(int(place), 0.0)
        self._top_up()

    @property
    def is_last_in_sight(self) -> bool:
        return self._behind == len(self._places)

    def change_last(self, entry: QueueEntry, length_s: float) -> None:
        """Let another one be at the end. The line that this one was copied from stays as it is."""
        self._entries = [*self._entries[:-1], entry]
        self.lengths_s = [*self.lengths_s[:-1], length_s]
        self.starts, self._end_s = list(self.starts), dict(self._end_s)
        self._running, self._expected = list(self._running), list(self._expected)
        self._places = self._places.copy()
        self._slots, self._estimates_s = self._slots.copy(), self._estimates_s.copy()
        self._slots[-1], self._estimates_s[-1] = entry

    def walk(self, until: Callable[[], bool]) -> None:
        """Go on until all have started, or until then."""
        while self._waiting and not until():
            now_s, due_s = self.now_s, self._serve(self.now_s)
            if not self.is_last_in_sight and self._waiting <= BACKFILLED_MAX:
                self._top_up()
                if self._free:
                    continue  # one of those that came into sight may start, too
            if not self._waiting:
                return
            ends_s = self._running[0][0]
            if ends_s == math.inf:
                return  # nothing that runs ever ends
            self.now_s = min(ends_s, due_s) if due_s > now_s else ends_s
            self._end_until(self.now_s)

    def _top_up(self) -> None:
        """Let in as many of those behind the line as are looked at."""
        more = min(len(self._places) - self._behind, BACKFILLED_MAX + 1 - self._waiting)
        self._behind += more
        self._waiting += more
        if self._behind - self._first > 2 * (BACKFILLED_MAX + 1):
            self._close_up()

    def _close_up(self) -> None:
        """Move the rows of the line together, at its end."""
        rows = slice(self._first, self._behind)
        waits = self._slots[rows] < _STARTED
        self._first = self._behind - self._waiting
        for column in (self._places, self._slots, self._estimates_s):
            column[self._first : self._behind] = column[rows][waits]

    def _serve(self, now_s: float) -> float:
        """Start what may start. Returns the instant reserved for the first of the others."""
        while self._waiting and (needs := self._slots.item(self._first)) <= self._free:
            self._start_row(self._first, now_s)
            self._pass_started()
        if not self._waiting or not self._backfills:
            return math.inf
        due_s, extra = self._reserved(needs, now_s)
        if self._free:
            self._backfill(now_s, due_s, extra)
        return due_s

    def _backfill(self, now_s: float, due_s: float, extra: int) -> None:
        """Start jobs that do not delay the first one. extra: slots still free when it starts."""
        fits = (self._slots[self._first : self._behind] <= self._free).nonzero()[0] + self._first
        # A job that may never end delays the first one, whenever that one could start.
        end_s = min(due_s, _LONGEST_S)
        if len(fits) > _FEW:
            may = now_s + self._estimates_s[fits] <= end_s
            fits = fits[may | (self._slots[fits] <= extra)]
        for row in fits.tolist():
            held = self._slots.item(row)
            if held > self._free:
                continue
            is_in_time = now_s + self._estimates_s.item(row) <= end_s
            if is_in_time or held <= extra:
                extra -= 0 if is_in_time else held
                self._start_row(row, now_s)
                if not self._free:
                    return

    def _pass_started(self) -> None:
        while self._first < self._behind and self._slots.item(self._first) == _STARTED:
            self._first += 1

    def _start_row(self, row: int, now_s: float) -> None:
        self._slots[row] = _STARTED
        self._waiting -= 1
        self._start(self._places.item(row), now_s)

    def _start(self, place: int, now_s: float) -> None:
        self.starts[place] = now_s
        self._free -= self._entries[place].slots
        heappush(self._running, (now_s + self.lengths_s[place], place))
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
