"""The simulations of the ablation: every cell with every seed, spread over the cores.

The results do not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import NamedTuple, TypeVar

from sluice.bootstrap.advising.day_runs import simulated
from sluice.bootstrap.advising.measures import CellRun
from sluice.model.errors import InvalidInput
from sluice.reproductions.loop.worlds import instance_of

_CHUNK = 4  # simulations that a process takes at a time
_WORTHWHILE = 8  # so many are worth the start of processes

Item = TypeVar("Item")
Result = TypeVar("Result")


class Task(NamedTuple):
    """One simulation. text: of the scheduler, as `compare` takes it.  variant: of the world."""

    world: str
    seed: int
    text: str
    variant: str = ""


_instance = lru_cache(maxsize=8)(instance_of)


def carried_out(task: Task) -> CellRun:
    """The simulation of a task: the same tasks for every scheduler of a seed.

    Raises RuntimeError, which can be sent between processes, for a scheduler that cannot run it.
    """
    try:
        workload, truth = _instance(task.world, task.seed, task.variant)
        return simulated(workload, task.text, task.seed, truth)
    except InvalidInput as error:
        raise RuntimeError(f"{task.text}: {error}") from error


def all_carried_out(
    tasks: Sequence[Task], on_fraction: Callable[[float], None] = lambda _: None
) -> list[CellRun]:
    """The results in the order of the tasks."""
    found = []
    for result in on_cores(carried_out, tasks, worthwhile=_WORTHWHILE, chunk=_CHUNK):
        found.append(result)
        on_fraction(len(found) / len(tasks))
    return found


def on_cores(
    function: Callable[[Item], Result], items: Sequence[Item], *, worthwhile: int, chunk: int
) -> Iterator[Result]:
    """Yield the results of a function in the order of the items, from a process for each core.

    worthwhile: fewer items are not worth the start of processes.  chunk: items that one takes.
    """
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or len(items) < worthwhile:
        yield from map(function, items)
        return
    # Fresh interpreters, not forks: the parent may have threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context) as pool:
        yield from pool.map(function, items, chunksize=chunk)
