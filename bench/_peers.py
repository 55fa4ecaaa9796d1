"""Peers and loops that measurements are held against, in the same run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence

import simpy

Lengths = Sequence[Sequence[Sequence[float]]]  # by job, by phase (map, reduce), by task
Slot = Callable[[], Generator[simpy.Event, None, None]]


def simpy_fifo(lengths: Lengths, map_slots: int, reduce_slots: int) -> tuple[float, float]:
    """A competent SimPy model of FIFO MapReduce: slots are processes that pull the next task.

    Jobs all arrive at 0 in order; a job's reduces become ready when its last map ends. A free
    slot takes the first ready task, which is exact for FIFO as long as jobs become ready in their
    order; an idle reduce slot sleeps until a job becomes ready.
    Returns (seconds it took, makespan in model seconds).
    """
    env = simpy.Environment()
    maps = deque((job, length_s) for job, phases in enumerate(lengths) for length_s in phases[0])
    maps_left = [len(phases[0]) for phases in lengths]
    reduces: deque[float] = deque()
    sleepers: list[simpy.Event] = []

    def map_slot() -> Generator[simpy.Event, None, None]:
        while maps:
            job, length_s = maps.popleft()
            yield env.timeout(length_s)
            maps_left[job] -= 1
            if not maps_left[job]:
                reduces.extend(lengths[job][1])
                for sleeper in sleepers:
                    sleeper.succeed()
                sleepers.clear()

    def reduce_slot() -> Generator[simpy.Event, None, None]:
        while True:
            while reduces:
                yield env.timeout(reduces.popleft())
            sleeper = env.event()
            sleepers.append(sleeper)
            yield sleeper

    return _timed(env, (map_slot, map_slots), (reduce_slot, reduce_slots))


def _timed(env: simpy.Environment, *slots: tuple[Slot, int]) -> tuple[float, float]:
    """Run so many of each kind of slot to the end; returns the seconds it took and the makespan."""
    for slot, count in slots:
        for _ in range(count):
            env.process(slot())
    start_s = time.perf_counter()
    env.run()
    return time.perf_counter() - start_s, env.now


class _FairQueue:
    """Tasks of one kind: the pool with the fewest running first, then its job with the fewest."""

    def __init__(self, jobs: int, pools: int) -> None:
        self.waiting: list[deque[float]] = [deque() for _ in range(jobs)]
        self.pools = [range(pool, jobs, pools) for pool in range(pools)]
        self.pool_of = [job % pools for job in range(jobs)]
        self.of_job, self.of_pool = [0] * jobs, [0] * pools  # tasks that run

    def take(self) -> int | None:
        """The job whose task is next, which is counted as running; None if none waits."""
        waiting, of_job, of_pool = self.waiting, self.of_job, self.of_pool
        best = None
        for pool, jobs in enumerate(self.pools):
            if best is None or of_pool[pool] < of_pool[best]:
                for job in jobs:
                    if waiting[job]:
                        best = pool
                        break
        if best is None:
            return None
        found = min((job for job in self.pools[best] if waiting[job]), key=of_job.__getitem__)
        of_job[found] += 1
        of_pool[best] += 1
        return found

    def ended(self, job: int) -> None:
        """A task of a job runs no more."""
        self.of_job[job] -= 1
        self.of_pool[self.pool_of[job]] -= 1


def simpy_fair(
    lengths: Lengths, map_slots: int, reduce_slots: int, pools: int
) -> tuple[float, float]:
    """Do what `simpy_fifo` does with fair pools, job i in pool i modulo their number.

    A free slot takes a task of the pool, and in it of the job, that runs the fewest; ties go to the
    earlier one. So SimPy decides what `fair` decides: FIFO is less work.
    """
    env = simpy.Environment()
    maps, reduces = (_FairQueue(len(lengths), pools) for _ in range(2))
    maps_left = [len(phases[0]) for phases in lengths]
    maps.waiting = [deque(phases[0]) for phases in lengths]
    sleepers: list[simpy.Event] = []

    def map_slot() -> Generator[simpy.Event, None, None]:
        while (job := maps.take()) is not None:
            yield env.timeout(maps.waiting[job].popleft())
            maps.ended(job)
            maps_left[job] -= 1
            if not maps_left[job]:
                reduces.waiting[job].extend(lengths[job][1])
                for sleeper in sleepers:
                    sleeper.succeed()
                sleepers.clear()

    def reduce_slot() -> Generator[simpy.Event, None, None]:
        while True:
            while (job := reduces.take()) is not None:
                yield env.timeout(reduces.waiting[job].popleft())
                reduces.ended(job)
            sleeper = env.event()
            sleepers.append(sleeper)
            yield sleeper

    return _timed(env, (map_slot, map_slots), (reduce_slot, reduce_slots))
