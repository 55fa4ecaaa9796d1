"""List scheduling: a free slot goes to the first task in line.

Two ways. `without_idling` never leaves a slot free while a task could run (Graham 1966); the best
order may lose by that. `in_gaps` places one task after the other, each as early as it fits, and
reaches an optimal schedule for some order. `improved` pushes a schedule to the right and back to
the left, each time in the order of the other end; its makespan never grows (Li and Willis 1992).
All of them return the start of each task.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from sluice.planning.stages.task_graph import TaskGraph, makespan

Starts = list[float]


def without_idling(graph: TaskGraph, ranks: Sequence[float]) -> Starts:
    """Start tasks as soon as slots are free: the least rank first, equal ones by position."""
    waits = [len(before) for before in graph.after]
    ready = [(ranks[task], task) for task, count in enumerate(waits) if not count]
    heapify(ready)
    starts: Starts = [0] * len(waits)
    running: list[tuple[float, int]] = []
    free = graph.slots
    now: float = 0
    while ready or running:
        while ready and (free or not graph.lengths[ready[0][1]]):
            _, task = heappop(ready)
            starts[task] = now
            heappush(running, (now + graph.lengths[task], task))
            free -= graph.lengths[task] > 0  # a barrier holds no slot
        now = running[0][0]
        while running and running[0][0] <= now:
            _, task = heappop(running)
            free += graph.lengths[task] > 0
            for later in graph.followers[task]:
                waits[later] -= 1
                if not waits[later]:
                    heappush(ready, (ranks[later], later))
    return starts


def in_gaps(graph: TaskGraph, ranks: Sequence[float]) -> Starts:
    """By rank, but behind what it waits for, each task is placed as early as it fits."""
    waits = [len(before) for before in graph.after]
    ready = [(ranks[task], task) for task, count in enumerate(waits) if not count]
    heapify(ready)
    starts: Starts = [0] * len(waits)
    earliest: list[float] = [0] * len(waits)
    at: list[float] = [0]  # from each instant on ..
    used = [0]  # .. so many slots are in use
    while ready:
        _, task = heappop(ready)
        start = _place(at, used, earliest[task], graph.lengths[task], graph.slots)
        starts[task], end = start, start + graph.lengths[task]
        for later in graph.followers[task]:
            earliest[later] = max(earliest[later], end)
            waits[later] -= 1
            if not waits[later]:
                heappush(ready, (ranks[later], later))
    return starts


def _place(at: list[float], used: list[int], earliest: float, length: float, slots: int) -> float:
    """Take a slot for so long, not before an instant; return the start."""
    place = bisect_right(at, earliest) - 1
    start, end = earliest, earliest + length
    look, instants = place, len(at)
    while look < instants and at[look] < end:
        if used[look] >= slots:
            look += 1
            place, start = look, at[look]
            end = start + length
        else:
            look += 1
    if at[place] < start:
        place += 1
        at.insert(place, start)
        used.insert(place, used[place - 1])
    last = place
    while last < len(at) and at[last] < end:
        used[last] += 1
        last += 1
    if last == len(at) or at[last] > end:
        at.insert(last, end)
        used.insert(last, used[last - 1] - 1)
    return start


def improved(graph: TaskGraph, starts: Sequence[float]) -> Starts:
    """The schedule pushed to the right and back, as long as that makes it shorter."""
    best = list(starts)
    while True:
        lengths = graph.lengths
        ends_first = [-(start + length) for start, length in zip(best, lengths, strict=True)]
        back = in_gaps(graph.reversed, ends_first)
        span = makespan(graph, back)
        pushed = in_gaps(
            graph, [span - start - length for start, length in zip(back, lengths, strict=True)]
        )
        if makespan(graph, pushed) >= makespan(graph, best):
            return best
        best = pushed
