"""The order of pools, and of jobs inside a pool, by who runs least for its weight.

Pools below their minimum share are needy and come first, by running / minimum; then the others
by running / weight; ties by earliest submission, then name. Inside a pool: the same without
minimum shares, or first in first out. Source: dynamicmr spec, section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from operator import attrgetter
from typing import Any

from mypy_extensions import i64

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.backlog import Backlog
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.indexes.number_table import NumberTable
from sluice.core.indexes.place_order import Order, Ranked
from sluice.core.state import ClusterState
from sluice.model.queues import PoolOrder
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.balance_line import balance_line
from sluice.policies.orders.fair_shares import claim_of, fill

Key = tuple[Any, ...]


class PhasePlace(Ranked):
    """The place of a phase among those of its pool, and what it was last counted for."""

    def __init__(self, phase: PhaseEntry, share: PoolShare) -> None:
        submitted_at_s, name = phase.job.seniority
        super().__init__(submitted_at_s, name, phase.index)
        self.phase = phase
        self.pool_share = share
        self.weight = phase.job.weight
        self.demand: i64 = 0
        self.running: i64 = 0


class PoolShare(Ranked):
    """One pool's claim on one kind of task, and the order of its jobs.

    of_kind: all pools for that kind; places: of all phases that wait or run, by their numbers.
    """

    def __init__(
        self, pool: PoolEntry, kind: SlotKind, of_kind: _KindShares, places: NumberTable[PhasePlace]
    ) -> None:
        super().__init__(0.0, str(pool.pool_id), 0)
        self.pool = pool
        self.kind = kind
        self.running = 0
        self.demand = 0
        self.seniority = (0.0, str(pool.pool_id))
        self._own_backlog: Backlog[PhaseEntry] | None = None
        self.of_kind = of_kind
        self._places = places
        self.jobs: Order[PhasePlace] | None = None  # kept since it was asked for
        self.take_up()

    def take_up(self) -> None:
        """Read what the workload gives the pool."""
        pool = self.pool.pool
        self.weight = pool.weight
        self.minimum = pool.slots_min(self.kind)
        self.cap = pool.slots_max(self.kind)
        self.has_cap = self.cap < math.inf
        self._is_fair = pool.order is PoolOrder.FAIR

    @property
    def waiting(self) -> int:
        """Tasks it could start, within its cap."""
        return int(min(self.demand, self.cap)) - self.running

    @property
    def needs(self) -> int:
        """Slots it lacks to its minimum share, as far as it has work for them."""
        return min(self.minimum, self.demand) - self.running

    def rank_at(self, running: int) -> tuple[int, float]:
        """Tier and share if it ran that many tasks: the one rule of who is next among pools.

        Needy pools are in tier 0, by how much of their minimum share they have. What a pool has no
        work for is not missing, so that a small demand lowers its minimum share.
        """
        least = min(self.minimum, self.demand)
        return (0, running / least) if running < least else (1, running / self.weight)

    def key_at(self, running: int) -> Key | None:
        """Its place if it ran that many tasks; None if it could then start nothing.

        It only falls back as they become more, which `first_alone` counts on.
        """
        can_start = running < self.demand and running < self.cap
        return self._place_at(running) if can_start else None

    def _place_at(self, running: int) -> Key:
        tier, share = self.rank_at(running)
        return (tier, share, self.seniority)

    def key(self) -> Key | None:
        """Its place among the pools that can start something, else None."""
        return self.key_at(self.running)

    def place(self) -> Key:
        """Its place among all pools, also of those that can start nothing."""
        return self._place_at(self.running)

    def refresh_seniority(self) -> None:
        """Earliest submission of its jobs, then its name: what ties are broken by."""
        first = self.pool.oldest
        if first is not None and first.submitted_at_s != self.seniority[0]:
            self.seniority = (first.submitted_at_s, str(self.pool.pool_id))
            self.of_kind.pools.move(self, first.submitted_at_s)

    def phases(self) -> Iterator[PhaseEntry]:
        """Its startable phases with waiting tasks, in the order of its jobs; change nothing yet."""
        if self.is_by_release:
            return self._backlog.in_order()
        return map(attrgetter("phase"), self.job_order().in_order())

    def divide(self, slots: int) -> Iterator[tuple[PhaseEntry, int]]:
        """Slots over its phases with waiting tasks, as its order of jobs hands them out."""
        alone = self._first_alone(slots)
        if alone is not None:
            yield alone, min(slots, alone.pending.count)
            return
        # Each slot goes to the first in turn: of k slots, none comes to what is behind the first k.
        if self.is_by_release:
            phases = list(islice(self._backlog.in_order(), slots))
            left = dict.fromkeys((phase.job for phase in phases), slots)
        else:
            # Ties go by seniority, and `fill` breaks them by position.
            jobs = sorted(self._first_jobs(slots), key=attrgetter("seniority"))
            claims = [claim_of(job, self.kind) for job in jobs]
            left = dict(zip(jobs, fill(slots, claims), strict=True))
            own = [one for job in jobs for one in job.phases if one.kind is self.kind]
            phases = [phase for phase in own if phase.is_queued]
            phases.sort(key=attrgetter("release_seq", "index"))
        for phase in phases:
            if tasks := min(left[phase.job], slots, phase.pending.count):
                left[phase.job] -= tasks
                slots -= tasks
                yield phase, tasks

    def _first_jobs(self, most: int) -> set[JobEntry]:
        """The first jobs in turn, `most` at the most."""
        found: set[JobEntry] = set()
        for place in self.job_order().in_order():
            if len(found) == most:
                break
            found.add(place.phase.job)
        return found

    def _first_alone(self, slots: int) -> PhaseEntry | None:
        """The phase that gets all the slots, if one is that far behind the others."""
        if self.is_by_release:
            first = self._backlog.first()
            return first if first is not None and first.pending.count >= slots else None
        place, bound = self.job_order().first(), self.job_order().second()
        first = None if place is None else place.phase
        if first is None or first.pending.count < slots or not first.is_alone:
            return None
        last = _key_after(first, slots - 1)
        return first if bound is None or last < _key_after(bound.phase, 0) else None

    def first(self) -> PhaseEntry | None:
        """The phase whose turn it is inside the pool."""
        if self.is_by_release:
            return self._backlog.first()
        place = self.job_order().first()
        return None if place is None else place.phase

    @property
    def is_by_release(self) -> bool:
        """Whether its phases come in the order of their release, as those of one job do."""
        return not self._is_fair or len(self.pool.jobs) == 1

    @property
    def _backlog(self) -> Backlog[PhaseEntry]:
        """Its phases with tasks to start, in the order of their release."""
        if self._own_backlog is None:  # few pools are asked, and keeping it takes time
            self._own_backlog = self.pool.backlogs[self.kind]
        return self._own_backlog

    def job_order(self) -> Order[PhasePlace]:
        """The order of its jobs, made when the pool first has a choice between some."""
        if self.jobs is None:
            self.jobs = Order()
            for job in self.pool.jobs.values():
                for phase in job.phases:
                    place = self._places.get(phase.number) if phase.kind is self.kind else None
                    if place is not None:  # the others enter when they are counted
                        _place_phase(place, self.jobs)
        return self.jobs


def _running(phase: PhaseEntry) -> int:
    """Tasks of the phase's kind that its job runs."""
    if phase.is_alone:
        return phase.running
    return sum([sibling.running for sibling in phase.siblings])


