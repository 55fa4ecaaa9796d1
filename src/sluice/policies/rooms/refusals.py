"""Nodes on which no waiting task has room: they are asked again after something has changed.

Only for a room that looks at the task and the node alone. What it could see changes when a task
starts or ends on the node, when nodes come or go, and when other work joins the queue.
"""

from __future__ import annotations

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.indexes.open_nodes import IndexSet
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind


class _Refused:
    """Nodes that were refused to all work of one kind. added: what had joined its queue by then."""

    __slots__ = ("added", "nodes")

    def __init__(self) -> None:
        self.nodes = IndexSet()
        self.added = 0


class Refusals(AttemptIndex):
    """Which nodes need not be asked, by the kind of their free slots.

    by_kind: whether a node that has no room for one phase has none for any of its kind.
    is_final: whether it follows that nothing that waits has room on the node at hand.
    """

    def __init__(self, state: ClusterState, *, by_kind: bool = False) -> None:
        self._state = state
        self._by_one = by_kind
        self.is_final = False
        self._by_kind: ByKind[_Refused] = ByKind(lambda _: _Refused())
        self._node_changes = 0
        self._phases: set[PhaseEntry] = set()  # that had no room on the node at hand
        state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._forget(attempt.node)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._forget(attempt.node)

    def _forget(self, node: NodeEntry) -> None:
        for kind in KINDS:
            self._by_kind.of(kind).nodes.discard(node.index)

    def _of(self, kind: SlotKind) -> IndexSet:
        """The nodes that were refused and have not changed since."""
        state = self._state
        if self._node_changes != state.node_changes:
            self._node_changes = state.node_changes
            self._by_kind = ByKind(lambda _: _Refused())
        refused, added = self._by_kind.of(kind), state.backlogs[kind].added
        if refused.added != added:
            refused.nodes, refused.added = IndexSet(), added
        return refused.nodes

    def has(self, node: NodeEntry, kind: SlotKind) -> bool:
        """Whether a slot of the node was refused to all that waits; else it is asked about now."""
        self.is_final = False
        if self._phases:
            self._phases.clear()
        return self._of(kind).has(node.index)

    def refuse(self, phase: PhaseEntry) -> None:
        """The phase has no room on the node that is asked about."""
        self.is_final = self._by_one
        if not self._by_one:
            self._phases.add(phase)

    def note(self, node: NodeEntry, kind: SlotKind) -> None:
        """Nothing starts in a slot of the node. That lasts if all that waits was refused."""
        if self.is_final or len(self._phases) == self._state.backlogs[kind].count:
            self._of(kind).add(node.index)

    def next_node(self, index: int, kind: SlotKind, slot_kind: SlotKind) -> int:
        """The first node from an index on with a free slot that is worth asking about; or -1.

        kind: of the tasks that would take it.
        """
        opened, refused = self._state.open_nodes.of(slot_kind), self._of(kind)
        found = opened.first_from(index)
        while found >= 0 and refused.has(found):
            found = opened.first_from(found + 1)
        return found
