"""Peers and loops that measurements are held against, in the same run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Sequence

import simpy

Lengths = Sequence[Sequence[Sequence[float]]]  # by job, by phase (map, reduce), by task


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

    for _ in range(map_slots):
        env.process(map_slot())
    for _ in range(reduce_slots):
        env.process(reduce_slot())
    start_s = time.perf_counter()
    env.run()
    return time.perf_counter() - start_s, env.now
