"""Free slots of a node by kind, and the slots that an attempt holds, as spans of slot numbers.

The lowest free slot is always used first. A task takes slots at its start and gives them back at
its end, so both make no tuple and look nothing up: a span is two numbers, and the free ones are in
a heap by their first number.
"""

from __future__ import annotations

from mypy_extensions import i64

from sluice.core.indexes.by_kind import ByKind
from sluice.model.slot_kind import SlotKind

Interval = tuple[int, int]  # first slot, how many


class SlotSpan:
    """Slots taken together, or free in a row: `count` from `first` on, and those of `more`.

    A span that was taken never changes: giving it back copies its numbers.
    """

    __slots__ = ("count", "first", "more")

    def __init__(self, first: i64, count: i64) -> None:
        self.first: i64 = first
        self.count: i64 = count
        self.more: SlotSpan | None = None

    def intervals(self) -> tuple[Interval, ...]:
        """Return the same as (first slot, how many)."""
        if self.more is None:
            return ((self.first, self.count),)
        return ((self.first, self.count), *self.more.intervals())


class FreeSlots:
    """Free slots of one kind on one node, in units. total: of all its slots, free or not.

    >>> free = FreeSlots(3)
    >>> one, two = free.take(1), free.take(2)
    >>> free.give_back(one)
    >>> one.intervals(), two.intervals(), free.intervals()
    (((0, 1),), ((1, 2),), [(0, 1)])
    """

    __slots__ = ("_heap", "_lowest", "count", "total")

    def __init__(self, total: i64) -> None:
        self.total: i64 = total
        self.count: i64 = total
        self._lowest: SlotSpan | None = SlotSpan(0, total) if total else None
        self._heap: list[SlotSpan] = []  # the others, of which a busy node mostly has none

    def intervals(self) -> list[Interval]:
        """The free ones as (first slot, how many), in no order."""
        lowest = [] if self._lowest is None else [self._lowest]
        return [(span.first, span.count) for span in lowest + self._heap]

    def take(self, wanted: i64) -> SlotSpan:
        """Take the lowest `wanted` free units; the caller has checked that they are there."""
        self.count -= wanted
        taken = self._take_first(wanted)
        wanted -= taken.count
        last = taken
        while wanted:
            part = self._take_first(wanted)
            wanted -= part.count
            if last.first + last.count == part.first:
                # Neighbours join again, so that spans do not crumble for ever.
                last.count += part.count
            else:
                last.more = part
                last = part
        return taken

    def take_at(self, wanted: list[Interval]) -> SlotSpan:
        """Take units by their numbers. Raises ValueError if one of them is not free."""
        numbers = sorted(wanted)
        free = sorted(self.take(self.count).intervals()) if self.count else []
        for first, count in free:  # what is left between those that are wanted
            left, end = first, first + count
            while numbers and left <= numbers[0][0] and sum(numbers[0]) <= end:
                start, length = numbers.pop(0)
                if start > left:
                    self.give_back(SlotSpan(left, start - left))
                left = start + length
            if end > left:
                self.give_back(SlotSpan(left, end - left))
        if numbers:
            raise ValueError(f"slots {numbers} are not free")
        return _span(wanted)

    def give_back(self, span: SlotSpan) -> None:
        """Units that were taken are free again."""
        self.count += span.count
        freed, lowest = SlotSpan(span.first, span.count), self._lowest
        if lowest is None:
            self._lowest = freed
        elif freed.first < lowest.first:
            self._lowest = freed
            self._push(lowest)
        else:
            self._push(freed)
        if span.more is not None:
            self._give_back_parts(span.more)

    def _give_back_parts(self, span: SlotSpan) -> None:
        part: SlotSpan | None = span
        while part is not None:
            self.give_back(SlotSpan(part.first, part.count))
            part = part.more

    def _take_first(self, most: i64) -> SlotSpan:
        """Take up to so many units from the lowest span."""
        lowest = self._lowest
        assert lowest is not None, "the caller has checked that there is one"
        if lowest.count > most:
            # It is the lowest still: no other span begins inside of it.
            taken = SlotSpan(lowest.first, most)
            lowest.first += most
            lowest.count -= most
            return taken
        heap = self._heap
        self._lowest = heap[0] if heap else None
        if heap:
            last = heap.pop()
            if heap:
                self._sink_to_leaf(last)
        return lowest

    def _push(self, span: SlotSpan) -> None:
        """Add a span to the heap."""
        heap = self._heap
        heap.append(span)
        if len(heap) > 1:
            self._rise(span, len(heap) - 1)

    def _sink_to_leaf(self, last: SlotSpan) -> None:
        """Fill the hole at the top: it goes down to a leaf, and the last span rises from there."""
        heap = self._heap
        count: i64 = len(heap)
        at: i64 = 0
        child: i64 = 1
        while child < count:
            if child + 1 < count and heap[child + 1].first < heap[child].first:
                child += 1
            heap[at] = heap[child]
            at = child
            child = 2 * at + 1
        self._rise(last, at)

    def _rise(self, span: SlotSpan, at: i64) -> None:
        """Put a span into the hole at an index, or where it belongs above."""
        heap = self._heap
        while at > 0:
            parent: i64 = (at - 1) >> 1
            above = heap[parent]
            if above.first < span.first:
                break
            heap[at] = above
            at = parent
        heap[at] = span


def _span(intervals: list[Interval]) -> SlotSpan:
    first, count = intervals[0]
    span = SlotSpan(first, count)
    if len(intervals) > 1:
        span.more = _span(intervals[1:])
    return span


class FreeByKind(ByKind[FreeSlots]):
    """The free slots of a node, of each kind; `free[kind]` is how many units are free."""

    __slots__ = ()

    def __getitem__(self, kind: SlotKind) -> int:
        return self.of(kind).count
