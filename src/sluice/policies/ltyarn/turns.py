"""Which child of a queue comes first.

A heap of keys that are lower bounds. Between two changes of a child its counted use only grows (see
`usage`), so that an old key is never above the present one. To find the first child, the top of the
heap is worked out again: if its key has grown it sinks, else it is the first. A change of a child
works out its key; if that is another, a new entry is pushed and the old one is void. Each step
costs O(log n); a child sinks at most once at each instant, and only if its old key was below the
first key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
Key = tuple[Any, ...]
KeyOf = Callable[[T, float], Key | None]

_NO_CHILDREN: Final[frozenset[Any]] = frozenset()
_VOID_MAX: Final = 64  # void entries below the first, until they are thrown out


class Turns(Generic[T]):
    """The children of a queue by key. A key of None means that the child can start nothing.

    order: the name of the order, for explanations.  key_of: set by the owner.
    """

    __slots__ = ("_heap", "_keys", "_pushed", "_touched", "_version", "key_of", "order")

    def __init__(self, order: str) -> None:
        self.order = order
        self.key_of: KeyOf[T] = _no_key
        self._heap: list[tuple[Key, int, T]] = []
        self._keys: dict[T, Key | None] = {}  # of the entry that counts; None: it has no entry
        self._version: dict[T, int] = {}  # the number of that entry
        self._touched: dict[T, None] = {}
        self._pushed = 0

    def touch(self, child: T) -> None:
        """The child has changed."""
        self._touched[child] = None

    def drop(self, child: T) -> None:
        """The child has left the queue for good."""
        self._touched.pop(child, None)
        self._keys.pop(child, None)
        self._version.pop(child, None)

    def restart(self) -> None:
        """All keys have changed, perhaps to lower ones."""
        self._heap.clear()
        for child in self._keys:
            self._keys[child] = None
            self._touched[child] = None

    def saved(self, place_of: Mapping[T, int]) -> dict[str, Any]:
        """The last key of each child, and which are to be looked at again, as JSON values.

        Rounding makes a key depend on the instant at which it is worked out, so that keys of
        another instant could order equals in another way. place_of: numbers of the children.
        """
        return {
            "keys": [
                [place_of[child], key, self._version.get(child, 0)]
                for child, key in self._keys.items()
            ],
            "touched": [place_of[child] for child in self._touched],
        }

    def restored(self, saved: Mapping[str, Any], children: Sequence[T]) -> None:
        """Take back what was saved. children: by their places."""
        self._heap, self._keys, self._version = [], {}, {}
        for place, values, number in saved["keys"]:
            child, key = children[place], None if values is None else tuple(values)
            self._keys[child], self._version[child] = key, number
            if key is not None:
                heappush(self._heap, (key, number, child))
        self._pushed = max(self._version.values(), default=0)
        self._touched = {children[place]: None for place in saved["touched"]}

    def first(self, now_s: float, without: Collection[T] = _NO_CHILDREN) -> T | None:
        """The child whose turn it is, apart from some; None if no child can start anything."""
        if self._touched:
            self._enter(now_s)
        heap, version = self._heap, self._version
        aside: list[tuple[Key, int, T]] = []
        found: T | None = None
        while heap:
            key, number, child = heap[0]
            if version.get(child) != number:
                heappop(heap)
                continue
            present = self.key_of(child, now_s)
            if present is None:
                heappop(heap)
                self._keys[child] = None
            elif present > key:
                heapreplace(heap, (present, self._number(child, present), child))
            elif child in without:
                aside.append(heappop(heap))
            else:
                found = child
                break
        for entry in aside:
            heappush(heap, entry)
        return found

    def _enter(self, now_s: float) -> None:
        keys, version = self._keys, self._version
        for child in self._touched:
            key = self.key_of(child, now_s)
            if key is None:
                keys[child] = None
                version[child] = 0
            elif key != keys.get(child):
                heappush(self._heap, (key, self._number(child, key), child))
        self._touched.clear()
        if len(self._heap) > _VOID_MAX + 2 * len(version):
            self._heap = [entry for entry in self._heap if version.get(entry[2]) == entry[1]]
            heapify(self._heap)

    def _number(self, child: T, key: Key) -> int:
        """The number of the child's next entry; it makes the one before void."""
        self._pushed += 1
        self._keys[child] = key
        self._version[child] = self._pushed
        return self._pushed


def _no_key(child: object, now_s: float) -> Key | None:
    raise AssertionError(f"{child} has no key at {now_s}: a queue sets that of its turns")
