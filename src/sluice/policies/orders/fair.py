"""Hadoop's Fair Scheduler with typed slots: pools with minimum shares, weights and delay.

At each heartbeat a node is filled up to its balance line, each time with a task of the kind of
which it runs fewer. Source: dynamicmr spec, section 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, ClassVar, Final

from mypy_extensions import i64, mypyc_attr

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.by_kind import KINDS
from sluice.core.offers import Offer
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.queues import PoolOrder
from sluice.model.slot_kind import SlotKind
from sluice.policies.data.data_waits import DataWaits, data_waits_if_many
from sluice.policies.data.delay import DelayScheduling
from sluice.policies.job_order import JobOrder, Key, Pick, Place
from sluice.policies.orders.balance_line import balance_line
from sluice.policies.orders.fair_shares import Claim, fill
from sluice.policies.orders.share_order import PoolShare, ShareOrder
from sluice.policies.rooms.slot_counts import slots_busy
from sluice.policies.settings import DelaySettings, FairSettings

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER
_BESIDE: Final = Locality.NODE
_RACK: Final = Locality.RACK
_NEEDY: Final = Reason(ReasonCode.BELOW_MIN_SHARE)
_LOWEST: Final = Reason(ReasonCode.LOWEST_SHARE)


def delay_of(settings: DelaySettings) -> DelayScheduling | None:
    """The delay scheduling that settings ask for; None without any wait."""
    if not (settings.node_wait_s or settings.rack_wait_s):
        return None
    return DelayScheduling(settings.node_wait_s, settings.rack_wait_s)


@mypyc_attr(allow_interpreted_subclasses=True)
class Fair(JobOrder):
    """Pools in the order of their shares; `delay` says how far from its data a job may run."""

    name: ClassVar[str] = "fair"
    Settings: ClassVar[type[Any]] = FairSettings

    def __init__(self, delay: DelayScheduling | None = None) -> None:
        self._delay = delay
        # With delays, a node with room is news even if no task could use the room.
        self.knows_next_node = delay is None
        self._waits: DataWaits | None = None  # made once there are so many nodes

    @classmethod
    def build(cls, settings: Any) -> Any:  # noqa: ANN401  # copies and kills may decorate it
        return cls(delay_of(settings))

    @property
    def has_pools(self) -> bool:
        return True

    @property
    def shares(self) -> ShareOrder:
        return self.order

    @property
    def follows_queues(self) -> bool:
        return True

    def queues_changed(self, state: ClusterState) -> None:
        self.order.take_up_pools()

    def saved(self) -> dict[str, Any]:
        return {} if self._delay is None else self._delay.saved()

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        if self._delay is not None:
            self._delay.restored(saved, state.jobs)

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self.order = ShareOrder(state)

    def fill(self, offer: Offer) -> None:
        node = offer.node
        if not offer.state.distinct_jobs:
            for kind in KINDS:
                self._fill_alike(offer, kind)
            return
        maps, reduces = self._room(node, _MAP), self._room(node, _REDUCE)
        containers = self._room(node, _CONTAINER)
        if self._delay is not None:
            self.begin(offer.now_s)
        while containers > 0 and self._start_first(offer, _CONTAINER):
            containers -= 1
        while maps > 0 or reduces > 0:
            if reduces <= 0 or (maps > 0 and self._is_map_next(node)):
                maps = maps - 1 if self._start_first(offer, _MAP) else 0
            else:
                reduces = reduces - 1 if self._start_first(offer, _REDUCE) else 0
        if self._delay is not None:
            self.end(offer.now_s)

    def _start_first(self, offer: Offer, kind: SlotKind) -> bool:
        """Start the first task in order of a kind; whether there was one."""
        if self._delay is not None:
            return self._start_near(offer, kind)
        share = self.order.first(kind)
        if share is None or (phase := share.first()) is None:
            return False
        offer.start(phase, kind, _reason(share))
        return True

    def _start_near(self, offer: Offer, kind: SlotKind) -> bool:
        """Start the first task whose data is near; returns whether there was one."""
        node, waits = offer.node, self._waits
        if waits is not None and waits.refuses(node, kind):
            return False
        only = None if waits is None else waits.only_near(node, kind)
        pick: Pick | None = None
        if only is None:
            pick = self.pick(node, kind)
        else:
            self.order.settle()
            pick = self._picked(only, self.order.share(only.job.pool, kind), node)
        if pick is not None:
            offer.start(pick.phase, kind, pick.reason)
        return pick is not None

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        if self._delay is not None:
            # A node with room ends a wait, whether or not a task that waits could use the room.
            self._delay.count_wait(state.now_s)
        return super().could_use(slot_kind, state)

    def next_node_of_use(self, index: int, state: ClusterState) -> int:
        waits = self.data_waits(state)
        if waits is None:
            return super().next_node_of_use(index, state)
        return waits.next_node(index)

    def data_waits(self, state: ClusterState) -> DataWaits | None:
        delay = self._delay
        if delay is None:
            return None
        if self._waits is None:
            self._waits = data_waits_if_many(state, self.order, delay)
        return None if self._waits is None else self._waits.if_jobs_are_distinct()

    def _is_map_next(self, node: NodeEntry) -> bool:
        """Whether a map is next on a node with room for both: the rarer kind, maps on a tie."""
        return node.used(_MAP) <= node.used(_REDUCE)

    def begin(self, now_s: float) -> None:
        if self._delay is not None:
            self._delay.begin(now_s)

    def end(self, now_s: float) -> None:
        if self._delay is not None:
            self._delay.end(now_s)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        if not node.free[kind]:
            return False
        load = self.order.load(kind, more)
        return node.used(kind) < balance_line(load, node.slots(kind))

    def _room(self, node: NodeEntry, kind: SlotKind) -> i64:
        """Tasks of a kind that the node may still take, up to its balance line."""
        free = node.free.of(kind).count
        return self.order.room(kind, node, free) if free and self._backlogs.of(kind).count else 0

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        if pool is not None:
            return self._pick_in(pool, node, kind, before)
        if before is None:
            first = self.order.first(kind)
            if first is None:
                return None
            phase = first.first()
            # The way of most tasks of a simulation.
            if phase is not None and self._is_near_enough(phase, node):
                return self._picked(phase, first, node)
        for share in self.order.pools(kind):
            if before is not None and share.place() > before.pool:
                return None
            pick = self._pick_of(share, node, before)
            if pick is not None:
                return pick
        if self._waits is not None and self._delay is not None and before is None:
            self._waits.refused_all(kind, self._delay.refused)
        return None

    def _pick_in(
        self, pool: PoolEntry, node: NodeEntry, kind: SlotKind, before: Place | None
    ) -> Pick | None:
        """Pick the first phase of one pool that is near enough to its data."""
        share = self._share_with_work(pool, kind)
        if share is None or (before is not None and share.place() > before.pool):
            return None
        return self._pick_of(share, node, before)

    def _pick_of(self, share: PoolShare, node: NodeEntry, before: Place | None) -> Pick | None:
        """The first of a pool's phases that is near enough to its data."""
        for phase in share.phases():
            if (
                before is not None
                and share.place() == before.pool
                and self.job_place(phase.job, phase.kind) > before.job
            ):
                return None
            if self._is_near_enough(phase, node):
                return self._picked(phase, share, node)
        return None

    def _is_near_enough(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task of the phase may start on the node; if not, it has been refused."""
        delay = self._delay
        if delay is None or delay.allows(phase, node):
            return True
        if self._waits is not None and delay.level(phase.job) is _RACK:
            self._waits.refused_in_rack(phase)
        return False

    def _picked(self, phase: PhaseEntry, share: PoolShare, node: NodeEntry) -> Pick:
        """The nearest task of a phase, which is near enough."""
        pick = Pick(phase, _reason(share))
        if self._delay is None or not phase.pending.is_placed:
            return pick
        return self._started(pick, phase.pending.nearest(node.node_id, node.rack))

    def _started(self, pick: Pick, locality: Locality | None) -> Pick:
        """Note that what was picked starts, so far from its data."""
        job = pick.phase.job
        if self._delay is not None:
            self._delay.started(job, locality)
            if self._waits is not None:
                self._waits.started(job)
        return pick

    def _share_with_work(self, pool: PoolEntry, kind: SlotKind) -> PoolShare | None:
        """A pool's share, if it has something to start and is below its cap."""
        if pool.backlogs[kind].first() is None:
            return None  # as most pools say, of reduces at least
        self.order.settle()
        share = self.order.share(pool, kind)
        return None if share.running >= share.cap else share

    def _shares(self, pool: PoolEntry | None, kind: SlotKind) -> Iterable[PoolShare]:
        if pool is None:
            return self.order.pools(kind)
        share = self._share_with_work(pool, kind)
        return () if share is None else (share,)

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        for share in self.order.pools(kind):
            yield from share.phases()

    def start_reason(self, phase: PhaseEntry) -> Reason:
        self.order.settle()
        return _reason(self.order.share(phase.job.pool, phase.kind))

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        is_near = farthest is _BESIDE
        for share in self._shares(pool, kind):
            for phase in share.phases():
                pending = phase.pending
                if is_near and not pending.is_within(node.node_id, node.rack, _BESIDE):
                    continue
                locality = pending.nearest(node.node_id, node.rack)
                if is_near and locality is not _BESIDE:
                    continue
                if self._waits is not None and not is_near:
                    self._waits.forget()  # its job may go that far from now on
                return self._started(Pick(phase, _reason(share)), locality)
        return None

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        self.order.settle()
        return self.order.share(pool, kind).place()

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        if job.pool.pool.order is PoolOrder.FIFO:
            return (job.release_seq,)
        running = sum([phase.running for phase in job.phases if phase.kind is kind])
        return (running / job.job.weight, *job.seniority)

    def _fill_alike(self, offer: Offer, kind: SlotKind) -> None:
        """Start all tasks at once, where tasks are alike: the same as one by one."""
        node = offer.node
        room = self._room(node, kind)
        while room > 0 and self.order.first(kind) is not None:
            before = node.free[kind]
            alone = self.order.first_alone(kind, room)
            if alone is None:
                # Each of the first pools gets a slot before any that is further behind, so that no
                # more pools than slots are given anything.
                parts = _divide(list(islice(self.order.pools(kind), room)), room)
            else:
                parts = [(alone, min(room, alone.waiting), _reason(alone))]
            for share, slots, reason in parts:
                for phase, tasks in share.divide(slots):
                    offer.start(phase, kind, reason, tasks)
            # A task that runs again comes alone, so that less may have started than was given.
            room -= before - node.free[kind]

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return None if self._delay is None else self._delay.wake_at_s(now_s)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        kind, job = phase.kind, phase.job
        waits = None if self._delay is None else self._delay.reason(phase)
        if waits is not None:
            return waits
        self.order.settle()
        share = self.order.share(job.pool, kind)
        if share.running >= share.cap:
            return Reason(ReasonCode.POOL_AT_CAP, (("cap", share.cap), ("kind", kind.value)))
        pools = self.order.pools(kind)
        ahead = sum(1 for _ in takewhile(lambda one: one is not share, pools))
        if ahead:
            return Reason(
                ReasonCode.POOL_OVER_SHARE, (("running", share.running), ("pools", ahead))
            )
        return slots_busy(state, kind)


def _reason(share: PoolShare) -> Reason:
    return _NEEDY if share.running < share.minimum else _LOWEST


def _divide(shares: list[PoolShare], slots: int) -> list[tuple[PoolShare, int, Reason]]:
    """Free slots over pools: first to those below their minimum, then by running / weight."""
    shares.sort(key=lambda share: share.seniority)
    needy = [share for share in shares if share.needs > 0]
    claims = [
        Claim(share.running, share.needs, max(1, min(share.minimum, share.demand)))
        for share in needy
    ]
    first = dict(zip(needy, fill(slots, claims), strict=True))
    rest = [
        Claim(
            share.running + first.get(share, 0), share.waiting - first.get(share, 0), share.weight
        )
        for share in shares
    ]
    then = fill(slots - sum(first.values()), rest)
    return [
        (share, first.get(share, 0) + more, _NEEDY if share in first else _LOWEST)
        for share, more in zip(shares, then, strict=True)
        if first.get(share, 0) + more
    ]
