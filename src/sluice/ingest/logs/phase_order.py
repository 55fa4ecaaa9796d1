"""The phases of a past run in an order in which they can be run again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import inf, nextafter

from sluice.model.history import PastPhase


def by_stage_number(phases: Sequence[PastPhase], *, is_seen: bool) -> list[PastPhase]:
    """Order as `in_order` does; of phases that may run together the first in the log is first.

    Spark gives a free core to the lowest stage that has a task waiting.
    """
    numbered = [replace(phase, name=f"{at}:{phase.name}") for at, phase in enumerate(phases)]
    ordered = in_order(numbered, is_seen=is_seen)
    numbers = [int(phase.name.partition(":")[0]) for phase in ordered]
    waits = [len(phase.after) for phase in ordered]
    followers: list[list[int]] = [[] for _ in ordered]
    for at, phase in enumerate(ordered):
        for one in phase.after:
            followers[one].append(at)
    ready = [(numbers[at], at) for at, before in enumerate(waits) if not before]
    heapify(ready)
    place: dict[int, int] = {}
    found: list[PastPhase] = []
    while ready:
        number, at = heappop(ready)
        place[at] = len(found)
        after = tuple(sorted(place[one] for one in ordered[at].after))
        found.append(replace(ordered[at], name=phases[number].name, after=after))
        for later in followers[at]:
            waits[later] -= 1
            if not waits[later]:
                heappush(ready, (numbers[later], later))
    return found


def in_order(phases: Sequence[PastPhase], *, is_seen: bool) -> list[PastPhase]:
    """The phases by when they began, with `after` in that order.

    is_seen: whether a phase comes, besides, after those that had ended when it began. Of these,
    only the last ones are named: what they came after themselves is understood.
    Where a phase has no timeline, its start is unknown: then the order stays.
    """
    if not all(phase.timeline for phase in phases):
        return list(phases)
    began_s = [min(task.started_at_s for task in phase.timeline) for phase in phases]
    ended_s = [max(task.finished_at_s for task in phase.timeline) for phase in phases]
    # What took no time at all would come before itself.
    ended_s = [max(end, nextafter(start, inf)) for start, end in zip(began_s, ended_s, strict=True)]
    order = sorted(range(len(phases)), key=lambda at: (began_s[at], at))
    place = {at: position for position, at in enumerate(order)}
    waits = _last_ended_before(began_s, ended_s) if is_seen else [()] * len(phases)
    return [
        replace(phases[at], after=_earlier((*phases[at].after, *waits[at]), place, position))
        for position, at in enumerate(order)
    ]


def _earlier(wanted: Sequence[int], place: dict[int, int], position: int) -> tuple[int, ...]:
    places = {place.get(one, position) for one in wanted}  # a log may name what is not there
    return tuple(sorted(one for one in places if one < position))


def _last_ended_before(began_s: Sequence[float], ended_s: Sequence[float]) -> list[list[int]]:
    """For each interval those that ended before it began, but none that another of them follows.

    >>> _last_ended_before([0, 0, 5, 9], [4, 5, 8, 10])
    [[], [], [0, 1], [2]]
    """
    by_end = sorted(range(len(ended_s)), key=lambda at: ended_s[at])
    ends = [ended_s[at] for at in by_end]
    latest_began = list(accumulate((began_s[at] for at in by_end), max))
    found = []
    for start_s in began_s:
        ended = bisect_right(ends, start_s)
        # Every phase that ended before the last of these began is followed by that one.
        first = bisect_right(ends, latest_began[ended - 1], hi=ended) if ended else 0
        found.append(sorted(by_end[first:ended]))
    return found
