"""Which child of a queue comes first.

A heap of keys that are lower bounds. Between two changes of a child its counted use only grows (see
`usage`), so that an old key is never above the present one. To find the first child, the top of the
heap is worked out again: if its key has grown it sinks, else it is the first. A change of a child
pushes a new entry and makes the old one void. Each step costs O(log n); a child sinks at most once
at each instant, and only if its old key was below the first key.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Key = tuple[Any, ...]
KeyOf = Callable[[T, float], Key | None]


class Turns(Generic[T]):
    """The children of a queue by key. A key of None means that the child can start nothing.

    order: the name of the order, for explanations.  key_of: set by the owner.
    is_rising: whether keys only grow between two changes; otherwise all are worked out each time.
    """

    __slots__ = ("_children", "_heap", "_touched", "_version", "is_rising", "key_of", "order")

    def __init__(self, order: str) -> None:
        self.order = order
        self.is_rising = True
        self.key_of: KeyOf[T] = _no_key
        self._heap: list[tuple[Key, int, T]] = []
        self._version: dict[T, int] = {}
        self._touched: dict[T, None] = {}

    def touch(self, child: T) -> None:
        """The child has changed."""
        self._touched[child] = None

    def drop(self, child: T) -> None:
        """The child has left the queue for good."""
        self._touched.pop(child, None)
        self._version.pop(child, None)

    def restart(self) -> None:
        """All keys have changed."""
        self._heap.clear()
        self._touched |= dict.fromkeys(self._version)

    def first(self, now_s: float, without: Collection[T] = ()) -> T | None:
        """The child whose turn it is, apart from some; None if no child can start anything."""
        self._enter(now_s)
        heap, version, aside = self._heap, self._version, []
        found: T | None = None
        while heap:
            key, number, child = heap[0]
            if version.get(child) != number:
                heapq.heappop(heap)
                continue
            present = self.key_of(child, now_s)
            if present is None:
                heapq.heappop(heap)
            elif present > key:
                heapq.heapreplace(heap, (present, number, child))
            elif child in without:
                aside.append(heapq.heappop(heap))
            else:
                found = child
                break
        for entry in aside:
            heapq.heappush(heap, entry)
        return found

    def _enter(self, now_s: float) -> None:
        if not self.is_rising:
            self.restart()
        for child in self._touched:
            number = self._version.get(child, 0) + 1
            self._version[child] = number
            key = self.key_of(child, now_s)
            if key is not None:
                heapq.heappush(self._heap, (key, number, child))
        self._touched.clear()


def _no_key(child: object, now_s: float) -> Key | None:
    raise AssertionError(f"{child} has no key at {now_s}: a queue sets that of its turns")
