"""An order over things whose places keep changing, kept as an indexed heap.

A thing that is ordered is a `Ranked`: it carries its place as plain numbers. `Order` compares those
and notes in each thing where it is in the heap, so that a change of place costs O(log n) moves,
makes no object and hashes nothing. `core.ranking` has the orders over tuples of any form.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Generic, TypeVar

from mypy_extensions import i64, mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Ranked:
    """A thing with a place: by tier, share, instant, name and number, in this order; low is first.

    Most comparisons end at the share. What follows breaks ties, and together must differ.
    """

    def __init__(self, since_s: float, name: str, number: int) -> None:
        self.tier: i64 = 0
        self.share: float = 0.0
        self.since_s: float = since_s
        self.tie_name: str = name
        self.tie_number: i64 = number
        self.heap_index: i64 = -1  # below 0: in no order


def is_before(one: Ranked, other: Ranked) -> bool:
    """Whether one thing's place is before the other's."""
    if one.tier != other.tier:
        return one.tier < other.tier
    if one.share != other.share:
        return one.share < other.share
    if one.since_s != other.since_s:
        return one.since_s < other.since_s
    if one.tie_name != other.tie_name:
        return one.tie_name < other.tie_name
    return one.tie_number < other.tie_number


R = TypeVar("R", bound=Ranked)


class Order(Generic[R]):
    """Things by their places. A thing is in one order at a time.

    >>> order = Order()
    >>> ann, bob = Ranked(0.0, "ann", 0), Ranked(0.0, "bob", 0)
    >>> order.put(bob, 0, 1.5)
    >>> order.put(ann, 0, 1.5)
    >>> [one.tie_name for one in order.in_order()]
    ['ann', 'bob']
    >>> order.put(ann, 0, 2.0)
    >>> order.first().tie_name, order.second().tie_name
    ('bob', 'ann')
    """

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[R] = []

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> R | None:
        """The thing with the lowest place."""
        return self._heap[0] if self._heap else None

    def second(self) -> R | None:
        """The thing after the first."""
        heap = self._heap
        if len(heap) < 3:  # noqa: PLR2004  # the first and its two children
            return heap[1] if len(heap) > 1 else None
        return heap[1] if is_before(heap[1], heap[2]) else heap[2]

    def put(self, thing: R, tier: int, share: float) -> None:
        """Give a thing its place, whether it is in the order or not."""
        was_at = thing.heap_index
        if was_at >= 0 and thing.tier == tier and thing.share == share:
            return
        thing.tier = tier
        thing.share = share
        if was_at < 0:
            self._heap.append(thing)
            self._rise(thing, len(self._heap) - 1)
        else:
            self.replace(thing)

    def replace(self, thing: R) -> None:
        """Bring a thing to its place, if its tie-breaks have changed."""
        was_at = thing.heap_index
        if was_at < 0:
            return
        self._rise(thing, was_at)
        if thing.heap_index == was_at:
            self._sink(thing, was_at)

    def remove(self, thing: R) -> None:
        """The thing is out of the order, if it was in it."""
        was_at = thing.heap_index
        if was_at < 0:
            return
        thing.heap_index = -1
        last = self._heap.pop()
        if last is not thing:
            self._rise(last, was_at)
            if last.heap_index == was_at:
                self._sink(last, was_at)

    def in_order(self) -> Iterator[R]:
        """All things; k of them cost O(k log k). Change nothing meanwhile."""
        heap = self._heap
        frontier = [_Step(heap[0], 0)] if heap else []
        while frontier:
            step = frontier[0]
            yield heap[step.index]
            left = 2 * step.index + 1
            if left >= len(heap):
                heapq.heappop(frontier)
                continue
            heapq.heapreplace(frontier, _Step(heap[left], left))
            if left + 1 < len(heap):
                heapq.heappush(frontier, _Step(heap[left + 1], left + 1))

    def _rise(self, thing: R, at: i64) -> None:
        """Put a thing into the hole at an index, or where it belongs above."""
        heap = self._heap
        while at > 0:
            parent: i64 = (at - 1) >> 1
            above = heap[parent]
            if not is_before(thing, above):
                break
            heap[at] = above
            above.heap_index = at
            at = parent
        heap[at] = thing
        thing.heap_index = at

    def _sink(self, thing: R, at: i64) -> None:
        """Put a thing into the hole at an index, or where it belongs below."""
        heap = self._heap
        count: i64 = len(heap)
        child: i64 = 2 * at + 1
        while child < count:
            lesser = heap[child]
            if child + 1 < count:
                other = heap[child + 1]
                if is_before(other, lesser):
                    lesser = other
                    child += 1
            if not is_before(lesser, thing):
                break
            heap[at] = lesser
            lesser.heap_index = at
            at = child
            child = 2 * at + 1
        heap[at] = thing
        thing.heap_index = at


class _Step:
    """A node of the heap on the frontier of a walk."""

    __slots__ = ("index", "thing")

    def __init__(self, thing: Ranked, index: int) -> None:
        self.thing = thing
        self.index = index

    def __lt__(self, other: _Step) -> bool:
        return is_before(self.thing, other.thing)
