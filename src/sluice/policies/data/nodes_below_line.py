"""Which nodes have a free slot of a kind within their balance line: sets of node indexes.

A node takes tasks up to its share of the demand, so that most nodes with free slots may take none
while the demand is below the slots. See `balance_line`. A node is entered again when a
task starts or ends there; all of them only when the line moves, by a slot, for any of them.
"""

from __future__ import annotations

from typing import Final

from sluice.core.entries import Attempt, NodeEntry
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.indexes.open_nodes import IndexSet
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.balance_line import balance_line

_CONTAINER: Final = SlotKind.CONTAINER


class _Line:
    """The line of one kind of slot. opened: nodes with a free one, and below: within the line.

    load: by which they were entered; sizes: how many slots nodes have, each number once.
    """

    __slots__ = ("below", "kind", "load", "node_changes", "opened", "sizes")

    def __init__(self, kind: SlotKind, opened: IndexSet) -> None:
        self.kind = kind
        self.opened = opened
        self.below = IndexSet()
        self.load = 0.0
        self.sizes: list[int] = []
        self.node_changes = 0

    def enter(self, node: NodeEntry) -> None:
        """Enter whether a node is below the line."""
        kind = self.kind
        line = balance_line(self.load, node.slots(kind))
        is_below = node.used(kind) < line and self.opened.has(node.index)
        self.below.set_member(node.index, is_member=is_below)

    def has_moved(self, load: float) -> bool:
        """Whether the line is another one at a load, for a node of any size."""
        if load == self.load:
            return False
        for slots in self.sizes:
            if balance_line(load, slots) != balance_line(self.load, slots):
                return True
        return False


class NodesBelowLine(AttemptIndex):
    """The nodes with room within the line. Containers have no line: all with room are within."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._lines: ByKind[_Line] = ByKind(lambda kind: _Line(kind, state.open_nodes.of(kind)))
        state.observe_attempts(self)

    def of(self, kind: SlotKind, load: float) -> IndexSet:
        """Those with room for a kind of task. load: the demand for the kind, by its slots."""
        line = self._lines.of(kind)
        return line.opened if kind is _CONTAINER else self._settled(line, load)

    def _settled(self, line: _Line, load: float) -> IndexSet:
        """The nodes below a line, as the demand is now."""
        state = self._state
        is_outdated = line.node_changes != state.node_changes
        if is_outdated:
            line.node_changes = state.node_changes
            line.sizes = list({node.slots(line.kind) for node in state.node_at})
        if is_outdated or line.has_moved(load):
            line.load = load
            for node in state.node_at:
                line.enter(node)
        line.load = load
        return line.below

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._enter(attempt.node, attempt.slot_kind)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._enter(attempt.node, attempt.slot_kind)

    def _enter(self, node: NodeEntry, kind: SlotKind) -> None:
        # A container may close a node for typed tasks; tasks of one kind leave the other as it is.
        for other in KINDS:
            if other is not _CONTAINER and (kind is other or kind is _CONTAINER):
                self._lines.of(other).enter(node)
