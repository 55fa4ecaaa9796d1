"""Branch and bound: the tasks in order of their starts, and what can still be reached.

A node is a set of tasks that have started, none before those started earlier. Its children start
one task more, as early as a slot and its predecessors allow: every schedule in which no task could
move to the left by itself is a leaf. A node is cut off where its bound is not below the best
schedule, and where the same tasks were started before with slots and results no later.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluice.planning.stages.bounds import Bounds
from sluice.planning.stages.list_schedules import Starts
from sluice.planning.stages.task_graph import TaskGraph, makespan

_KNOWN_MAX = 200_000  # states that are remembered
_SIMILAR_MAX = 8  # of them with the same tasks
_ROUNDING = 1e-12
IsOver = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """The best schedule, and whether every shorter one was ruled out."""

    starts: Starts
    is_proved: bool


class _Over(Exception):
    """The budget is spent."""


def proved(graph: TaskGraph, bounds: Bounds, first: Sequence[float], is_over: IsOver) -> Found:
    """Look for schedules shorter than the first one, until there are none.

    is_over: asked at each node; the answer is then unproved.
    """
    walk = _Walk(graph, bounds, list(first), is_over)
    try:
        walk.visit(0, sum(graph.lengths), 0, [0] * graph.slots)
    except _Over:
        return Found(walk.best, walk.span <= bounds.makespan)
    return Found(walk.best, is_proved=True)


class _Walk:
    """Depth first, the task with the longest path first."""

    def __init__(self, graph: TaskGraph, bounds: Bounds, best: Starts, is_over: IsOver) -> None:
        self.graph = graph
        self.bounds = bounds
        self.best = best
        self.span = makespan(graph, best)
        self._is_over = is_over
        self._starts: Starts = [0] * len(best)
        self._waits = [len(before) for before in graph.after]
        self._known: dict[int, list[tuple[float, ...]]] = {}
        self._known_count = 0
        self._path = [
            length + tail for length, tail in zip(graph.lengths, bounds.tails, strict=True)
        ]
        # Identical tasks may start in any order, so it is enough to try one of them.
        self._kind = [
            (length, before, after)
            for length, before, after in zip(
                graph.lengths, graph.after, graph.followers, strict=True
            )
        ]
        self._ready = [task for task, count in enumerate(self._waits) if not count]
        self._earliest: list[float] = list(bounds.heads)
        self._step = 1 if graph.is_whole else _ROUNDING * max(1.0, self.span)

    def visit(self, started: int, left: float, now: float, free: list[float]) -> None:
        """started: a bit for each task.  left: work.  free: when each slot is, least first."""
        if self._is_over():
            raise _Over
        if not self._ready:
            span = makespan(self.graph, self._starts)
            if span < self.span:
                self.best, self.span = list(self._starts), span
            return
        if self._is_hopeless(left, now, free) or self._is_known(started, now, free):
            return
        for start, task in self._choices(now, free[0]):
            if start + self._path[task] > self.span - self._step:
                return  # a task that must wait for others, or starts no later by itself
            if self.span <= self.bounds.makespan:
                return
            self._start(started, left, start, task, free)

    def _choices(self, now: float, free_s: float) -> list[tuple[float, int]]:
        """Ready tasks with their starts, of which one must be next, the most urgent first."""
        starts = [(max(now, free_s, self._earliest[task]), task) for task in self._ready]
        # What begins when another could have ended before is begun after that one.
        end = min(start + self.graph.lengths[task] for start, task in starts)
        fitting = [(start, task) for start, task in starts if start < end]
        different = {self._kind[task]: (start, task) for start, task in sorted(fitting)}
        return sorted(different.values(), key=lambda one: (one[0], -self._path[one[1]]))

    def _start(self, started: int, left: float, start: float, task: int, free: list[float]) -> None:
        end = start + self.graph.lengths[task]
        slots = free[1:]
        insort(slots, end)
        self._starts[task] = start
        self._ready.remove(task)
        before = [(later, self._earliest[later]) for later in self.graph.followers[task]]
        opened = []
        for later, earliest in before:
            self._earliest[later] = max(earliest, end)
            self._waits[later] -= 1
            if not self._waits[later]:
                opened.append(later)
        self._ready += opened
        self.visit(started | 1 << task, left - self.graph.lengths[task], start, slots)
        for later in opened:
            self._ready.remove(later)
        for later, earliest in before:
            self._waits[later] += 1
            self._earliest[later] = earliest
        self._ready.append(task)

    def _is_hopeless(self, left: float, now: float, free: list[float]) -> bool:
        limit = self.span - self._step
        available = sum(max(one, now) for one in free)
        if available + left > limit * self.graph.slots:
            return True
        least = max(now, free[0])
        return any(
            max(least, self._earliest[task]) + self._path[task] > limit for task in self._ready
        )

    def _is_known(self, started: int, now: float, free: list[float]) -> bool:
        """Whether these tasks were started before, with nothing later than now."""
        state = (
            *(max(one, now) for one in free),
            *(max(self._earliest[task], now) for task in sorted(self._ready)),
            *(
                max(self._earliest[later], now)
                for later in range(len(self._waits))
                if 0 < self._waits[later] < len(self.graph.after[later])
            ),
        )
        known = self._known.setdefault(started, [])
        for other in known:
            if all(one <= mine for one, mine in zip(other, state, strict=True)):
                return True
        if self._known_count < _KNOWN_MAX and len(known) < _SIMILAR_MAX:
            known.append(state)
            self._known_count += 1
        return False
