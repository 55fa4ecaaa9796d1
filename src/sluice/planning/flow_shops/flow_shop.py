"""Jobs that pass the same stages in the same order, each stage with slots of its own.

One order of the jobs decides at every stage: each job in turn takes the slots that are free first,
its longest task first, as soon as all its tasks of the stage before have ended. With one slot for
each stage this is the permutation flow shop; with more the hybrid (or flexible) flow shop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapreplace

Times = list[list[tuple[float, float] | None]]
"""First start and last end of each job at each stage; None where it has no task."""


@dataclass(frozen=True, kw_only=True)
class FlowShop:
    """slots: of each stage.  tasks: of each job at each stage, their lengths, the longest first.

    Lengths are whole numbers in a unit of time, or floats where the times have no common unit. A
    job without tasks at a stage passes it at once.
    """

    slots: tuple[int, ...]
    tasks: tuple[tuple[tuple[float, ...], ...], ...]

    @cached_property
    def is_whole(self) -> bool:
        """Whether all times are whole numbers, so that bounds may be rounded up."""
        return all(isinstance(one, int) for job in self.tasks for of in job for one in of)

    @cached_property
    def is_classic(self) -> bool:
        """Whether each stage has one slot, so that the tasks of a job there are as one."""
        return all(one == 1 for one in self.slots)

    @cached_property
    def work(self) -> tuple[tuple[float, ...], ...]:
        """The sum of the lengths of each job at each stage."""
        return tuple(tuple(sum(of) for of in job) for job in self.tasks)

    @cached_property
    def spans(self) -> tuple[tuple[float, ...], ...]:
        """The least time from start to end of each job at each stage: its longest task, or more."""
        return tuple(
            tuple(
                max(*of, work / slots, 0)
                for of, work, slots in zip(job, works, self.slots, strict=True)
            )
            for job, works in zip(self.tasks, self.work, strict=True)
        )


class SlotTimes:
    """When the slots of each stage are free, and the jobs placed so far have ended."""

    def __init__(self, shop: FlowShop) -> None:
        zero = 0 if shop.is_whole else 0.0
        self._tasks = shop.tasks
        self.free: list[list[float]] = [[zero] * slots for slots in shop.slots]
        self.end: float = zero

    def copy(self) -> SlotTimes:
        """Return the same times, to be changed by themselves."""
        copied = object.__new__(SlotTimes)
        copied._tasks, copied.end = self._tasks, self.end
        copied.free = [list(one) for one in self.free]
        return copied

    def place(self, job: int) -> None:
        """Put a job behind those placed before."""
        ready: float = 0
        for free, tasks in zip(self.free, self._tasks[job], strict=True):
            end = ready
            for length in tasks:
                start = max(ready, free[0])
                heapreplace(free, start + length)
                end = max(end, start + length)
            ready = end
        self.end = max(self.end, ready)


def makespan(shop: FlowShop, order: Iterable[int]) -> float:
    """When the last job has passed all stages."""
    if shop.is_classic:
        ends: list[float] = [0] * len(shop.slots)
        for job in order:
            ready: float = 0
            for stage, work in enumerate(shop.work[job]):
                if work:  # a job that skips a stage does not wait there
                    ends[stage] = ready = max(ready, ends[stage]) + work
        return max(ends)
    times = SlotTimes(shop)
    for job in order:
        times.place(job)
    return times.end


def times_of(shop: FlowShop, order: Sequence[int]) -> Times:
    """When each job starts and ends at each stage. Positions are those of the jobs."""
    slots = SlotTimes(shop)
    times: Times = [[None] * len(shop.slots) for _ in shop.tasks]
    for job in order:
        ready: float = 0
        for stage, (free, tasks) in enumerate(zip(slots.free, shop.tasks[job], strict=True)):
            spans = []
            for length in tasks:
                start = max(ready, free[0])
                heapreplace(free, start + length)
                spans.append((start, start + length))
            if spans:
                times[job][stage] = min(spans)[0], max(end for _, end in spans)
                ready = max(end for _, end in spans)
    return times
