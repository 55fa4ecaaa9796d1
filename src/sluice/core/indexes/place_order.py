"""An order over things whose places keep changing, kept as an indexed heap.

A thing that is ordered is a `Ranked`: it carries its place as plain numbers. `Order` compares those
and notes in each thing where it is in the heap, so that a change of place costs O(log n) moves,
makes no object and hashes nothing. `core.ranking` has the orders over tuples of any form.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final, Generic, TypeVar, cast, final

from mypy_extensions import i64, mypyc_attr

_START_SIZE: Final = 8  # characters
_CODE_BITS: Final = 7  # of each: those of ASCII but the last fit
_CODE_MAX: Final = 127


@final
class _Place:
    """The place of a thing, and where it is in a heap.

    A class without subclasses: compiled code need not look for the type of each that it compares.
    """

    __slots__ = (
        "heap_index", "name", "name_start", "number", "share", "since_s", "thing", "tier",
    )  # fmt: skip

    def __init__(self, since_s: float, name: str, number: int) -> None:
        self.tier: i64 = 0
        self.share: float = 0.0
        self.since_s = since_s
        self.name = name
        self.name_start: i64 = _start_of(name)
        self.number: i64 = number
        self.heap_index: i64 = -1  # below 0: in no order
        self.thing: Ranked | None = None  # while it is in an order


def _start_of(name: str) -> i64:
    """The start of a name as a number. Where two differ, the names have the same order."""
    start: i64 = 0
    at: i64 = 0
    size: i64 = len(name)
    while at < size and at < _START_SIZE:
        code: i64 = ord(name[at])
        at += 1
        if code >= _CODE_MAX:  # what follows it is not compared here
            start = (start << _CODE_BITS) | _CODE_MAX
            break
        start = (start << _CODE_BITS) | code
    return start << ((_START_SIZE - at) * _CODE_BITS)


@mypyc_attr(allow_interpreted_subclasses=True)
class Ranked:
    """A thing with a place: by tier, share, instant, name and number, in this order; low is first.

    Most comparisons end at the share. What follows breaks ties, and together must differ.
    """

    def __init__(self, since_s: float, name: str, number: int) -> None:
        self.place_in_order = _Place(since_s, name, number)


def _is_before(one: _Place, other: _Place) -> bool:
    """Whether one place is before the other."""
    if one.tier != other.tier:
        return one.tier < other.tier
    if one.share != other.share:
        return one.share < other.share
    if one.since_s != other.since_s:
        return one.since_s < other.since_s
    if one.name_start != other.name_start:
        return one.name_start < other.name_start
    if one.name != other.name:
        return one.name < other.name
    return one.number < other.number


R = TypeVar("R", bound=Ranked)


class Order(Generic[R]):
    """Things by their places. A thing is in one order at a time.

    >>> order = Order()
    >>> ann, bob = Ranked(0.0, "ann", 0), Ranked(0.0, "bob", 0)
    >>> order.put(bob, 0, 1.5)
    >>> order.put(ann, 0, 1.5)
    >>> [one is ann for one in order.in_order()]
    [True, False]
    >>> order.put(ann, 0, 2.0)
    >>> order.first() is bob, order.second() is ann
    (True, True)
    """

    __slots__ = ("_heap", "_held", "_held_share")

    def __init__(self) -> None:
        self._heap: list[_Place] = []
        # What has come before all others keeps its old place in the heap for now: mostly it is
        # taken and put back at once (a slot is freed and filled), and its old place is right again.
        self._held: _Place | None = None
        self._held_share: float = 0.0

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> R | None:
        """The thing with the lowest place."""
        heap, held = self._heap, self._held
        if held is not None:
            return cast("R", held.thing)
        return cast("R", heap[0].thing) if heap else None

    def second(self) -> R | None:
        """The thing after the first."""
        self._move_held()
        heap = self._heap
        if len(heap) < 3:  # noqa: PLR2004  # the first and its two children
            return cast("R", heap[1].thing) if len(heap) > 1 else None
        return cast("R", heap[1 if _is_before(heap[1], heap[2]) else 2].thing)

    def put(self, thing: R, tier: i64, share: float) -> None:
        """Give a thing its place, whether it is in the order or not."""
        place = thing.place_in_order
        if self._held is place:
            self._held = None
        elif self._held is not None:
            self._move_held()
        was_at = place.heap_index
        old_share = place.share
        is_in_tier = was_at >= 0 and place.tier == tier
        if is_in_tier and old_share == share:
            return
        is_later = place.tier < tier or (place.tier == tier and old_share < share)
        place.tier = tier
        place.share = share
        if was_at > 0 and is_in_tier and _is_before(place, self._heap[0]):
            place.share = old_share
            self._held, self._held_share = place, share
        elif was_at < 0:
            place.thing = thing
            self._heap.append(place)
            self._rise(place, len(self._heap) - 1)
        elif is_later:
            self._sink(place, was_at)
        else:
            self._rise(place, was_at)

    def move(self, thing: R, since_s: float) -> None:
        """Change the instant that breaks ties of a thing, whether it is in the order or not."""
        self._move_held()
        thing.place_in_order.since_s = since_s
        if thing.place_in_order.heap_index >= 0:
            self._replace(thing.place_in_order)

    def _move_held(self) -> None:
        """Bring what is held back to its place in the heap."""
        held = self._held
        if held is not None:
            self._held = None
            held.share = self._held_share
            self._rise(held, held.heap_index)

    def _replace(self, place: _Place) -> None:
        """Bring a place that has changed to where it belongs."""
        was_at = place.heap_index
        self._rise(place, was_at)
        if place.heap_index == was_at:
            self._sink(place, was_at)

    def remove(self, thing: R) -> None:
        """The thing is out of the order, if it was in it."""
        place = thing.place_in_order
        was_at = place.heap_index
        if was_at < 0:
            return
        if self._held is place:
            self._held = None
        place.heap_index = -1
        place.thing = None
        last = self._heap.pop()
        if last is not place:
            self._rise(last, was_at)
            if last.heap_index == was_at:
                self._sink(last, was_at)

    def in_order(self) -> Iterator[R]:
        """All things; k of them cost O(k log k). Change nothing meanwhile."""
        self._move_held()
        heap = self._heap
        frontier = [_Step(heap[0], 0)] if heap else []
        while frontier:
            step = frontier[0]
            yield cast("R", heap[step.index].thing)
            left = 2 * step.index + 1
            if left >= len(heap):
                heapq.heappop(frontier)
                continue
            heapq.heapreplace(frontier, _Step(heap[left], left))
            if left + 1 < len(heap):
                heapq.heappush(frontier, _Step(heap[left + 1], left + 1))

    def _rise(self, place: _Place, at: i64) -> None:
        """Put a place into the hole at an index, or where it belongs above."""
        heap = self._heap
        while at > 0:
            parent: i64 = (at - 1) >> 1
            above = heap[parent]
            if not _is_before(place, above):
                break
            heap[at] = above
            above.heap_index = at
            at = parent
        heap[at] = place
        place.heap_index = at

    def _sink(self, place: _Place, at: i64) -> None:
        """Put a place into the hole at an index, or where it belongs below."""
        heap = self._heap
        count: i64 = len(heap)
        child: i64 = 2 * at + 1
        while child < count:
            lesser = heap[child]
            if child + 1 < count:
                other = heap[child + 1]
                if _is_before(other, lesser):
                    lesser = other
                    child += 1
            if not _is_before(lesser, place):
                break
            heap[at] = lesser
            lesser.heap_index = at
            at = child
            child = 2 * at + 1
        heap[at] = place
        place.heap_index = at


class _Step:
    """A node of the heap on the frontier of a walk."""

    __slots__ = ("index", "place")

    def __init__(self, place: _Place, index: int) -> None:
        self.place = place
        self.index = index

    def __lt__(self, other: _Step) -> bool:
        return _is_before(self.place, other.place)
