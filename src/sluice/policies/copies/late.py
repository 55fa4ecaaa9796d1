"""LATE: a second copy of the task that would otherwise end last.

An order of jobs around another. If a job is next and has started all its tasks, a slow task of it
may be copied before the jobs behind it are asked. A `CopyGate` may put their tasks first (see
`sepb`). Alone, it is a task policy in which each kind of task uses its own slots.

Copies go to nodes that are not slow, while fewer than the limit run, and never to the node of the
first attempt. Data locality is not considered. The first to finish wins; the core kills the other.
A reduce that still waits for maps is not slow and gets no copy. `candidates` says in which
phases to look.

Source: Zaharia et al., OSDI 2008; dynamicmr spec, sections 5.1 and 5.4 (errata E16, E17).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.free_slots import FreeSlots
from sluice.core.offers import Offer
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.candidates import CopyCandidates, is_copied_before
from sluice.policies.copies.gate import CopyGate
from sluice.policies.copies.limits import CopyLimits
from sluice.policies.copies.progress_rate import left_s, rate_at
from sluice.policies.copies.reasons import room_reason, rule_reason
from sluice.policies.copies.sepb import PendingFirst
from sluice.policies.data.data_waits import DataWaits
from sluice.policies.decorator import earlier
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.job_order import JobOrder, Key, Pick, Place
from sluice.policies.memory import Memory
from sluice.policies.orders.order_decorator import OrderDecorator
from sluice.policies.orders.share_order import ShareOrder
from sluice.policies.rooms.nodes_alike import NodesWithRoom, first_with_room
from sluice.policies.settings import SpeculationSettings

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER
NOTHING_LENT: Final = Fractions(0.0, 0.0)


@mypyc_attr(allow_interpreted_subclasses=True)
class Late(OrderDecorator):
    """An order of jobs in which a slow task is offered a second time, at its job's place.

    borrowers: kinds of task that may also run in slots of the other kind.
    """

    def __init__(
        self,
        inner: JobOrder,
        gate: CopyGate | None = None,
        settings: SpeculationSettings | None = None,
        borrowers: frozenset[SlotKind] = frozenset(),
    ) -> None:
        super().__init__(inner)
        self._gate = gate or CopyGate()
        self._settings = settings or SpeculationSettings()
        self._borrowers = borrowers
        # For the present heartbeat:
        self._now_s = 0.0
        self._is_slow: bool | None = None
        self._ordered: dict[SlotKind, dict[PoolEntry | None, list[PhaseEntry]]] = {}
        self._slow: dict[PhaseEntry, list[Attempt]] = {}
        # Kinds of task of which no node would be given a copy, until a phase changes.
        self._refused: set[SlotKind] = set()

    @property
    def reads_progress(self) -> bool:
        return True

    @property
    def has_pools(self) -> bool:
        return self.inner.has_pools

    @property
    def shares(self) -> ShareOrder:
        return self.inner.shares

    def memory(self) -> Memory:
        """Which attempts it looked at, and what it found."""
        return {**self._candidates.saved(), "gate": self._gate.saved()}

    def remember(self, own: Memory, state: ClusterState) -> None:
        self._candidates.restored(own, state)
        self._gate.restored(own["gate"])

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._limits = CopyLimits(self._settings, state)
        self._candidates = CopyCandidates(self._limits, state)
        self._gate.attach(state, self.inner)

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(state.running)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        self._settle(state.now_s)
        # Asked in any case: who waits for data counts the nodes with room.
        return self.inner.could_use(slot_kind, state) or self._has_copies(slot_kind)

    def next_node(self, index: int, state: ClusterState) -> int:
        # Phases are reviewed when a node has room, as if each such node were offered.
        if state.open_nodes.first_from(index) < 0:
            return -1
        self._settle(state.now_s)
        if self._has_copies(_MAP) or self._has_copies(_REDUCE) or self._has_copies(_CONTAINER):
            waits = None if index else self.inner.data_waits(state)
            if waits is not None:
                waits.begin()
            return super().next_node(index, state)
        return self.inner.next_node(index, state)

    def data_waits(self, state: ClusterState) -> DataWaits | None:
        return self.inner.data_waits(state)

    def next_with_room(self, rooms: list[NodesWithRoom], index: int, state: ClusterState) -> int:
        for room in rooms:
            if self._has_copies(room.kind):
                return first_with_room(rooms, index)
        return self.inner.next_with_room(rooms, index, state)

    def _settle(self, now_s: float) -> None:
        """Find the phases that may have a slow attempt now."""
        if self._candidates.settle(now_s):
            self._refused.clear()

    def _has_copies(self, kind: SlotKind) -> bool:
        """Whether a node may be given a copy of a task of a kind, as far as is known."""
        if not self._candidates.of(kind) or kind in self._refused:
            return False
        return self._limits.allows_more

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = self.inner.wake_at_s(state, now_s)
        if not state.running:
            return inner_s
        # The same instant for every call until then, so that wake-ups do not multiply.
        return earlier(inner_s, self._candidates.next_check_s(now_s))

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        phase = attempt.phase
        reason = rule_reason(attempt, self._limits, now_s)
        if reason is None and not self._gate.allows(phase.job, phase.kind):
            return Reason(ReasonCode.OTHERS_FIRST)
        if reason is None:
            reason = room_reason(attempt, state, self._limits, self._borrowers, self.inner)
        return reason or Reason(ReasonCode.COPY_DUE)

    # --- in order -----------------------------------------------------------------------------

    def fill(self, offer: Offer) -> None:
        self.begin(offer.now_s)
        for kind in KINDS:
            free = offer.node.free.of(kind)
            if free.count:
                self._fill_kind(offer, kind, free, self._candidates.of(kind))
        self.end(offer.now_s)

    def _fill_kind(
        self, offer: Offer, kind: SlotKind, free: FreeSlots, candidates: dict[PhaseEntry, None]
    ) -> None:
        """Start tasks in the free slots of a kind."""
        node, line = offer.node, self.inner
        # Usual case: no copy candidates, so ask the inner order only.
        while free.count and (candidates or line.has_waiting(kind)):
            if not (self.has_room(node, kind, 0) if candidates else line.has_room(node, kind, 0)):
                break
            pick = self.pick(node, kind) if candidates else line.pick(node, kind)
            if pick is None:
                break
            offer.start(pick.phase, kind, pick.reason, copy_of=pick.copy_of)

    def begin(self, now_s: float) -> None:
        self._now_s, self._is_slow = now_s, None
        self._ordered.clear()
        self._slow.clear()
        self._settle(now_s)
        self._gate.settle()
        self.inner.begin(now_s)

    def has_waiting(self, kind: SlotKind) -> bool:
        return self.inner.has_waiting(kind)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        return self.inner.has_room(node, kind, more + self.copies_wanted(kind))

    def copies_wanted(self, kind: SlotKind) -> int:
        if not self._candidates.of(kind) or not self._limits.allows_more:
            return 0
        line = self.inner
        # While a task waits, room that is made for a copy could go to that task.
        is_idle = not (
            line.has_waiting(_MAP) or line.has_waiting(_REDUCE) or line.has_waiting(_CONTAINER)
        )
        return int(is_idle)

    def pools_with_copies(self) -> list[PoolEntry]:
        if not self._limits.allows_more:
            return []
        phases = (phase for kind in KINDS for phase in self._candidates.of(kind))
        return list(dict.fromkeys(phase.job.pool for phase in phases))

    def next_loan(self, index: int, kind: SlotKind, slot_kind: SlotKind) -> int:
        if self._has_copies(kind):
            return super().next_loan(index, kind, slot_kind)
        return self.inner.next_loan(index, kind, slot_kind)

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        copy = self._copy(node, kind, pool) if self._candidates.of(kind) else None
        if copy is None:
            return self.inner.pick(node, kind, pool, before)
        place = self._place(copy.phase)
        first = self.inner.pick(node, kind, pool, place if before is None else min(place, before))
        if first is not None or (before is not None and before < place):
            return first
        return copy

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        return self.inner.pick_within(node, kind, farthest, pool)

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        return self.inner.pool_place(pool, kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return self.inner.job_place(job, kind)

    # --- copies -------------------------------------------------------------------------------

    def _copy(self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None) -> Pick | None:
        """The first job in order that has a slow task, and that task."""
        if not self._limits.allows_more:
            return None
        if self._is_slow is None:
            self._is_slow = self._limits.is_slow(node)
        if self._is_slow:
            return None
        if kind not in self._ordered:
            if self._none_is_slow(kind, pool):
                return None
            self._enqueue(kind)
        return self._copy_in_line(node, kind, pool)

    def copies_on(self, job: JobEntry, node: NodeEntry, now_s: float) -> Iterator[Assignment]:
        """No other job has tasks for the node, so a share of SEPB changes nothing."""
        limits = self._limits
        if limits.is_slow(node):
            return
        self._now_s = now_s
        for phase in job.phases:
            kind, slow = phase.kind, limits.slow_of(phase, now_s)
            left = [
                (-left_s(one, rate_at(one, now_s), now_s), one.key, one)
                for one in slow
                if one.node is not node
            ]
            for _, _, attempt in sorted(left):
                if not node.free[kind] or not limits.allows_more:
                    break
                yield Assignment(phase, kind, self._reason(attempt), copy_of=attempt)

    def _copy_in_line(self, node: NodeEntry, kind: SlotKind, pool: PoolEntry | None) -> Pick | None:
        """The first slow task of the candidates, which have been lined up."""
        candidates = self._candidates.of(kind)
        may_go_elsewhere = pool is not None
        for phase in self._ordered[kind].get(pool, ()):
            if not self.inner.may_copy(phase, node):
                may_go_elsewhere = True
            elif self._gate.allows(phase.job, kind):
                found = self._slowest(phase, node)
                if found is not None:
                    del self._slow[phase]  # one of them has a copy now
                    return Pick(phase, self._reason(found), found)
                may_go_elsewhere = may_go_elsewhere or phase in candidates
        if not may_go_elsewhere:
            self._refused.add(kind)  # those that are left are kept back by the gate
        return None

    def _none_is_slow(self, kind: SlotKind, pool: PoolEntry | None) -> bool:
        """Whether all candidates are of the pool and none has a slow attempt, the usual case."""
        awake = self._candidates.of(kind)
        for phase in awake:
            if pool is not None and phase.job.pool is not pool:
                return False
            if not self._gate.allows(phase.job, kind) or self._slow_of(phase):
                return False
        awake.clear()  # until they change; it took no order of the phases to see that
        return True

    def _enqueue(self, kind: SlotKind) -> None:
        """Candidates in order, for all pools together and for each; once per heartbeat."""
        groups: dict[PoolEntry | None, list[PhaseEntry]] = {None: self._in_order(kind)}
        for phase in groups[None]:
            groups.setdefault(phase.job.pool, []).append(phase)
        self._ordered[kind] = groups

    def _in_order(self, kind: SlotKind) -> list[PhaseEntry]:
        """Phases with an attempt that is old enough, in the order of jobs."""
        return sorted(
            self._candidates.of(kind), key=lambda phase: (self._place(phase), phase.index)
        )

    def _place(self, phase: PhaseEntry) -> Place:
        job, kind = phase.job, phase.kind
        return Place(self.inner.pool_place(job.pool, kind), self.inner.job_place(job, kind))

    def _slowest(self, phase: PhaseEntry, node: NodeEntry) -> Attempt | None:
        """The slow attempt with the longest time left, not on this node."""
        now_s = self._now_s
        slow = self._slow_of(phase)
        if not slow:
            self._candidates.of(phase.kind).pop(phase, None)
            return None
        longest: Attempt | None = None
        longest_s = 0.0
        for attempt in slow:
            if attempt.node is node:
                continue
            to_go_s = left_s(attempt, rate_at(attempt, now_s), now_s)
            if (
                longest is None
                or to_go_s > longest_s
                or (to_go_s == longest_s and is_copied_before(attempt, longest))
            ):
                longest, longest_s = attempt, to_go_s
        return longest

    def _slow_of(self, phase: PhaseEntry) -> list[Attempt]:
        """The slow attempts of a phase that may be copied; found once in a heartbeat."""
        slow = self._slow.get(phase)
        if slow is None:
            slow = self._slow[phase] = self._limits.slow_of(phase, self._now_s)
        return slow

    def _reason(self, attempt: Attempt) -> Reason:
        to_go_s = left_s(attempt, rate_at(attempt, self._now_s), self._now_s)
        left = "unlimited time" if math.isinf(to_go_s) else f"{max(0.0, to_go_s):.0f} s"
        return Reason(
            ReasonCode.SPECULATED,
            (("case", self._gate.number), ("left", left), ("percentile", self._settings.slow_task)),
        )


def with_copies(
    line: JobOrder, settings: SpeculationSettings, fractions: Fractions = NOTHING_LENT
) -> JobOrder:
    """The order of jobs with the second copies that `speculation` and `sepb` ask for."""
    if settings.speculation != "late":
        return line
    borrowers = {SlotKind.MAP: fractions.pct_reduce, SlotKind.REDUCE: fractions.pct_map}
    lent = frozenset(kind for kind, fraction in borrowers.items() if fraction > 0)
    return Late(line, _gate(settings, fractions), settings, lent)


def _gate(settings: SpeculationSettings, fractions: Fractions) -> CopyGate:
    """Without a fraction no other job is asked, which is plain LATE."""
    is_by_pool = settings.sepb_mode == "pool"
    fraction = settings.sepb_pool if is_by_pool else settings.sepb
    if not fraction:
        return CopyGate()
    return PendingFirst(
        fraction,
        is_by_pool=is_by_pool,
        lends_map=fractions.pct_map > 0,
        lends_reduce=fractions.pct_reduce > 0,
    )
