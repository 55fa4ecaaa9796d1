"""An order over things whose keys keep changing, kept up to date lazily.

Whoever changes a thing calls `touch`; the key is worked out again only when somebody asks for
the order. Each change costs O(log n) at most, however many changes fall between two questions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ranking(Generic[T]):
    """Things by ascending key; a thing whose key is None is out of the order.

    Keys are tuples; equal keys stand in the order in which they were last worked out.
    """

    __slots__ = ("_current", "_heap", "_key", "_pushed", "_touched")

    def __init__(self, key: Callable[[T], tuple[Any, ...] | None]) -> None:
        self._key = key
        self._heap: list[tuple[tuple[Any, ...], int, T]] = []
        self._current: dict[T, tuple[Any, ...]] = {}
        self._touched: dict[T, None] = {}
        self._pushed = 0

    def touch(self, thing: T) -> None:
        """The thing's key may have changed."""
        self._touched[thing] = None

    def first(self) -> T | None:
        """The thing with the least key, or None."""
        if self._touched:
            self._settle()
        heap, current = self._heap, self._current
        while heap:
            key, _, thing = heap[0]
            if current.get(thing) is key:
                return thing
            heapq.heappop(heap)
        return None

    def in_order(self) -> Iterator[T]:
        """All things by ascending key, as they stand at the call; costs only what is consumed."""
        if self._touched:
            self._settle()
        heap, current = self._heap, self._current
        seen: list[tuple[tuple[Any, ...], int, T]] = []
        try:
            while heap:
                entry = heapq.heappop(heap)
                if current.get(entry[2]) is entry[0]:
                    seen.append(entry)
                    yield entry[2]
        finally:
            for entry in seen:
                heapq.heappush(heap, entry)

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
            elif current.get(thing) != key:
                # The dictionary and the heap hold the same tuple object: identity tells a live
                # entry from a stale one, even when a key returns to an earlier value.
                current[thing] = key
                self._pushed += 1
                heapq.heappush(self._heap, (key, self._pushed, thing))
        self._touched.clear()
        if len(self._heap) > 64 + 4 * len(current):
            self._heap = [
                (key, number, thing) for number, (thing, key) in enumerate(current.items())
            ]
            self._pushed = len(current)
            heapq.heapify(self._heap)
