"""One node of the cluster, as it is now: its free slots, as intervals, and its reserved resources.

The lowest free slot is always used first. Where slots of one kind are lent to tasks of another that
need more or less, a slot is divided into units (see `SlotUnits`), and what is free is counted in
those.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from heapq import heappop, heappush, heapreplace
from itertools import zip_longest
from typing import Final

from sluice.core.commands import Interval
from sluice.core.open_nodes import OpenNodes
from sluice.model.cluster import SLOTS_MAX, Node
from sluice.model.job import SlotKind
from sluice.model.resources import NOTHING, Resources

_NEVER: Final = math.nan
# A look-up on the Enum itself is slow enough to show in a simulation.
_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER

# What a task of a kind takes; a slot of that kind is as wide. A reduce of 2 units takes two map
# slots of 1 unit each, and two maps share a reduce slot. A container is one unit, whatever runs.
SlotUnits = Mapping[SlotKind, int]
WHOLE_SLOTS: Final[SlotUnits] = dict.fromkeys(SlotKind, 1)


class NodeEntry:
    """One node, as it is now.

    A node serves typed slots or containers at one time, not both: any slot can be a container.
    """

    __slots__ = (
        "_offers_containers", "_offers_maps", "_offers_reduces",
        "containers", "done", "fault", "fault_at_s", "faults", "free", "index", "is_up",
        "log_number", "node", "node_id", "open_nodes", "rack", "reserved", "rests_until_s", "room",
        "typed", "units",
    )  # fmt: skip

    def __init__(
        self,
        node: Node,
        index: int,
        units: SlotUnits = WHOLE_SLOTS,
        open_nodes: OpenNodes | None = None,
    ) -> None:
        self.node = node
        self.open_nodes = open_nodes or OpenNodes()  # where it is entered while it has room
        self.units = units
        self.node_id = node.node_id
        self.rack = node.rack
        self.index = index
        self.is_up = True
        self.faults = 0  # in a row; see `node_faults`
        self.fault = ""  # the last one, and when it was
        self.fault_at_s = _NEVER
        self.rests_until_s = -math.inf  # it is offered no work before
        self.reserved = NOTHING
        self.done = array("I")  # rows of attempts whose output is here and may still be needed
        self.log_number = -1  # in the record of attempts, once one has ended here
        # A node without any slots is limited by its resources alone.
        self.containers = node.slots(_CONTAINER) or SLOTS_MAX
        self.free = {kind: self.all_units(kind) for kind in SlotKind}
        self.room: dict[SlotKind, list[Interval]] = {
            kind: [(0, free)] if free else [] for kind, free in self.free.items()
        }
        # Whether it is in the index of nodes with room, by kind of slot.
        self._offers_maps = self._offers_reduces = self._offers_containers = False
        self.typed = self.free[_MAP] + self.free[_REDUCE]  # units of all its typed slots
        self.enter_room()

    def all_units(self, kind: SlotKind) -> int:
        """Units of all slots of a kind, free or not."""
        if kind is _CONTAINER:
            return self.containers
        return self.node.slots(kind) * self.units[kind]

    @property
    def is_set_aside(self) -> bool:
        """Whether it gets no more work, because of its faults."""
        return self.rests_until_s == math.inf

    def enter_room(self) -> None:
        """Enter its free slots in the index of nodes with room; a lost node has none.

        Called only when a kind runs out of free slots or when its first slot is taken or freed:
        between these instants the entries cannot change, and most starts and ends fall between.
        """
        free = self.free
        maps = reduces = containers = 0
        if self.is_up:
            containers = free[_CONTAINER]
            if containers == self.containers:
                maps, reduces = free[_MAP], free[_REDUCE]
                if maps + reduces != self.typed:
                    containers = 0
        nodes, index = self.open_nodes, self.index
        if (maps > 0) != self._offers_maps:
            self._offers_maps = maps > 0
            nodes.maps.set_member(index, is_member=maps > 0)
        if (reduces > 0) != self._offers_reduces:
            self._offers_reduces = reduces > 0
            nodes.reduces.set_member(index, is_member=reduces > 0)
        if (containers > 0) != self._offers_containers:
            self._offers_containers = containers > 0
            nodes.containers.set_member(index, is_member=containers > 0)

    def is_mixed(self, kind: SlotKind) -> bool:
        """Whether a slot of this kind would be used together with slots of the other manner."""
        free = self.free
        if kind is not _CONTAINER:
            return free[_CONTAINER] != self.containers
        return free[_MAP] + free[_REDUCE] != self.typed

    def take_slots(self, kind: SlotKind, wanted: int) -> tuple[Interval, ...]:
        """Take the lowest `wanted` free units; the caller has checked that they are there."""
        before = self.free[kind]
        self.free[kind] = before - wanted
        if before == wanted or self._is_idle(kind, before):
            self.enter_room()
        heap = self.room[kind]
        start, length = heap[0]
        if length == wanted:
            return (heappop(heap) if len(heap) > 1 else heap.pop(),)
        if length > wanted:
            heapreplace(heap, (start + wanted, length - wanted))
            return ((start, wanted),)
        return self._take_scattered(heap, wanted)

    def _take_scattered(self, heap: list[Interval], wanted: int) -> tuple[Interval, ...]:
        taken: list[Interval] = []
        while wanted:
            start, length = heappop(heap)
            if length > wanted:
                heappush(heap, (start + wanted, length - wanted))
                length = wanted
            wanted -= length
            if taken and sum(taken[-1]) == start:
                # Neighbours join again, so that intervals do not crumble for ever.
                taken[-1] = (taken[-1][0], taken[-1][1] + length)
            else:
                taken.append((start, length))
        return tuple(taken)

    def give_back(self, kind: SlotKind, slots: tuple[Interval, ...]) -> None:
        """Units that were taken are free again."""
        before = after = self.free[kind]
        room = self.room[kind]
        for interval in slots:
            after += interval[1]
            if room:
                heappush(room, interval)
            else:
                room.append(interval)
        self.free[kind] = after
        if not before or self._is_idle(kind, after):
            self.enter_room()

    def _is_idle(self, kind: SlotKind, free: int) -> bool:
        """Whether no slot of the manner that a kind belongs to would be taken with so many free."""
        if kind is _CONTAINER:
            return free == self.containers
        return free + self.free[_REDUCE if kind is _MAP else _MAP] == self.typed

    def used(self, kind: SlotKind) -> int:
        """Units of a kind of slot in use."""
        return self.all_units(kind) - self.free[kind]

    def fits(self, wanted: Resources) -> bool:
        """Whether the resources are free.

        A capacity of 0 throughout means unlimited, but for other resources, which a node has or
        has not.
        """
        capacity = self.node.capacity
        if capacity.is_zero and not any(amount for _, amount in wanted.other):
            return True
        taken = (self.reserved + wanted).amounts()
        return all(
            used <= most * (1 + 1e-9)
            for used, most in zip_longest(taken, capacity.amounts(), fillvalue=0.0)
        )

    def reserve(self, wanted: Resources) -> None:
        """Set resources aside."""
        self.reserved += wanted

    def unreserve(self, held: Resources) -> None:
        """Resources that were set aside are free again."""
        self.reserved = self.reserved.minus(held)
