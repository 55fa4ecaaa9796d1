"""One node whose tasks share its resources: the rate of each task, and the next end.

A stint is one piece of work of an attempt on the node. Equal stints have equal rates, so a group of
them needs one clock: the work done by each member since the group began. A stint ends when the
clock has advanced by the stint's work. A change in the set of tasks changes the rates of the clocks
and nothing else, so a thousand equal tasks cost as much as one.

Members join and leave; only `settle` computes new rates and puts the next end on the agenda, once
for all changes at one instant. Ends that were put there earlier are outdated; a version number
identifies them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from functools import partial

from sluice.model.resources import Resources
from sluice.simulation.agenda import TASK_RANK, Agenda
from sluice.simulation.settings import SimulationSettings
from sluice.simulation.sharing import Load, Losses, load_of, rates_of

# Remaining work below this share of the stint is rounding error.
_REST = 1e-9
_CROWDS_MAX = 100_000  # cached rates; the cache is cleared beyond this

Crowd = tuple[tuple[Load, int], ...]
Then = Callable[[float], None]  # called with the instant at which a stint ends


class Pace:
    """Loads and rates of the nodes of one simulation. Rates are cached, because most nodes are in
    the same few states most of the time.
    """

    def __init__(self, settings: SimulationSettings) -> None:
        self._settings = settings
        self._losses = Losses(
            cpu=settings.kappa_cpu,
            io=settings.kappa_io,
            network=settings.kappa_network,
            memory=settings.kappa_memory,
        )
        self._known: dict[Crowd, dict[Load, float]] = {}

    def load(self, demand: Resources, capacity: Resources) -> Load:
        """The load of one task on a node."""
        settings = self._settings
        return load_of(demand, capacity, peak=settings.peak, thread_cpu=settings.thread_cpu)

    def rates(self, crowd: Crowd) -> dict[Load, float]:
        """Speed of each task sharing a node. Pass them sorted, so arrival order does not matter."""
        rates = self._known.get(crowd)
        if rates is None:
            if len(self._known) >= _CROWDS_MAX:
                self._known.clear()
            rates = self._known[crowd] = rates_of(dict(crowd), self._losses)
        return rates


class Stint:
    """One thing that an attempt (of `tasks` alike tasks) does on a node."""

    __slots__ = ("load", "tasks", "then", "work_s", "until_s", "is_paced", "is_over")

    def __init__(
        self, load: Load, tasks: int, work_s: float, then: Then | None, *, is_paced: bool
    ) -> None:
        self.load = load
        self.tasks = tasks
        self.work_s = work_s
        self.then = then
        self.until_s = math.inf  # on the group's clock if it is paced, else the instant
        self.is_paced = is_paced
        self.is_over = False


class _Group:
    """Alike stints and their clock: `served_s` was the work of each at `since_s`."""

    __slots__ = ("tasks", "rate", "served_s", "since_s", "ends")

    def __init__(self, now_s: float) -> None:
        self.tasks = 0
        self.rate = 0.0
        self.served_s = 0.0
        self.since_s = now_s
        self.ends: list[tuple[float, int, Stint]] = []

    def served_by(self, now_s: float) -> float:
        return self.served_s + self.rate * (now_s - self.since_s)

    def run_at(self, rate: float, now_s: float) -> None:
        if rate != self.rate:
            self.served_s = self.served_by(now_s)
            self.since_s = now_s
            self.rate = rate

    def next_end_at_s(self) -> float:
        ends = self.ends
        while ends and ends[0][2].is_over:
            heapq.heappop(ends)
        if not ends:
            return math.inf
        return self.since_s + (ends[0][0] - self.served_s) / self.rate

    def ripe(self, now_s: float) -> Iterator[Stint]:
        """Stints whose work is done by now, up to rounding; each is returned once."""
        served_s = self.served_by(now_s)
        while self.next_end_at_s() <= now_s or self._is_first_done(served_s):
            yield heapq.heappop(self.ends)[2]

    def _is_first_done(self, served_s: float) -> bool:
        if not self.ends:
            return False
        until_s, _, stint = self.ends[0]
        return until_s - served_s <= _REST * stint.work_s


class SharedNode:
    """The tasks on one node. After each change, `settle_all` must be called before time goes on."""

    def __init__(
        self, capacity: Resources, pace: Pace, agenda: Agenda, touched: dict[SharedNode, None]
    ) -> None:
        self._capacity = capacity
        self._pace = pace
        self._agenda = agenda
        self._touched = touched
        self._groups: dict[Load, _Group] = {}
        self._stints = 0
        self._next_at_s = math.inf
        self._version = 0

    def load(self, demand: Resources) -> Load:
        """Return what one task with that demand takes of this node."""
        return self._pace.load(demand, self._capacity)

    def work(self, load: Load, tasks: int, work_s: float, then: Then, now_s: float) -> Stint:
        """Begin a stint of `work_s` seconds at rate 1, as fast as the others on the node allow."""
        if load.is_free:
            return self.stay(load, tasks, work_s, now_s, then)
        stint = Stint(load, tasks, work_s, then, is_paced=True)
        group = self._join(stint, now_s)
        stint.until_s = group.served_by(now_s) + work_s
        heapq.heappush(group.ends, (stint.until_s, self._stints, stint))
        return stint

    def stay(
        self, load: Load, tasks: int, length_s: float, now_s: float, then: Then | None = None
    ) -> Stint:
        """Take part in the node's load for `length_s` seconds by the clock (inf: until leaving)."""
        stint = Stint(load, tasks, length_s, then, is_paced=False)
        stint.until_s = now_s + length_s
        if not load.is_free:
            self._join(stint, now_s)
        if length_s < math.inf:
            self._agenda.add(stint.until_s, TASK_RANK, partial(self._stay_over, stint))
        return stint

    def left_s(self, stint: Stint, now_s: float) -> float:
        """A stint's work left (or its time left by the clock), in seconds."""
        clock_s = now_s
        if stint.is_paced:
            clock_s = self._groups[stint.load].served_by(now_s)
        return max(0.0, stint.until_s - clock_s)

    def leave(self, stint: Stint, now_s: float) -> float:
        """End a stint early. Returns what was left of it, as `left_s`."""
        left_s = self.left_s(stint, now_s)
        self._drop(stint)
        return left_s

    def settle(self, now_s: float) -> None:
        """Give every group its rate, and put the next end on the agenda if it has changed."""
        crowd = tuple(sorted((load, group.tasks) for load, group in self._groups.items()))
        rates = self._pace.rates(crowd)
        next_at_s = math.inf
        for load, group in self._groups.items():
            group.run_at(rates[load], now_s)
            next_at_s = min(next_at_s, group.next_end_at_s())
        # Rounding must not turn time back.
        next_at_s = max(now_s, next_at_s)
        if next_at_s != self._next_at_s:
            self._next_at_s = next_at_s
            self._version += 1
            if next_at_s < math.inf:
                self._agenda.add(next_at_s, TASK_RANK, partial(self._work_over, self._version))

    def _join(self, stint: Stint, now_s: float) -> _Group:
        group = self._groups.get(stint.load)
        if group is None:
            group = self._groups[stint.load] = _Group(now_s)
        group.tasks += stint.tasks
        self._stints += 1
        self._touched[self] = None
        return group

    def _drop(self, stint: Stint) -> None:
        stint.is_over = True
        group = self._groups.get(stint.load)
        if group is None:
            return  # a free one that stayed
        group.tasks -= stint.tasks
        if not group.tasks:
            del self._groups[stint.load]
        self._touched[self] = None

    def _work_over(self, version: int, now_s: float) -> None:
        """The next end on the agenda has come, with all that end at the same instant."""
        if version != self._version:
            return
        self._next_at_s = math.inf
        for stint in [stint for group in self._groups.values() for stint in group.ripe(now_s)]:
            self._end(stint, now_s)
        settle_all(self._touched, now_s)

    def _stay_over(self, stint: Stint, now_s: float) -> None:
        self._end(stint, now_s)
        settle_all(self._touched, now_s)

    def _end(self, stint: Stint, now_s: float) -> None:
        # What followed an end before this one, at the same instant, may have ended it too.
        if not stint.is_over:
            self._drop(stint)
            assert stint.then is not None, "a stint without an end is left, never over"
            stint.then(now_s)


def settle_all(touched: dict[SharedNode, None], now_s: float) -> None:
    """Settle every node that was touched since the last time, in the order of the first touch."""
    for node in touched:
        node.settle(now_s)
    touched.clear()
