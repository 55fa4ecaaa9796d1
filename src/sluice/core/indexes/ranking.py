"""An order over things whose keys keep changing, kept up to date lazily.

Each change of a thing is followed by `touch`; its key is computed again only when the order is
read. Each change costs O(log n) comparisons at most, however many changes fall between two
questions, and a walk over the first k things costs O(k).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
E = TypeVar("E")

_BLOCK_MAX: Final = 1000  # entries; more would make inserting between them slow


class SortedBlocks(Generic[E]):
    """Entries that differ, in ascending order, cut into blocks so that none is long to shift."""

    __slots__ = ("_blocks", "_lasts")

    def __init__(self) -> None:
        self._blocks: list[list[Any]] = []
        self._lasts: list[Any] = []  # of each block

    def add(self, entry: E) -> None:
        """Insert the entry at its place."""
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
        """Remove the entry, which must be in the order."""
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

    Keys are tuples; things with equal keys are in the order in which their keys were computed.
    """

    __slots__ = ("_current", "_key", "_order", "_placed", "_touched")

    def __init__(self, key: Callable[[T], tuple[Any, ...] | None]) -> None:
        self._key = key
        self._order: SortedBlocks[Entry[T]] = SortedBlocks()
        self._current: dict[T, Entry[T]] = {}
        self._touched: dict[T, None] = {}
        self._placed = 0  # counts placements; the number keeps things from being compared

    def key_of(self, thing: T) -> tuple[Any, ...] | None:
        """The thing's key as it is now; a subclass may work it out without the call."""
        return self._key(thing)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in the order, and nothing has been touched since."""
        return not (self._current or self._touched)

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

    def in_order(self) -> Iterator[T]:
        """All things by ascending key; costs only what is consumed. Touch nothing meanwhile."""
        for entry in self.entries():
            yield entry[2]

    def entries(self) -> Iterator[Entry[T]]:
        """All things in order, each with its key: (key, running number, thing)."""
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