def _key_after(phase: PhaseEntry, more: int) -> Key:
    """Its place among the phases of its pool if it ran so many more tasks."""
    return ((_running(phase) + more) / phase.job.weight, phase.job.seniority, phase.index)


def _place_phase(place: PhasePlace, jobs: Order[PhasePlace]) -> None:
    phase = place.phase
    if phase.is_queued:
        jobs.put(place, 0, _running(phase) / place.weight)
    else:
        jobs.remove(place)


class _KindShares:
    """The shares of all pools of one kind of task, in their order and by the pools' numbers, and
    the counts of all of them together.
    """

    __slots__ = ("demand", "of_pool", "pools", "running")

    def __init__(self) -> None:
        self.pools: Order[PoolShare] = Order()
        self.of_pool: NumberTable[PoolShare] = NumberTable()
        self.demand: i64 = 0
        self.running: i64 = 0


class ShareOrder:
    """Pools by share, one order for each kind of task; an index over the state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._shares: ByKind[_KindShares] = ByKind(lambda _: _KindShares())
        self._places: NumberTable[PhasePlace] = NumberTable()
        self._touched = state.touched_phases(self.settle)

    def _of(self, kind: SlotKind) -> _KindShares:
        """The pools by their shares of a kind, up to date."""
        if self._touched.count:
            self.settle()
        return self._shares.of(kind)

    def settle(self) -> None:
        """Count what has changed, and place the pools and jobs that are concerned."""
        changed: PoolShare | None = None
        while (phase := self._touched.take()) is not None:
            share = self._count(phase)
            # A task of a pool ended and another started: mostly its place is what it was.
            if share is not None and share is not changed:
                if changed is not None:
                    self._place_pool(changed)
                changed = share
        if changed is not None:
            self._place_pool(changed)

    def _count(self, phase: PhaseEntry) -> PoolShare | None:
        """Count a phase; returns its share if the place of that may have changed."""
        running: i64 = phase.running
        demand = running
        if phase.is_open:
            demand += phase.pending.count
        # Also while killed attempts of the job still run, so that this count may not change.
        elif phase.job.has_ended:
            self._refresh_seniority(phase.job.pool)
        place = self._places.get(phase.number)
        if place is None:
            place = self._entered(phase)
        elif place.demand == demand and place.running == running:
            return None
        share, of_kind = place.pool_share, place.pool_share.of_kind
        if place.demand != demand:
            more = demand - place.demand
            share.demand += more
            of_kind.demand += more
            place.demand = demand
        if place.running != running:
            more = running - place.running
            share.running += more
            of_kind.running += more
            place.running = running
        jobs = share.jobs
        if jobs is not None:
            _place_phase(place, jobs)
            if not phase.is_alone:
                self._place_siblings(phase, jobs)
        if not demand:
            self._places.discard(phase.number)
        return share

    def _entered(self, phase: PhaseEntry) -> PhasePlace:
        """The place of a phase that had none."""
        share = self.share(phase.job.pool, phase.kind)
        place = PhasePlace(phase, share)
        self._places.put(phase.number, place)
        if not share.is_by_release:
            share.job_order()  # now, so that no decision pays for all jobs
        share.refresh_seniority()
        return place

    def take_up_pools(self) -> None:
        """Pools have other weights, minimum shares or orders of jobs from now on."""
        self.settle()
        for pool in self._state.pools.values():
            for kind in KINDS:
                share = self._shares.of(kind).of_pool.get(pool.seq)
                if share is not None:
                    share.take_up()
                    self._place_pool(share)

    def _place_pool(self, share: PoolShare) -> None:
        running, pools = share.running, share.of_kind.pools
        if running >= share.demand or (share.has_cap and running >= share.cap):
            pools.remove(share)
        else:
            tier, part = share.rank_at(running)
            pools.put(share, tier, part)

    def _place_siblings(self, phase: PhaseEntry, jobs: Order[PhasePlace]) -> None:
        """A job's place counts all its running tasks of a kind, so its other phases move too."""
        for sibling in phase.siblings:
            place = None if sibling is phase else self._places.get(sibling.number)
            if place is not None:
                _place_phase(place, jobs)

    def _refresh_seniority(self, pool: PoolEntry) -> None:
        """A job has left the pool, which is then younger for every kind of task."""
        for kind in KINDS:
            share = self._shares.of(kind).of_pool.get(pool.seq)
            if share is not None:
                share.refresh_seniority()

    def share(self, pool: PoolEntry, kind: SlotKind) -> PoolShare:
        """A pool's share of one kind."""
        of_kind = self._shares.of(kind)
        share = of_kind.of_pool.get(pool.seq)
        if share is None:
            share = PoolShare(pool, kind, of_kind, self._places)
            of_kind.of_pool.put(pool.seq, share)
        return share

    def first(self, kind: SlotKind) -> PoolShare | None:
        """The pool whose turn it is."""
        return self._of(kind).pools.first()

    def first_alone(self, kind: SlotKind, slots: int) -> PoolShare | None:
        """The pool that gets all of these slots, if one is that far behind the others."""
        pools = self._of(kind).pools
        first, bound = pools.first(), pools.second()
        if first is None or first.waiting < slots:
            return None
        last = first.key_at(first.running + slots - 1)
        assert last is not None, "it has work for all of them"
        after = None if bound is None else bound.key()
        return first if after is None or last < after else None

    def pools(self, kind: SlotKind) -> Iterator[PoolShare]:
        """All pools that can start something, in their order at the call."""
        return self._of(kind).pools.in_order()

    def room(self, kind: SlotKind, node: NodeEntry, free: i64) -> i64:
        """Tasks of a kind that a node with so many free slots takes up to its share."""
        if self._touched.count:
            self.settle()
        of_kind, all_slots = self._shares.of(kind), self._state.slots[kind]
        demand = of_kind.demand
        if demand <= of_kind.running:
            return 0
        if demand >= all_slots:
            return free
        slots = node.slots(kind)
        return balance_line(demand / all_slots, slots) - slots + free

    def load(self, kind: SlotKind, more: int = 0) -> float:
        """Demand for a kind of slot and so much more, by its slots; 0/0 counts 0. Section 4."""
        demand = self._of(kind).demand
        slots = self._state.slots[kind]
        if slots:
            return (demand + more) / slots
        return math.inf if demand else 0.0
