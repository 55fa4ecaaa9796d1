"""An order over things whose keys keep changing, kept up to date lazily.

Whoever changes a thing calls `touch`; the key is worked out again only when somebody asks for
the order. Each change costs O(log n) at most, however many changes fall between two questions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
E = TypeVar("E")

PASSED_OVER_MAX = 2  # times the size of the heap: then clearing it costs less than it saves


def in_heap_order(heap: list[E]) -> Iterator[E]:
    """The entries of a heap in ascending order, the heap left as it is.

    k entries cost O(k log k), whatever the size of the heap.

    >>> list(in_heap_order([1, 3, 2, 7]))
    [1, 2, 3, 7]
    """
    frontier = [(heap[0], 0)] if heap else []
    while frontier:
        entry, position = frontier[0]
        yield entry
        left = 2 * position + 1
        if left >= len(heap):
            heapq.heappop(frontier)
            continue
        # Pop and push at once: a child often takes the very place of its parent.
        heapq.heapreplace(frontier, (heap[left], left))
        if left + 1 < len(heap):
            heapq.heappush(frontier, (heap[left + 1], left + 1))


class Ranking(Generic[T]):
    """Things by ascending key; a thing whose key is None is out of the order.

    Keys are tuples; equal keys stand in the order in which they were last worked out.
    """

    __slots__ = ("_current", "_heap", "_key", "_passed_over", "_pushed", "_touched")

    def __init__(self, key: Callable[[T], tuple[Any, ...] | None]) -> None:
        self._key = key
        self._heap: list[tuple[tuple[Any, ...], int, T]] = []
        self._current: dict[T, tuple[Any, ...]] = {}
        self._touched: dict[T, None] = {}
        self._pushed = 0
        self._passed_over = 0  # stale entries met by walks since the heap was cleared of them

    def touch(self, thing: T) -> None:
        """The thing's key may have changed."""
        self._touched[thing] = None

    def first(self) -> T | None:
        """The thing with the least key, or None."""
        if self._touched:
            best = self._best_touched()
            if best is not None:
                return best
        top = self._top()
        return None if top is None else top[2]

    def _best_touched(self) -> T | None:
        """Give the touched things their new places; return the least of them if it comes first.

        That one keeps its old place for now: what comes first is often taken and put back at once
        (a slot is freed and filled), and then its old place is right again.
        """
        current = self._current
        best: T | None = None
        best_key: tuple[Any, ...] = ()
        for thing in self._touched:
            key = self._key(thing)
            if key == current.get(thing):
                continue
            if key is None:
                del current[thing]
            elif best is None:
                best, best_key = thing, key
            elif key < best_key:
                self._place(best, best_key)
                best, best_key = thing, key
            else:
                self._place(thing, key)
        self._touched.clear()
        if best is None:
            return None
        top = self._top()
        if top is None or best_key < top[0]:
            self._touched[best] = None
            return best
        self._place(best, best_key)
        return None

    def _top(self) -> tuple[tuple[Any, ...], int, T] | None:
        """The first live entry of the heap; stale ones are dropped on the way."""
        heap, current = self._heap, self._current
        while heap:
            top = heap[0]
            if current.get(top[2]) is top[0]:
                return top
            heapq.heappop(heap)
        return None

    def first_and_bound(self) -> tuple[T | None, tuple[Any, ...] | None]:
        """The thing with the least key, and a key that none of the others is below.

        The bound is None where there are no others. It may lie lower than it must, for stale
        entries of the heap count too.
        """
        best, heap = self.first(), self._heap
        if best is None:
            return None, None
        # What keeps its old place (see `_best_touched`) is not on top, or bounds itself as well.
        rest = heap[:1] if self._touched else heap[1:3]
        return best, min([entry[0] for entry in rest], default=None)

    def in_order(self) -> Iterator[T]:
        """All things by ascending key; costs only what is consumed. Touch nothing meanwhile."""
        if self._touched:
            self._settle()
        self._top()  # what is stale on top would be passed over again at every walk
        if self._passed_over > PASSED_OVER_MAX * len(self._heap):
            self._clear_of_stale()
        current = self._current
        for key, _, thing in in_heap_order(self._heap):
            if current.get(thing) is key:
                yield thing
            else:
                self._passed_over += 1

    def __len__(self) -> int:
        if self._touched:
            self._settle()
        return len(self._current)

    def _settle(self) -> None:
        current = self._current
        for thing in self._touched:
            key = self._key(thing)
            if key is None:
                current.pop(thing, None)
            elif key != current.get(thing):
                self._place(thing, key)
        self._touched.clear()

    def _place(self, thing: T, key: tuple[Any, ...]) -> None:
        # The dictionary and the heap hold the same tuple object: identity tells a live entry from
        # a stale one, even when a key returns to an earlier value.
        current = self._current
        current[thing] = key
        self._pushed += 1
        heapq.heappush(self._heap, (key, self._pushed, thing))
        if len(self._heap) > 64 + 4 * len(current):
            self._clear_of_stale()

    def _clear_of_stale(self) -> None:
        current = self._current
        # A new list: a walk that is under way goes on over the one that it began with.
        self._heap = [entry for entry in self._heap if current.get(entry[2]) is entry[0]]
        heapq.heapify(self._heap)
        self._passed_over = 0
