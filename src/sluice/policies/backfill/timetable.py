"""The free amounts on the nodes from now on, as running tasks end and reservations begin.

A timetable is a list of instants, each with what is free from then until the next. What is free on
a node is a list of amounts: slots first, then resources. Only estimates say when tasks end, so a
timetable holds for one decision and is made again for the next.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_HAIR: Final = 1e-9  # amounts are sums that were rounded

Amounts = list[float]


class Release(NamedTuple):
    """Amounts that a running attempt gives back to a node, by its place in the timetable."""

    at_s: float
    node: int
    amounts: Sequence[float]


def spread(free: Sequence[Amounts], need: Sequence[float], most: int) -> list[tuple[int, int]]:
    """Where up to `most` tasks go that need these amounts each: (node, tasks), first nodes first.

    >>> spread([[2.0], [0.0], [3.0]], [1.0], 4)
    [(0, 2), (2, 2)]
    """
    if len(free) == 1:
        tasks = min(most, _tasks_in(free[0], need))
        return [(0, tasks)] if tasks > 0 else []
    found: list[tuple[int, int]] = []
    for node, amounts in enumerate(free):
        if most <= 0:
            break
        tasks = min(most, _tasks_in(amounts, need))
        if tasks > 0:
            found.append((node, tasks))
            most -= tasks
    return found


def _tasks_in(amounts: Amounts, need: Sequence[float]) -> int:
    if len(need) == 1:
        return math.floor((amounts[0] + _HAIR) / need[0] + _HAIR)
    least = math.inf
    for amount, one in zip(amounts, need, strict=True):
        if one > 0:
            least = min(least, math.floor((amount + _HAIR) / one + _HAIR))
    return int(least) if least < math.inf else 0


def tasks_of(places: Iterable[tuple[int, int]]) -> int:
    """How many tasks have a place."""
    return sum(tasks for _, tasks in places)


def take(free: Sequence[Amounts], places: Iterable[tuple[int, int]], need: Sequence[float]) -> None:
    """Subtract from what is free what tasks in these places need."""
    for node, tasks in places:
        amounts = free[node]
        for index, one in enumerate(need):
            amounts[index] -= one * tasks


class Timetable:
    """The amounts that are free from an instant on."""

    def __init__(
        self, now_s: float, free: Sequence[Amounts], releases: Iterable[Release] = ()
    ) -> None:
        """free: now, by node.  releases: what running attempts give back, each after now."""
        self._starts_s = [now_s]
        self._free: list[list[Amounts]] = [[list(amounts) for amounts in free]]
        for at_s, node, back in sorted(releases):
            if at_s > self._starts_s[-1]:
                self._starts_s.append(at_s)
                self._free.append([list(amounts) for amounts in self._free[-1]])
            amounts = self._free[-1][node]
            for index, one in enumerate(back):
                amounts[index] += one

    def places_now(
        self, need: Sequence[float], least: int, most: int, run_s: float
    ) -> list[tuple[int, int]]:
        """Where tasks run from now on for `run_s` seconds; empty if fewer than `least` may."""
        return self._places_from(0, need, least, most, run_s)[0]

    def earliest(
        self, need: Sequence[float], tasks: int, run_s: float
    ) -> tuple[float, list[tuple[int, int]]] | None:
        """The first instant from which that many tasks have room, and where; None for never."""
        if len(need) == 1 and len(self._free[0]) == 1:
            at_s = self._earliest_in_one_place(need[0], max(1, tasks), run_s)
            return None if at_s is None else (at_s, [(0, tasks)])
        index = 0
        while index < len(self._starts_s):
            places, next_index = self._places_from(index, need, tasks, tasks, run_s)
            if places:
                return self._starts_s[index], places
            index = next_index
        return None

    def _earliest_in_one_place(self, need: float, tasks: int, run_s: float) -> float | None:
        """Return the instant of `earliest`, where there is one amount of one node to look at.

        In one walk: a start before an instant that is too full for them, and an end after it, is
        impossible. Each decision walks for each job that waits, and that took nine tenths of it.
        """
        starts_s, free = self._starts_s, self._free
        last = len(starts_s) - 1
        first_s = end_s = math.nan  # of a run that has had room since; none is open yet
        for index, at_s in enumerate(starts_s):
            if (free[index][0][0] + _HAIR) / need + _HAIR < tasks:
                end_s = math.nan
                continue
            if end_s != end_s:  # noqa: PLR0124  # a number; math.isnan is a call
                first_s, end_s = at_s, at_s + run_s
            if index == last or starts_s[index + 1] >= end_s:
                return first_s
        return None

    def _places_from(
        self, index: int, need: Sequence[float], least: int, most: int, run_s: float
    ) -> tuple[list[tuple[int, int]], int]:
        """Where at least `least` tasks run from an instant of the list on; empty if so many cannot.

        Also the next instant at which they might: none before an instant that is too full for them.
        """
        if len(self._free[index]) == 1:
            return self._in_one_place(index, need, least, most, run_s)
        first, end_s = index, self._starts_s[index] + run_s
        low = self._free[index]
        while True:
            places = spread(low, need, most)
            if tasks_of(places) < least:
                is_full = (
                    low is self._free[index]
                    or tasks_of(spread(self._free[index], need, least)) < least
                )
                return [], (index if is_full else first) + 1
            index += 1
            if index == len(self._starts_s) or self._starts_s[index] >= end_s:
                return places, first
            low = [
                [min(pair) for pair in zip(lowest, amounts, strict=True)]
                for lowest, amounts in zip(low, self._free[index], strict=True)
            ]

    def _in_one_place(
        self, first: int, need: Sequence[float], least: int, most: int, run_s: float
    ) -> tuple[list[tuple[int, int]], int]:
        """Return what `_places_from` does, where there is one node to look at."""
        starts_s, end_s = self._starts_s, self._starts_s[first] + run_s
        for index in range(first, bisect_left(starts_s, end_s, lo=first + 1)):
            tasks = _tasks_in(self._free[index][0], need)
            if tasks < max(1, least):
                return [], index + 1
            most = min(most, tasks)
        return [(0, most)], first

    def hold(
        self, at_s: float, run_s: float, places: Sequence[tuple[int, int]], need: Sequence[float]
    ) -> None:
        """Keep the room of tasks in these places from an instant on for `run_s` seconds."""
        first = self._split(at_s)
        last = self._split(at_s + run_s) if run_s < math.inf else len(self._starts_s)
        for index in range(first, last):
            take(self._free[index], places, need)

    def _split(self, at_s: float) -> int:
        """The place of an instant in the list, which it enters if it is not there."""
        index = bisect_left(self._starts_s, at_s)
        if index == len(self._starts_s) or self._starts_s[index] != at_s:
            self._starts_s.insert(index, at_s)
            self._free.insert(index, [list(amounts) for amounts in self._free[index - 1]])
        return index
