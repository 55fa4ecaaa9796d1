"""Which nodes have a free slot of a kind: one set of node indexes for each kind.

A tick must cost what it starts, not what the cluster has. So nothing here walks over nodes: a node
updates its three entries when its last free slot of a kind is taken or its first one is freed, and
the scheduler asks for the next node at or after an index.

A set is a tree of words of 32 bits. Bit i of a word on one level says whether word i on the level
below has any bit set, so that 4,000 nodes need three levels and a step over them three look-ups,
however few nodes have room. Walking by ascending index keeps placements independent of the order
in which slots became free.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from sluice.core.indexes.by_kind import KINDS, ByKind

_SHIFT: Final = 5
_BITS: Final = 32  # a word stays a machine integer in compiled code
_LAST: Final = _BITS - 1


def _lowest(bits: i64) -> i64:
    """The lowest bit that is set; there is one among the first 32."""
    at: i64 = 0
    if not bits & 0xFFFF:
        bits >>= 16
        at = 16
    if not bits & 0xFF:
        bits >>= 8
        at += 8
    if not bits & 0xF:
        bits >>= 4
        at += 4
    while not bits & 1:
        bits >>= 1
        at += 1
    return at


class IndexSet:
    """Whole numbers from 0 up. Each operation costs O(log n) of the largest number added.

    >>> numbers = IndexSet()
    >>> for number in (70, 3, 2000):
    ...     numbers.add(number)
    >>> numbers.first_from(0), numbers.first_from(4), numbers.first_from(71)
    (3, 70, 2000)
    >>> numbers.discard(70)
    >>> numbers.first_from(4), numbers.first_from(2001)
    (2000, -1)
    """

    __slots__ = ("_levels", "_size", "_top")

    def __init__(self) -> None:
        self._levels: list[list[int]] = []  # from the words of single numbers up, below the top
        self._top: i64 = 0  # one word over all: of 32 numbers, where there are no levels
        self._size: i64 = _BITS

    def add(self, number: i64) -> None:
        """The number is in the set from now on."""
        at = number
        while at >= self._size:
            self._grow()
        for level in self._levels:
            word: i64 = at >> _SHIFT
            before: i64 = level[word]
            level[word] = before | (1 << (at & _LAST))
            if before:
                return  # the levels above know of this word
            at = word
        self._top |= 1 << at

    def discard(self, number: i64) -> None:
        """The number is not in the set from now on."""
        at = number
        if at >= self._size:
            return
        for level in self._levels:
            word: i64 = at >> _SHIFT
            after: i64 = level[word]
            after &= ~(1 << (at & _LAST))
            level[word] = after
            if after:
                return
            at = word
        self._top &= ~(1 << at)

    def has(self, number: i64) -> bool:
        """Whether the number is in the set."""
        return number < self._size and (self._word(number >> _SHIFT) >> (number & _LAST)) & 1 == 1

    def set_member(self, number: i64, *, is_member: bool) -> None:
        """Whether the number is in the set from now on."""
        if is_member:
            self.add(number)
        else:
            self.discard(number)

    def first_from(self, number: i64) -> i64:
        """The least member that is at least `number`; -1 if there is none.

        Climbs until a word has a bit at or after the place, then goes down to its lowest member.
        """
        at = number
        if not self._top or at >= self._size:
            return -1
        levels = self._levels
        height: i64 = 0
        count: i64 = len(levels)
        bits: i64 = 0
        while height < count:
            level = levels[height]
            word: i64 = at >> _SHIFT
            if word < len(level):
                bits = level[word]
                bits >>= at & _LAST
                if bits:
                    break
            at = word + 1
            height += 1
        if height == count:
            if at >= _BITS:
                return -1
            bits = self._top >> at
            if not bits:
                return -1
        at += _lowest(bits)
        while height:
            height -= 1
            at = (at << _SHIFT) + _lowest(levels[height][at])
        return at

    def first_shared(self, other: IndexSet, number: i64) -> i64:
        """The least number from `number` on that is in another set too; -1 if there is none.

        Word by word, for two sets may have many members and few in common: a step costs as much as
        32 numbers, whichever they are.
        """
        if number >= self._size or number >= other._size:
            return -1
        word: i64 = number >> _SHIFT
        bits = self._word(word)
        bits &= other._word(word)
        bits >>= number & _LAST
        if bits:
            return number + _lowest(bits)
        size = self._size
        if other._size < size:  # noqa: PLR1730  # min() makes objects of both
            size = other._size
        words: i64 = size >> _SHIFT
        word += 1
        while word < words:
            bits = self._word(word)
            if bits:
                bits &= other._word(word)
                if bits:
                    return (word << _SHIFT) + _lowest(bits)
            word += 1
        return -1

    def _word(self, word: i64) -> i64:
        """The numbers from 32 times `word` on, of which there is room for that many."""
        if not self._levels:
            return self._top
        return self._levels[0][word]

    def _grow(self) -> None:
        """Make room for 32 times as many numbers: the top is one more level, under a new top."""
        words = [0] * _BITS
        words[0] = self._top
        for level in self._levels:
            level.extend([0] * (len(level) * _LAST))
        self._levels.append(words)
        self._top = 1 if self._top else 0
        self._size <<= _SHIFT


class OpenNodes(ByKind[IndexSet]):
    """The nodes that have a free slot of each kind, by index.

    A node that runs typed tasks has no free containers, and the other way round.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(lambda _: IndexSet())

    def first_from(self, index: i64) -> i64:
        """The first node from an index on with a free slot of any kind; -1 if there is none."""
        best: i64 = -1
        for kind in KINDS:
            best = first_of(best, self.of(kind).first_from(index))
        return best


def first_of(index: i64, other: i64) -> i64:
    """The lower of two indexes of nodes. Below 0 there is no node."""
    return other if index < 0 or 0 <= other < index else index
