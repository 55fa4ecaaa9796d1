"""The order of pools, and of jobs inside a pool, by who runs least for its weight.

Pools below their minimum share are needy and come first, by running / minimum; then the others
by running / weight; ties by earliest submission, then name. Inside a pool: the same without
minimum shares, or first in first out. Source: dynamicmr spec, section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from sluice.core.entries import JobEntry, PhaseEntry, PoolEntry
from sluice.core.ranking import Ranking
from sluice.core.state import ClusterState
from sluice.model.cluster import PoolOrder
from sluice.model.job import SlotKind
from sluice.policies.fair_shares import Claim, fill

Key = tuple[Any, ...]


class PoolShare:
    """One pool's claim on one kind of task, and the order of its jobs."""

    __slots__ = (
        "cap", "demand", "jobs", "kind", "minimum", "pool", "running", "seniority", "weight",
    )  # fmt: skip

    def __init__(self, pool: PoolEntry, kind: SlotKind) -> None:
        self.pool = pool
        self.kind = kind
        self.weight = pool.pool.weight
        self.minimum = pool.pool.slots_min(kind)
        self.cap = pool.pool.slots_max(kind)
        self.running = 0
        self.demand = 0
        self.seniority = (0.0, str(pool.pool_id))
        self.jobs: Ranking[PhaseEntry] | None = None
        if pool.pool.order is PoolOrder.FAIR:
            self.jobs = _JobRanking(_job_key)

    @property
    def waiting(self) -> int:
        """Tasks it could start, within its cap."""
        return int(min(self.demand, self.cap)) - self.running

    @property
    def needs(self) -> int:
        """Slots it lacks to its minimum share, as far as it has work for them."""
        return min(self.minimum, self.demand) - self.running

    def key(self) -> Key | None:
        """Place among the pools; None if it can start nothing."""
        return self.key_at(self.running)

    def key_at(self, running: int) -> Key | None:
        """Its place if it ran that many tasks; it only falls back as they become more."""
        if running >= self.demand or running >= self.cap:
            return None
        if running < self.minimum:
            return (0, running / max(1, min(self.minimum, self.demand)), self.seniority)
        return (1, running / self.weight, self.seniority)

    def place(self) -> Key:
        """Its place among all pools, also of those that can start nothing."""
        least = min(self.minimum, self.demand)
        if self.running < least:
            return (0, self.running / max(1, least), self.seniority)
        return (1, self.running / self.weight, self.seniority)

    def refresh_seniority(self) -> None:
        """Earliest submission of its jobs, then its name: what ties are broken by."""
        first = next(iter(self.pool.jobs.values()), None)
        if first is not None:
            self.seniority = (first.job.submitted_at_s, str(self.pool.pool_id))

    def phases(self) -> Iterator[PhaseEntry]:
        """Its startable phases with waiting tasks, in the order of its jobs."""
        if self.jobs is None or len(self.pool.jobs) == 1:
            return self.pool.backlogs[self.kind].in_order()
        return self.jobs.in_order()

    def divide(self, slots: int) -> Iterator[tuple[PhaseEntry, int]]:
        """Slots over its phases with waiting tasks, as its order of jobs hands them out."""
        alone = self._first_alone(slots)
        if alone is not None:
            yield alone, min(slots, alone.pending.count)
            return
        phases = list(self.pool.backlogs[self.kind].in_order())
        if self.jobs is not None and len(phases) > 1:
            # Ties go by seniority, and `fill` breaks them by position.
            jobs = sorted({phase.job for phase in phases}, key=attrgetter("seniority"))
            claims = [_claim(job, self.kind) for job in jobs]
            left = dict(zip(jobs, fill(slots, claims), strict=True))
        else:
            left = dict.fromkeys((phase.job for phase in phases), slots)
        for phase in phases:
            tasks = min(left[phase.job], slots, phase.pending.count)
            if tasks:
                left[phase.job] -= tasks
                slots -= tasks
                yield phase, tasks

    def _first_alone(self, slots: int) -> PhaseEntry | None:
        """The phase that gets all the slots, if one is that far behind the others."""
        if self.jobs is None or len(self.pool.jobs) == 1:
            first = self.pool.backlogs[self.kind].first()
            return first if first is not None and first.pending.count >= slots else None
        first, bound = self.jobs.first_and_bound()
        if first is None or first.pending.count < slots or len(first.siblings) > 1:
            return None
        last = _key_at(first, first.running + slots - 1)
        return first if bound is None or last < bound else None

    def first(self) -> PhaseEntry | None:
        """The phase whose turn it is inside the pool."""
        if self.jobs is None or len(self.pool.jobs) == 1:
            return self.pool.backlogs[self.kind].first()
        return self.jobs.first()


def _job_key(phase: PhaseEntry) -> Key | None:
    return _key_at(phase, _running(phase)) if phase.is_queued else None


class _JobRanking(Ranking[PhaseEntry]):
    """Phases by their jobs' places; asked for so often that the call of a key is worth saving."""

    __slots__ = ()

    def key_of(self, thing: PhaseEntry) -> Key | None:
        return _job_key(thing)


class _PoolRanking(Ranking[PoolShare]):
    """Pools by share, likewise."""

    __slots__ = ()

    def key_of(self, thing: PoolShare) -> Key | None:
        return thing.key()


