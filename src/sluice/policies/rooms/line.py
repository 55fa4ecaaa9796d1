"""The line of a composed scheduler: an order of jobs, with the room and the waits for data."""

from __future__ import annotations

from sluice.core.entries import NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.open_nodes import first_of
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.data.delay import DelayScheduling
from sluice.policies.decorator import earlier
from sluice.policies.job_order import IN_TURN, JobOrder, Pick, Place
from sluice.policies.memory import NOTHING, Memory
from sluice.policies.orders.order_decorator import OrderDecorator, answering
from sluice.policies.rooms.loanable import Loanable
from sluice.policies.rooms.refusals import Refusals
from sluice.policies.rooms.room import Lent, Room


class Line(OrderDecorator):
    """Who comes first of those who fit, and may run as far from their data as the node is.

    delay: how long jobs wait for a node near their input; None for not at all.
    """

    def __init__(self, inner: JobOrder, room: Room, delay: DelayScheduling | None = None) -> None:
        super().__init__(inner)
        self.room = room
        self._delay = delay
        self._without_room: Refusals | None = None
        self._loans: Loanable | None = None

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self.room.attach(state)
        self._loans = self.room.loans
        if self.room.fits_by_node or self._loans is not None:
            self._without_room = Refusals(state, by_kind=self.room.fits_by_kind)
        # Each start asks all of these.
        inner = self.inner
        self._order = answering(inner, "candidates") or inner
        self._reasons = answering(inner, "start_reason")
        self._begins = answering(inner, "begin")
        self._ends = answering(inner, "end")
        self._limits_nodes = answering(inner, "has_room")
        self._fits = answering(inner, "fits")
        self._wakes = answering(inner, "wake_at_s")
        self._is_any_room = type(self.room).fits is Room.fits  # and need not be asked

    def memory(self) -> Memory:
        return NOTHING if self._delay is None else self._delay.saved()

    def remember(self, own: Memory, state: ClusterState) -> None:
        if self._delay is not None:
            self._delay.restored(own, state.jobs)

    def begin(self, now_s: float) -> None:
        if self._begins is not None:
            self._begins.begin(now_s)
        if self._delay is not None:
            self._delay.begin(now_s)

    def end(self, now_s: float) -> None:
        if self._ends is not None:
            self._ends.end(now_s)
        if self._delay is not None:
            self._delay.end(now_s)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        if self._limits_nodes is None:
            return node.free.of(kind).count > 0
        return self._limits_nodes.has_room(node, kind, more)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        if self._delay is not None:
            self._delay.count_wait(state.now_s)  # a node with room ends a wait
        if not super().could_use(slot_kind, state):
            return False
        # A lender lets the order choose before it looks for a node; other rooms offer one for that.
        return not isinstance(self.room, Lent) or self.inner.could_use(slot_kind, state)

    def next_node_of_use(self, index: int, state: ClusterState) -> int:
        refusals = self._without_room
        if refusals is None or self._loans is not None:
            return super().next_node_of_use(index, state)
        best = -1
        for kind in KINDS:
            if self.could_use(kind, state):
                best = first_of(best, refusals.next_node(index, kind, kind))
        return best

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        if self._is_any_room or self.room.fits(phase, node):
            return self._fits is None or self._fits.fits(phase, node)
        if self._without_room is not None:
            self._without_room.refuse(phase)
        return False

    def may_copy(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return self.room.fits(phase, node) and super().may_copy(phase, node)

    def may_start(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        if not self.fits(phase, node):
            return False
        return self._delay is None or self._delay.allows(phase, node)

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        refusals = self._without_room
        if self._loans is not None and not self._loans.is_asked:
            refusals = None  # all tasks fit in slots of their own kind
        if refusals is not None and refusals.has(node, kind):
            return None
        found = self._started(self._first_that_fits(node, kind, before, refusals), node)
        if found is None and refusals is not None:
            refusals.note(node, kind)
        return found

    def _first_that_fits(
        self, node: NodeEntry, kind: SlotKind, before: Place | None, refusals: Refusals | None
    ) -> Pick | None:
        """The first in the order that may start on the node."""
        reasons = self._reasons
        for phase in self._order.candidates(kind):
            if before is not None and self.job_place(phase.job, kind) > before.job:
                return None
            if self.may_start(phase, node):
                return Pick(phase, IN_TURN if reasons is None else reasons.start_reason(phase))
            if refusals is not None and refusals.is_final:
                return None
        return None

    def next_loan(self, index: int, kind: SlotKind, slot_kind: SlotKind) -> int:
        refusals = self._without_room
        if self._loans is None or refusals is None:
            return super().next_loan(index, kind, slot_kind)
        return refusals.next_node(index, kind, slot_kind)

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        return self._started(super().pick_within(node, kind, farthest, pool), node)

    def _started(self, pick: Pick | None, node: NodeEntry) -> Pick | None:
        """Note that what was picked starts, so its job's wait for data begins again."""
        if pick is not None and self._delay is not None and pick.phase.pending.is_placed:
            nearest = pick.phase.pending.nearest(node.node_id, node.rack)
            self._delay.started(pick.phase.job, nearest)
        return pick

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = None if self._wakes is None else self._wakes.wake_at_s(state, now_s)
        return inner_s if self._delay is None else earlier(inner_s, self._delay.wake_at_s(now_s))

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        waits = self._delay is not None and self._delay.wake_at_s(now_s) is not None
        return waits or super().holds_back(state, now_s)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        waits = None if self._delay is None else self._delay.reason(phase)
        if waits is not None:
            return waits
        reason = super().explain(phase, state, now_s)
        if reason.code is ReasonCode.SLOTS_BUSY:
            return self.room.explain(phase) or reason
        return reason
