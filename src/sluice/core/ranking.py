"""An order over things whose keys keep changing, kept up to date lazily.

Whoever changes a thing calls `touch`; the key is worked out again only when somebody asks for
the order. Each change costs O(log n) comparisons at most, however many changes fall between two
questions, and a walk over the first k things costs O(k).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
E = TypeVar("E")

_BLOCK_MAX: Final = 1000  # entries; more would make inserting between them slow


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


class SortedBlocks(Generic[E]):
    """Entries that differ, in ascending order, cut into blocks so that none is long to shift."""

    __slots__ = ("_blocks", "_lasts")

    def __init__(self) -> None:
        self._blocks: list[list[Any]] = []
        self._lasts: list[Any] = []  # of each block

    def add(self, entry: E) -> None:
        """It stands in its place now."""
        blocks, lasts = self._blocks, self._lasts
        if not blocks:
            blocks.append([entry])
            lasts.append(entry)
            return
        index = min(bisect_left(lasts, entry), len(blocks) - 1)
        block = blocks[index]
        insort(block, entry)
        lasts[index] = block[-1]
        if len(block) > _BLOCK_MAX:
            half = len(block) // 2
            blocks.insert(index + 1, block[half:])
            lasts.insert(index, block[half - 1])
            del block[half:]

    def remove(self, entry: E) -> None:
        """It is out of the order; it must have been in."""
        index = bisect_left(self._lasts, entry)
        block = self._blocks[index]
        del block[bisect_left(block, entry)]
        if block:
            self._lasts[index] = block[-1]
        else:
            del self._blocks[index], self._lasts[index]

    def first(self) -> E | None:
        """The least entry."""
        return self._blocks[0][0] if self._blocks else None

    def __iter__(self) -> Iterator[E]:
        for block in self._blocks:
            yield from block


Entry = tuple[tuple[Any, ...], int, T]


class Ranking(Generic[T]):
    """Things by ascending key; a thing whose key is None is out of the order.

    Keys are tuples; equal keys stand in the order in which they were last worked out.
    """

    __slots__ = ("_current", "_key", "_order", "_placed", "_touched")

    def __init__(self, key: Callable[[T], tuple[Any, ...] | None]) -> None:
        self._key = key
        self._order: SortedBlocks[Entry[T]] = SortedBlocks()
        self._current: dict[T, Entry[T]] = {}
        self._touched: dict[T, None] = {}
        self._placed = 0  # so many times; the running number keeps things from being compared

    def key_of(self, thing: T) -> tuple[Any, ...] | None:
        """The thing's key as it is now; a subclass may work it out without the call."""
        return self._key(thing)

    def touch(self, thing: T) -> None:
        """The thing's key may have changed."""
        self._touched[thing] = None

    def first(self) -> T | None:
        """The thing with the least key, or None."""
        if self._touched:
            best = self._best_touched()
            if best is not None:
                return best
        top = self._order.first()
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
            key = self.key_of(thing)
            entry = current.get(thing)
            if key == (None if entry is None else entry[0]):
                continue
            if key is None:
                self._order.remove(current.pop(thing))
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
        top = self._order.first()
        if top is None or best_key < top[0]:
            self._touched[best] = None
            return best
        self._place(best, best_key)
        return None

    def first_and_bound(self) -> tuple[T | None, tuple[Any, ...] | None]:
        """The thing with the least key, and the key of the next.

        The bound is None where there are no others.
        """
        best = self.first()
        for key, _, thing in self._order:
            if thing is not best:  # which may still be in an old place
                return best, key
        return best, None

    def in_order(self) -> Iterator[T]:
        """All things by ascending key; costs only what is consumed. Touch nothing meanwhile."""
        for entry in self.entries():
            yield entry[2]

    def entries(self) -> Iterator[Entry[T]]:
        """The same, each with its key: (key, running number, thing)."""
        if self._touched:
            self.settle()
        return iter(self._order)

    def __len__(self) -> int:
        if self._touched:
            self.settle()
        return len(self._current)

    def settle(self) -> None:
        """Give all touched things their places now, not at the next question."""
        current = self._current
        for thing in self._touched:
            key = self.key_of(thing)
            entry = current.get(thing)
            if key is None:
                if entry is not None:
                    self._order.remove(current.pop(thing))
            elif entry is None or key != entry[0]:
                self._place(thing, key)
        self._touched.clear()

    def _place(self, thing: T, key: tuple[Any, ...]) -> None:
        before = self._current.get(thing)
        if before is not None:
            self._order.remove(before)
        self._placed += 1
        entry = self._current[thing] = (key, self._placed, thing)
        self._order.add(entry)
