"""One node of the cluster, as it is now: its free slots and its reserved resources.

Where slots of one kind are lent to tasks of another that need more or less, a slot is divided into
units (see `SlotUnits`), and what is free is counted in those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import zip_longest
from struct import Struct
from typing import Final

from librt.strings import BytesWriter, write_i32_le
from mypy_extensions import i64

from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.free_slots import FreeByKind, FreeSlots, Interval, SlotSpan
from sluice.core.indexes.open_nodes import OpenNodes
from sluice.model.cluster import SLOTS_MAX, Node
from sluice.model.resources import NOTHING, Resources
from sluice.model.slot_kind import SlotKind

_NEVER: Final = math.nan
_ROW_NUMBER: Final = Struct("<I")
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
        "_containers", "_done", "_typed_used", "cordon", "fault", "fault_at_s", "faults", "free",
        "index", "is_up", "log_number", "node", "node_id", "open_nodes", "rack", "reserved",
        "rests_until_s", "units",
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
        self.index: i64 = index
        self.is_up = True
        self.faults: i64 = 0  # in a row; see `node_faults`
        self.fault = ""  # the last one, and when it was
        self.fault_at_s = _NEVER
        self.rests_until_s = -math.inf  # it is offered no work before
        self.cordon = ""  # why an operator wants no work on it; empty if it may have some
        self.reserved = NOTHING
        self._done = BytesWriter()  # the numbers of `done`, packed
        self.log_number: i64 = -1  # in the record of attempts, once one has ended here
        self.free = FreeByKind(lambda kind: FreeSlots(self._units_of(kind)))
        self._containers = node.slots(_CONTAINER)
        self._typed_used: i64 = 0  # units of its slots of all kinds but containers
        self.enter_room()

    def _units_of(self, kind: SlotKind) -> int:
        slots = self.node.slots(kind)
        if kind is _CONTAINER:  # a node without any slots is limited by its resources alone
            return slots or SLOTS_MAX
        return slots * self.units[kind]

    @property
    def done(self) -> list[int]:
        """Rows of attempts whose output is here and may still be needed."""
        return [row for (row,) in _ROW_NUMBER.iter_unpack(self._done.getvalue())]

    def add_done(self, row: int) -> None:
        """An attempt in a row of the record leaves its output here."""
        write_i32_le(self._done, row)

    def keep_done(self, rows: list[int]) -> None:
        """Only these of its outputs may still be needed."""
        self._done.truncate(0)
        for row in rows:
            self.add_done(row)

    def forget_done(self) -> None:
        """All outputs that were here are lost."""
        self._done.truncate(0)

    def all_units(self, kind: SlotKind) -> int:
        """Units of all slots of a kind, free or not."""
        return self.free.of(kind).total

    def slots(self, kind: SlotKind) -> int:
        """How many slots of a kind it has; none of a container if its resources alone limit it."""
        if kind is _CONTAINER:
            return self._containers
        total = self.free.of(kind).total
        return total if self.units is WHOLE_SLOTS else total // self.units[kind]

    @property
    def is_set_aside(self) -> bool:
        """Whether it gets no more work, because of its faults."""
        return self.rests_until_s == math.inf and not self.cordon

    def enter_room(self) -> None:
        """Enter its free slots in the index of nodes with room; a lost node has none.

        Called only when a kind runs out of free slots or when its first slot is taken or freed:
        between these instants the entries cannot change, and most starts and ends fall between.
        """
        for kind in KINDS:
            has_room = self.is_up and self.free.of(kind).count > 0
            self._enter_kind(kind, is_open=has_room and not self.is_mixed(kind))

    def _enter_kind(self, kind: SlotKind, *, is_open: bool) -> None:
        """Enter whether it has room of one kind, if that has changed."""
        nodes = self.open_nodes.of(kind)
        if is_open != nodes.has(self.index):
            nodes.set_member(self.index, is_member=is_open)

    def is_offered(self, kind: SlotKind) -> bool:
        """Whether it is in the index of nodes with room for a kind."""
        return self.open_nodes.of(kind).has(self.index)

    def is_mixed(self, kind: SlotKind) -> bool:
        """Whether a slot of this kind would be used together with slots of the other manner."""
        if kind is _CONTAINER:
            return self._typed_used > 0
        containers = self.free.containers
        return containers.count != containers.total

    def take_slots(self, kind: SlotKind, wanted: i64) -> SlotSpan:
        """Take the lowest `wanted` free units; the caller has checked that they are there."""
        free = self.free.of(kind)
        was_idle = self._is_idle(free)
        taken = free.take(wanted)
        if kind is not _CONTAINER:
            self._typed_used += wanted
        if was_idle:
            self.enter_room()
        elif not free.count:
            self._enter_kind(kind, is_open=False)  # nothing else can have changed
        return taken

    def take_slots_at(self, kind: SlotKind, wanted: list[Interval]) -> SlotSpan:
        """Take units by their numbers. Raises ValueError if one of them is not free."""
        free = self.free.of(kind)
        before = free.count
        taken = free.take_at(wanted)
        if kind is not _CONTAINER:
            self._typed_used += before - free.count
        self.enter_room()
        return taken

    def give_back(self, kind: SlotKind, slots: SlotSpan) -> None:
        """Units that were taken are free again."""
        free = self.free.of(kind)
        was_full = not free.count
        before = free.count
        free.give_back(slots)
        if kind is not _CONTAINER:
            self._typed_used -= free.count - before
        if self._is_idle(free):
            self.enter_room()
        elif was_full and self.is_up:
            self._enter_kind(kind, is_open=True)

    def _is_idle(self, free: FreeSlots) -> bool:
        """Whether no slot is in use of the manner, typed or not, to which these slots belong."""
        if free.count == free.total:
            return free is self.free.containers or not self._typed_used
        return False

    def used(self, kind: SlotKind) -> int:
        """Units of a kind of slot in use."""
        free = self.free.of(kind)
        return free.total - free.count

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
