"""Tasks that wait for each other, on equal slots. Each holds one slot from its start to its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class TaskGraph:
    """lengths: of the tasks, in units of time.  after: the tasks that each one waits for.

    Lengths are whole numbers, or floats where the times have no common unit. Positions are those of
    the tasks; `after` names earlier and later ones alike, but no circle.
    """

    slots: int
    lengths: tuple[float, ...]
    after: tuple[tuple[int, ...], ...]

    @cached_property
    def is_whole(self) -> bool:
        """Whether all times are whole numbers, so that bounds may be rounded up."""
        return all(isinstance(length, int) for length in self.lengths)

    @cached_property
    def followers(self) -> tuple[tuple[int, ...], ...]:
        """The tasks that wait for each one."""
        found: list[list[int]] = [[] for _ in self.lengths]
        for task, before in enumerate(self.after):
            for one in before:
                found[one].append(task)
        return tuple(map(tuple, found))

    @cached_property
    def in_order(self) -> tuple[int, ...]:
        """All tasks, each behind those that it waits for."""
        waits = [len(before) for before in self.after]
        found = [task for task, count in enumerate(waits) if not count]
        for task in found:  # it grows on the way
            for later in self.followers[task]:
                waits[later] -= 1
                if not waits[later]:
                    found.append(later)
        return tuple(found)

    @cached_property
    def heads(self) -> tuple[float, ...]:
        """The earliest start of each task, by the longest path to it."""
        found: list[float] = [0] * len(self.lengths)
        for task in self.in_order:
            for one in self.after[task]:
                found[task] = max(found[task], found[one] + self.lengths[one])
        return tuple(found)

    @cached_property
    def tails(self) -> tuple[float, ...]:
        """The longest path from the end of each task."""
        return self.reversed.heads

    @cached_property
    def reversed(self) -> TaskGraph:
        """Return the same graph in the other direction of time."""
        return TaskGraph(slots=self.slots, lengths=self.lengths, after=self.followers)


def makespan(graph: TaskGraph, starts: Sequence[float]) -> float:
    """When the last task ends."""
    return max(start + length for start, length in zip(starts, graph.lengths, strict=True))
