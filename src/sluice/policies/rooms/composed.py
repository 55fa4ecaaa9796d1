"""A scheduler composed of an order of jobs and a room: the loop that fills nodes.

Each free slot of a node goes to the first in the order that fits, or to a second copy in its place,
until nothing more fits. The order is asked again after every start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sluice.core.entries import NodeEntry
from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.job_order import JobOrder
from sluice.policies.orders.order_decorator import answering
from sluice.policies.rooms.room import Room


class _Filler:
    """Starts what fits on a node, in the order of a line."""

    def __init__(self, line: JobOrder, room: Room) -> None:
        self._room = room
        self._picks = answering(line, "pick") or line
        self._limits_nodes = answering(line, "has_room")
        self._begins = answering(line, "begin")
        self._ends = answering(line, "end")
        self._kinds = room.kinds
        self._reserves = type(room).reserve is not Room.reserve

    def fill(self, offer: Offer) -> None:
        node = offer.node
        if self._begins is not None:
            self._begins.begin(offer.now_s)
        for kind in self._kinds:
            while node.free.of(kind).count and self._has_room(node, kind):
                pick = self._picks.pick(node, kind)
                if pick is None:
                    break
                reserve = self._room.reserve(pick.phase) if self._reserves else None
                offer.start(pick.phase, kind, pick.reason, 1, pick.copy_of, reserve)
        if self._ends is not None:
            self._ends.end(offer.now_s)

    def _has_room(self, node: NodeEntry, kind: SlotKind) -> bool:
        return self._limits_nodes is None or self._limits_nodes.has_room(node, kind, 0)


class Composed(Decorator):
    """An order of jobs, with copies in it or not, over a room."""

    remembers: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, line: JobOrder, room: Room) -> None:
        super().__init__(line)
        self._filler = _Filler(line, room)
        self._room = room

    @property
    def has_any_slot(self) -> bool:
        return self._room.has_any_slot

    @property
    def needs_containers(self) -> bool:
        return SlotKind.MAP not in self._room.kinds

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return self._room.keeps_promises(jobs, nodes)

    def fill(self, offer: Offer) -> None:
        if offer.node.slots(SlotKind.CONTAINER) or not offer.node.node.capacity.is_zero:
            self._filler.fill(offer)

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        return self._room.shortage(kind, nodes)


class AnySlots(Decorator):
    """Around a policy of lent slots: tasks of stages, which are of no kind, take any slot.

    A cluster serves typed slots or containers at one time; where a job has stages, all its slots
    are containers, so that every slot is lent to any task.
    """

    remembers: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, inner: TaskPolicy, line: JobOrder, room: Room) -> None:
        super().__init__(inner)
        self._filler = _Filler(line, room)
        self._room = room

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._room.attach(state)

    @property
    def has_any_slot(self) -> bool:
        return True

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return self._room.keeps_promises(jobs, nodes)

    def fill(self, offer: Offer) -> None:
        if offer.state.backlogs[SlotKind.CONTAINER].count:
            self._filler.fill(offer)
        else:
            self.inner.fill(offer)

    def next_node(self, index: int, state: ClusterState) -> int:
        if state.backlogs[SlotKind.CONTAINER].count:
            return state.open_nodes.containers.first_from(index)
        return self.inner.next_node(index, state)

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        if kind is SlotKind.CONTAINER:
            return self._room.shortage(kind, nodes)
        return self.inner.shortage(kind, nodes)
