"""Rates of the tasks that share a node: progressive filling, with losses under over-commitment.

Each task progresses at a rate. Rate 1 is the speed at which it was profiled, and its demand is its
use of the node at that rate. All rates rise together from 0. A task stops rising at its own limit,
or when a resource that it uses is exhausted; the others continue to rise.

Over-commitment has a cost. If the demand for a resource exceeds its capacity, part of the capacity
is lost to seeks and switches. If the demand for memory exceeds its capacity, all tasks slow down
(thrashing). Memory itself is not divided.

Equal tasks are counted, so a thousand of them cost as much as one. Sources: RAS spec, section 10;
dynamicmr spec, section 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sluice.model.resources import Resources


class Load(NamedTuple):
    """The use of a node by one task at rate 1, as shares of the node's capacity.

    rate_max: its own limit. A named tuple, because a simulation looks up millions of them.
    """

    cpu: float = 0.0
    io: float = 0.0
    network: float = 0.0
    memory: float = 0.0
    rate_max: float = 1.0

    @property
    def is_free(self) -> bool:
        """It uses no resource, so other tasks do not slow it down."""
        return not (self.cpu or self.io or self.network or self.memory)

    def at_rest(self) -> Load:
        """Return the same task while it waits: it keeps its memory and takes nothing else."""
        return Load(memory=self.memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Loss per resource (the kappas): with a crowd asking for 1 + d of a resource, of which there
    is 1, only 1 / (1 + loss * d) is left to share; of memory, every rate is divided by that much.
    """

    cpu: float = 0.1
    io: float = 0.5
    network: float = 0.0
    memory: float = 2.0


def load_of(demand: Resources, capacity: Resources, *, peak: float, thread_cpu: float) -> Load:
    """The load of one task on a node.

    peak: the most a task's rate can be. thread_cpu: the most cpu one task can use, in the unit of
    `capacity`. A resource of which the node has 0 is unlimited there, and a task that takes
    nothing that is limited runs at rate 1, because its demand says nothing about more speed.

    >>> sort = Resources(cpu=30, io=45, memory=25)
    >>> load_of(sort, Resources(cpu=100, io=100, memory=50), peak=1.25, thread_cpu=50)
    Load(cpu=0.3, io=0.45, network=0.0, memory=0.5, rate_max=1.25)
    """
    load = Load(
        cpu=_share(demand.cpu, capacity.cpu),
        io=_share(demand.io, capacity.io),
        network=_share(demand.network, capacity.network),
        memory=_share(demand.memory, capacity.memory),
    )
    if load.is_free:
        return load
    # A thread is a limit of the node's cores: where cpu is unlimited, so is a thread.
    return load._replace(rate_max=min(peak, thread_cpu / demand.cpu) if load.cpu else peak)


def _share(amount: float, whole: float) -> float:
    return amount / whole if whole else 0.0


def rates_of(tasks: Mapping[Load, int], losses: Losses) -> dict[Load, float]:
    """The rate of each kind of task on a node where so many of each run. Source: RAS, section 10.

    >>> sort_maps = Load(cpu=0.3, io=0.45, memory=0.25, rate_max=1.25)
    >>> round(rates_of({sort_maps: 4}, Losses())[sort_maps], 3)
    0.397
    """
    sharing = {load: count for load, count in tasks.items() if not load.is_free}
    asked = _total(sharing.items())
    thrashing = 1 + losses.memory * _excess(asked.memory)
    room = [
        1 / (1 + losses.cpu * _excess(asked.cpu)),
        1 / (1 + losses.io * _excess(asked.io)),
        1 / (1 + losses.network * _excess(asked.network)),
    ]
    rates = {load: load.rate_max for load in tasks if load.is_free}
    for load, speed in _fill(sharing, room).items():
        rates[load] = speed / thrashing
    return rates


def _total(tasks: Iterable[tuple[Load, int]]) -> Load:
    """Return what all tasks ask for together, at rate 1."""
    cpu = io = network = memory = 0.0
    for load, count in tasks:
        cpu += count * load.cpu
        io += count * load.io
        network += count * load.network
        memory += count * load.memory
    return Load(cpu, io, network, memory)


def _excess(asked: float) -> float:
    return max(0.0, asked - 1.0)


def _fill(rising: dict[Load, int], room: list[float]) -> dict[Load, float]:
    """Raise all rates together; in each round those stop that have reached their end.

    room: what is left of cpu, io and network for the tasks that still rise, their use included.
    """
    stopped: dict[Load, float] = {}
    level = 0.0
    while rising:
        asked = _total(rising.items())[:3]
        full_at = [
            left / wanted if wanted else math.inf for left, wanted in zip(room, asked, strict=True)
        ]
        # Rounding in what the stopped ones use must not lower the others again.
        level = max(level, min(*full_at, *(load.rate_max for load in rising)))
        for load in [load for load in rising if _is_stopped(load, level, full_at)]:
            count = rising.pop(load)
            stopped[load] = level
            for index in range(3):
                room[index] -= count * load[index] * level
    return stopped


def _is_stopped(load: Load, level: float, full_at: list[float]) -> bool:
    if load.rate_max <= level:
        return True
    return any(taken and full <= level for taken, full in zip(load[:3], full_at, strict=True))
