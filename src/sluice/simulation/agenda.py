"""Future events, in the order in which they happen.

Ties break by (at_s, rank, running number), never by set or hash order: tasks that end at an
instant end before jobs arrive at it. Source: ordering spec, section 3 (order of events).

A binary heap of its own, because heapq compares tuples: that takes three times as long as comparing
the numbers of two native objects, and each task passes through here once.
"""

from __future__ import annotations

import math
from typing import Final, final

from mypy_extensions import i64

_RANK_SHIFT: Final = 56  # the running number has all bits below


# Ranks: the order of events at one instant.
TASK_RANK: Final = 0
NODE_RANK: Final = 1
SUBMISSION_RANK: Final = 2
HEARTBEAT_RANK: Final = 3
WAKE_RANK: Final = 4


@final
class _Entry:
    """One event. order: its rank, then its running number."""

    __slots__ = ("at_s", "item", "order")

    def __init__(self, at_s: float, order: i64, item: object) -> None:
        self.at_s = at_s
        self.order = order
        self.item = item


def _is_before(one: _Entry, other: _Entry) -> bool:
    return one.at_s < other.at_s or (one.at_s == other.at_s and one.order < other.order)


class Agenda:
    """A heap of events, next to a queue of those that were known in advance.

    The driver interprets their items.

    >>> agenda = Agenda()
    >>> agenda.add(2.0, TASK_RANK, "end")
    >>> agenda.add(1.0, SUBMISSION_RANK, "job")
    >>> agenda.next_at_s, agenda.pop(), agenda.pop(), len(agenda)
    (1.0, 'job', 'end', 0)
    """

    __slots__ = ("_added", "_has_hole", "_heap", "_known", "_known_at_s", "_known_gone")

    def __init__(self) -> None:
        # As one event is taken off, another is mostly added. So what is taken off leaves a hole at
        # the top, and what is added next goes down from there.
        self._heap: list[_Entry] = []
        self._has_hole = False
        self._added: i64 = 0
        self._known: list[_Entry] = []  # in their order
        self._known_gone: i64 = 0
        self._known_at_s: float = math.inf  # the next of them

    def __len__(self) -> int:
        left = len(self._heap) + len(self._known) - self._known_gone
        return left - 1 if self._has_hole else left

    @property
    def next_at_s(self) -> float:
        """When the next event happens; inf if there is none."""
        heap = self._heap
        count: i64 = len(heap)
        at_s = self._known_at_s
        if not self._has_hole:
            return heap[0].at_s if count and heap[0].at_s < at_s else at_s
        if count > 1 and heap[1].at_s < at_s:
            at_s = heap[1].at_s
        if count > 2 and heap[2].at_s < at_s:  # noqa: PLR2004  # the hole and its two children
            at_s = heap[2].at_s
        return at_s

    def _next_order(self, rank: i64) -> i64:
        self._added += 1
        return (rank << _RANK_SHIFT) + self._added

    def add(self, at_s: float, rank: i64, item: object) -> None:
        """Add an event at an instant."""
        order = self._next_order(rank)
        heap = self._heap
        if self._has_hole:
            self._has_hole = False
            entry = heap[0]
            entry.at_s = at_s
            entry.order = order
            entry.item = item
            self._sink(entry)
            return
        entry = _Entry(at_s, order, item)
        heap.append(entry)
        self._rise(entry, len(heap) - 1)

    def add_known(self, at_s: float, rank: i64, item: object) -> None:
        """Add an event that is not before any other that was added in this way."""
        self._known.append(_Entry(at_s, self._next_order(rank), item))
        self._known_at_s = self._known[self._known_gone].at_s

    def pop(self) -> object:
        """Remove the next event; returns its item. IndexError if there is none."""
        heap = self._heap
        if self._has_hole:
            self._has_hole = False
            last = heap.pop()
            if heap:
                self._sink(last)
        if self._known_at_s < math.inf:
            entry = self._known[self._known_gone]
            if not heap or _is_before(entry, heap[0]):
                self._known_gone += 1
                is_last = self._known_gone == len(self._known)
                self._known_at_s = math.inf if is_last else self._known[self._known_gone].at_s
                return entry.item
        first = heap[0]
        item, first.item = first.item, None
        self._has_hole = True
        return item

    def _sink(self, entry: _Entry) -> None:
        """Put an entry into the hole at the top, or where it belongs below.

        The hole goes down to a leaf along the lesser children, and the entry rises from there: it
        is late, so that it mostly stays a leaf.
        """
        heap = self._heap
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
        self._rise(entry, place)

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