def _running(phase: PhaseEntry) -> int:
    """Tasks of the phase's kind that its job runs."""
    if len(phase.siblings) == 1:
        return phase.running
    return sum([sibling.running for sibling in phase.siblings])


def _key_at(phase: PhaseEntry, running: int) -> Key:
    job = phase.job
    return (running / job.weight, job.seniority, phase.index)


def job_place(job: JobEntry, kind: SlotKind) -> Key:
    """Place of a job among those of its pool, also of one that can start nothing."""
    if job.pool.pool.order is PoolOrder.FIFO:
        return (job.release_seq,)
    running = sum([phase.running for phase in job.phases if phase.kind is kind])
    return (running / job.job.weight, *job.seniority)


def _claim(job: JobEntry, kind: SlotKind) -> Claim:
    """What a job claims of its pool's slots."""
    phases = [phase for phase in job.phases if phase.kind is kind]
    waiting = sum(phase.pending.count for phase in phases if phase.is_queued)
    return Claim(sum(phase.running for phase in phases), waiting, job.job.weight)


class _Count:
    """What a phase counted for when it was last looked at."""

    __slots__ = ("demand", "running", "share")

    def __init__(self, share: PoolShare) -> None:
        self.share = share
        self.demand = 0
        self.running = 0


class ShareOrder:
    """Pools by share, one order for each kind of task; an index over the state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._shares: dict[tuple[PoolEntry, SlotKind], PoolShare] = {}
        self._rankings: dict[SlotKind, Ranking[PoolShare]] = {
            kind: _PoolRanking(PoolShare.key) for kind in SlotKind
        }
        self.demand: dict[SlotKind, int] = dict.fromkeys(SlotKind, 0)
        self.running: dict[SlotKind, int] = dict.fromkeys(SlotKind, 0)
        self._touched: dict[PhaseEntry, None] = {}  # changed since the last question
        self._counts: dict[PhaseEntry, _Count] = {}
        state.observe(self, self.settle_all)

    def touch(self, phase: PhaseEntry) -> None:
        """The phase changed; it is counted at the next question."""
        self._touched[phase] = None

    def settle(self) -> None:
        """Count what has changed."""
        for phase in self._touched:
            self._count(phase)
        self._touched.clear()

    def settle_all(self) -> None:
        """Count what has changed, and place the pools and jobs that are concerned."""
        shares = {self.share(phase.job.pool, phase.kind): None for phase in self._touched}
        self.settle()
        for ranking in self._rankings.values():
            ranking.settle()
        for share in shares:
            if share.jobs is not None:
                share.jobs.settle()

    def _count(self, phase: PhaseEntry) -> None:
        running = phase.running
        demand = running + phase.pending.count if phase.is_open else running
        # Also while killed attempts of the job still run, so that this count may not change.
        if not phase.is_open and phase.job.has_ended:
            self._refresh_seniority(phase.job.pool)
        count = self._counts.get(phase)
        if count is None:
            count = self._counts[phase] = _Count(self.share(phase.job.pool, phase.kind))
            count.share.refresh_seniority()
        elif count.demand == demand and count.running == running:
            return
        share, kind = count.share, phase.kind
        if demand != count.demand:
            share.demand += demand - count.demand
            self.demand[kind] += demand - count.demand
        share.running += running - count.running
        self.running[kind] += running - count.running
        if demand:
            count.demand, count.running = demand, running
        else:
            del self._counts[phase]
        self._rankings[kind].touch(share)
        if share.jobs is not None:
            for sibling in phase.siblings:
                share.jobs.touch(sibling)

    def _refresh_seniority(self, pool: PoolEntry) -> None:
        """A job has left the pool, which is then younger for every kind of task."""
        for kind, ranking in self._rankings.items():
            share = self._shares.get((pool, kind))
            if share is not None:
                share.refresh_seniority()
                ranking.touch(share)

    def share(self, pool: PoolEntry, kind: SlotKind) -> PoolShare:
        """A pool's share of one kind."""
        share = self._shares.get((pool, kind))
        if share is None:
            share = self._shares[pool, kind] = PoolShare(pool, kind)
        return share

    def has_waiting(self, kind: SlotKind) -> bool:
        """Whether any task of a kind could start."""
        if self._touched:
            self.settle()
        return self.demand[kind] > self.running[kind]

    def first(self, kind: SlotKind) -> PoolShare | None:
        """The pool whose turn it is."""
        if self._touched:
            self.settle()
        return self._rankings[kind].first()

    def first_alone(self, kind: SlotKind, slots: int) -> PoolShare | None:
        """The pool that gets all of these slots, if one is that far behind the others."""
        if self._touched:
            self.settle()
        first, bound = self._rankings[kind].first_and_bound()
        if first is None or first.waiting < slots:
            return None
        last = first.key_at(first.running + slots - 1)
        assert last is not None, "it has work for all of them"
        return first if bound is None or last < bound else None

    def pools(self, kind: SlotKind) -> Iterator[PoolShare]:
        """All pools that can start something, in their order at the call."""
        if self._touched:
            self.settle()
        return self._rankings[kind].in_order()

    def load(self, kind: SlotKind, more: int = 0) -> float:
        """Demand for a kind of slot and so much more, by its slots; 0/0 counts 0. Section 4."""
        if self._touched:
            self.settle()
        slots = self._state.slots[kind]
        if slots:
            return (self.demand[kind] + more) / slots
        return math.inf if self.demand[kind] else 0.0
