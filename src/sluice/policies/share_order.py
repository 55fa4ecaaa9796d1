"""The order of pools, and of jobs inside a pool, by who runs least for its weight.

Pools below their minimum share are needy and come first, by running / minimum; then the others
by running / weight; ties by earliest submission, then name. Inside a pool: the same without
minimum shares, or first in first out. Source: dynamicmr spec, section 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from sluice.core.entries import JobEntry, PhaseEntry, PoolEntry
from sluice.core.ranking import Ranking
from sluice.core.state import ClusterState
from sluice.model.cluster import PoolOrder
from sluice.model.job import SlotKind
from sluice.policies.fair_shares import Claim, fill

Key = tuple[float | str, ...]


class PoolShare:
    """One pool's claim on one kind of task, and the order of its jobs."""

    __slots__ = ("cap", "demand", "fixed", "jobs", "kind", "minimum", "pool", "running", "weight")

    def __init__(self, pool: PoolEntry, kind: SlotKind) -> None:
        self.pool = pool
        self.kind = kind
        self.weight = pool.pool.weight
        self.minimum = pool.pool.slots_min(kind)
        self.cap = pool.pool.slots_max(kind)
        self.running = 0
        self.demand = 0
        self.jobs: Ranking[PhaseEntry] | None = None
        if pool.pool.order is PoolOrder.FAIR:
            self.jobs = Ranking(_job_key)

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
        running = self.running
        if running >= self.demand or running >= self.cap:
            return None
        if running < self.minimum:
            return (0, running / max(1, min(self.minimum, self.demand)), *self.seniority())
        return (1, running / self.weight, *self.seniority())

    def seniority(self) -> tuple[float, str]:
        """Earliest submission of its jobs, then its name."""
        first = next(iter(self.pool.jobs.values()), None)
        return (first.job.submitted_at_s if first else 0.0, self.pool.pool_id)

    def phases(self) -> Iterator[PhaseEntry]:
        """Its startable phases with waiting tasks, in the order of its jobs."""
        if self.jobs is None or len(self.pool.jobs) == 1:
            return self.pool.backlogs[self.kind].in_order()
        return self.jobs.in_order()

    def divide(self, slots: int) -> Iterator[tuple[PhaseEntry, int]]:
        """Slots over its phases with waiting tasks, as its order of jobs hands them out."""
        phases = list(self.pool.backlogs[self.kind].in_order())
        if self.jobs is not None and len(phases) > 1:
            jobs = list(dict.fromkeys(phase.job for phase in phases))
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

    def first(self) -> PhaseEntry | None:
        """The phase whose turn it is inside the pool."""
        if self.jobs is None or len(self.pool.jobs) == 1:
            return self.pool.backlogs[self.kind].first()
        return self.jobs.first()


def _job_key(phase: PhaseEntry) -> Key | None:
    if not phase.is_queued:
        return None
    running = sum(p.running for p in phase.job.phases if p.kind is phase.kind)
    return (running / phase.job.job.weight, phase.job.release_seq, phase.index)


def _claim(job: JobEntry, kind: SlotKind) -> Claim:
    """What a job claims of its pool's slots."""
    phases = [phase for phase in job.phases if phase.kind is kind]
    waiting = sum(phase.pending.count for phase in phases if phase.is_queued)
    return Claim(sum(phase.running for phase in phases), waiting, job.job.weight)


class ShareOrder:
    """Pools by share, one order for each kind of task; an index over the state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._shares: dict[tuple[PoolEntry, SlotKind], PoolShare] = {}
        self._rankings: dict[SlotKind, Ranking[PoolShare]] = {
            kind: Ranking(PoolShare.key) for kind in SlotKind
        }
        self.demand: dict[SlotKind, int] = dict.fromkeys(SlotKind, 0)
        self.running: dict[SlotKind, int] = dict.fromkeys(SlotKind, 0)
        # Phases that changed since the last question, and what each counted for before.
        self._touched: dict[PhaseEntry, None] = {}
        self._counted: dict[PhaseEntry, tuple[int, int]] = {}
        state.observers = (*state.observers, self)

    def touch(self, phase: PhaseEntry) -> None:
        """The phase changed; it is counted when somebody asks."""
        self._touched[phase] = None

    def settle(self) -> None:
        """Count what has changed."""
        for phase in self._touched:
            self._count(phase)
        self._touched.clear()

    def _count(self, phase: PhaseEntry) -> None:
        running = phase.running
        demand = running + phase.pending.count if phase.is_open else running
        before = self._counted.get(phase)
        if before is None:
            before = (0, 0)
        elif before[0] == demand and before[1] == running:
            return
        share = self.share(phase.job.pool, phase.kind)
        more, started = demand - before[0], running - before[1]
        share.demand += more
        share.running += started
        self.demand[phase.kind] += more
        self.running[phase.kind] += started
        if demand:
            self._counted[phase] = (demand, running)
        else:
            self._counted.pop(phase, None)
        self._rankings[phase.kind].touch(share)
        if share.jobs is not None:
            for other in phase.job.phases:
                if other.kind is phase.kind:
                    share.jobs.touch(other)

    def share(self, pool: PoolEntry, kind: SlotKind) -> PoolShare:
        """A pool's share of one kind."""
        share = self._shares.get((pool, kind))
        if share is None:
            share = self._shares[pool, kind] = PoolShare(pool, kind)
        return share

    def first(self, kind: SlotKind) -> PoolShare | None:
        """The pool whose turn it is."""
        if self._touched:
            self.settle()
        return self._rankings[kind].first()

    def pools(self, kind: SlotKind) -> Iterator[PoolShare]:
        """All pools that can start something, in order, as they stand at the call."""
        if self._touched:
            self.settle()
        return self._rankings[kind].in_order()

    def load(self, kind: SlotKind) -> float:
        """Demand for a kind of slot per slot there is; 0/0 counts 0. Section 4."""
        if self._touched:
            self.settle()
        slots = self._state.slots[kind]
        if slots:
            return self.demand[kind] / slots
        return float("inf") if self.demand[kind] else 0.0
