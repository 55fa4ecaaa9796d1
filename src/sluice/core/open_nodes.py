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

_SHIFT: Final = 5
_BITS: Final = 32  # a word stays a machine integer in compiled code
_LAST: Final = _BITS - 1


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

    __slots__ = ("_levels", "_size")

    def __init__(self) -> None:
        self._levels: list[list[int]] = [[0]]  # from the words of single numbers up to one word
        self._size = _BITS

    def add(self, number: int) -> None:
        """The number is in the set from now on."""
        while number >= self._size:
            self._grow()
        for level in self._levels:
            word = number >> _SHIFT
            before = level[word]
            level[word] = before | (1 << (number & _LAST))
            if before:
                return  # the levels above know of this word
            number = word

    def discard(self, number: int) -> None:
        """The number is not in the set from now on."""
        if number >= self._size:
            return
        for level in self._levels:
            word = number >> _SHIFT
            after = level[word] & ~(1 << (number & _LAST))
            level[word] = after
            if after:
                return
            number = word

    def set_member(self, number: int, *, is_member: bool) -> None:
        """Whether the number is in the set from now on."""
        if is_member:
            self.add(number)
        else:
            self.discard(number)

    def first_from(self, number: int) -> int:
        """The least member that is at least `number`; -1 if there is none.

        Climbs until a word has a bit at or after the place, then goes down to its lowest member.
        """
        levels = self._levels
        height = 0
        while height < len(levels):
            level = levels[height]
            word = number >> _SHIFT
            if word >= len(level):
                return -1
            rest = level[word] >> (number & _LAST)
            if rest:
                number += (rest & -rest).bit_length() - 1
                while height:
                    height -= 1
                    bits = levels[height][number]
                    number = (number << _SHIFT) + (bits & -bits).bit_length() - 1
                return number
            number = word + 1
            height += 1
        return -1

    def _grow(self) -> None:
        """Make room for 32 times as many numbers: one more level on top."""
        top = self._levels[-1][0]
        size = 1
        for level in reversed(self._levels):
            size <<= _SHIFT
            level.extend([0] * (size - len(level)))
        self._levels.append([1 if top else 0])
        self._size <<= _SHIFT


class OpenNodes:
    """The nodes that have a free slot of each kind, by index.

    A node that runs typed tasks has no free containers, and the other way round.
    """

    __slots__ = ("containers", "maps", "reduces")

    def __init__(self) -> None:
        self.maps = IndexSet()
        self.reduces = IndexSet()
        self.containers = IndexSet()
