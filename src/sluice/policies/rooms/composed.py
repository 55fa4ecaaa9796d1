"""A scheduler composed of an order of jobs and a room: the loop that fills nodes.

Each free slot of a node goes to the first in the order that fits, or to a second copy in its place,
until nothing more fits. The order is asked again after every start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.job_order import JobOrder
from sluice.policies.rooms.room import Room


def fill_room(offer: Offer, line: JobOrder, room: Room) -> None:
    """Start what fits on the node of the offer, in the order of a line."""
    node = offer.node
    line.begin(offer.now_s)
    for kind in room.kinds:
        while node.free[kind] and line.has_room(node, kind, 0):
            pick = line.pick(node, kind)
            if pick is None:
                break
            reserve = room.reserve(pick.phase)
            offer.start(pick.phase, kind, pick.reason, 1, pick.copy_of, reserve)
    line.end(offer.now_s)


class Composed(Decorator):
    """An order of jobs, with copies in it or not, over a room."""

    remembers: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, line: JobOrder, room: Room) -> None:
        super().__init__(line)
        self._inner = line
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
            fill_room(offer, self._inner, self._room)

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
        self._inner = line
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
            fill_room(offer, self._inner, self._room)
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
