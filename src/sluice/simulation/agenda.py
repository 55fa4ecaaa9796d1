"""Future events, in the order in which they happen.

Ties break by (at_s, rank, running number), never by set or hash order: tasks that end at an
instant end before jobs arrive at it. Source: ordering spec, section 3 (order of events).

A binary heap of its own, because heapq compares tuples: that takes three times as long as comparing
the numbers of two native objects, and each task passes through here once.
"""

from __future__ import annotations

import math
from typing import Final

from mypy_extensions import i64, mypyc_attr

_RANK_SHIFT: Final = 56  # the running number has all bits below


# Ranks: the order of events at one instant.
TASK_RANK: Final = 0
NODE_RANK: Final = 1
SUBMISSION_RANK: Final = 2
HEARTBEAT_RANK: Final = 3
WAKE_RANK: Final = 4


@mypyc_attr(free_list_len=1)  # one is taken off as another is added
class _Entry:
    """One event. order: its rank, then its running number."""

    __slots__ = ("at_s", "item", "order")

    def __init__(self, at_s: float, order: i64, item: object) -> None:
        self.at_s = at_s
        self.order = order
        self.item = item


class Agenda:
    """A heap of events; the driver interprets their items.

    >>> agenda = Agenda()
    >>> agenda.add(2.0, TASK_RANK, "end")
    >>> agenda.add(1.0, SUBMISSION_RANK, "job")
    >>> agenda.next_at_s, agenda.pop(), agenda.pop(), len(agenda)
    (1.0, 'job', 'end', 0)
    """

    __slots__ = ("_added", "_heap")

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._added: i64 = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_at_s(self) -> float:
        """When the next event happens; inf if there is none."""
        return self._heap[0].at_s if self._heap else math.inf

    def add(self, at_s: float, rank: int, item: object) -> None:
        """Add an event at an instant."""
        self._added += 1
        rank_bits: i64 = rank
        order: i64 = (rank_bits << _RANK_SHIFT) + self._added
        entry = _Entry(at_s, order, item)
        heap = self._heap
        heap.append(entry)
        self._rise(entry, len(heap) - 1)

    def pop(self) -> object:
        """Remove the next event; returns its item. IndexError if there is none."""
        heap = self._heap
        last = heap.pop()
        if not heap:
            return last.item
        first = heap[0]
        # The hole goes down to a leaf along the lesser children, and the last entry rises from
        # there: it was a leaf before, so that it mostly stays one.
        count: i64 = len(heap)
        place: i64 = 0
        child: i64 = 1
        while child < count:
            lesser = heap[child]
            if child + 1 < count:
                other = heap[child + 1]
                if other.at_s < lesser.at_s or (
                    other.at_s == lesser.at_s and other.order < lesser.order
                ):
                    lesser = other
                    child += 1
            heap[place] = lesser
            place = child
            child = 2 * place + 1
        self._rise(last, place)
        return first.item

    def _rise(self, entry: _Entry, place: i64) -> None:
        """Put an entry into the hole at a place, or where it belongs above."""
        heap = self._heap
        at_s, order = entry.at_s, entry.order
        while place > 0:
            parent: i64 = (place - 1) >> 1
            above = heap[parent]
            if above.at_s < at_s or (above.at_s == at_s and above.order < order):
                break
            heap[place] = above
            place = parent
        heap[place] = entry
