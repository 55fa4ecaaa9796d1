"""Nodes with room that have the same slots, and as many of them in use: sets of node indexes.

What a node could be given by its slots alone is the same for all nodes of a set. So a policy that
lends slots looks at one node of each, of which there are few, however many nodes have room.
"""

from __future__ import annotations

from sluice.core.entries import Attempt, NodeEntry
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.indexes.open_nodes import IndexSet, first_of
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind

_Use = tuple[int, int, int, int]  # units of map slots, and those free; the same of reduce slots


class AlikeNodes:
    """Nodes of which one is as good as another. nodes: their indexes; count: how many."""

    __slots__ = ("count", "nodes", "use")

    def __init__(self, use: _Use) -> None:
        self.use = use
        self.nodes = IndexSet()
        self.count = 0


class NodesAlike(AttemptIndex):
    """All nodes with room for typed tasks, by their slots and what is free of them."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._node_changes = -1
        self._touched: dict[int, None] = {}  # nodes that have changed, by index
        self._groups: dict[_Use, AlikeNodes] = {}
        self._group_of: list[AlikeNodes | None] = []  # by index
        state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._touched[attempt.node.index] = None

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._touched[attempt.node.index] = None

    def groups(self) -> list[AlikeNodes]:
        """All groups that have a node."""
        state = self._state
        if self._node_changes != state.node_changes:
            self._node_changes = state.node_changes
            self._groups.clear()
            self._group_of = [None] * len(state.node_at)
            self._touched.clear()
            for node in state.node_at:
                self._enter(node)
        elif self._touched:
            for index in self._touched:
                self._enter(state.node_at[index])
            self._touched.clear()
        return list(self._groups.values())

    def _enter(self, node: NodeEntry) -> None:
        """Bring a node to its group; without room it has none."""
        index = node.index
        group = self._group_of[index]
        use: _Use | None = None
        opened = self._state.open_nodes
        if opened.maps.has(index) or opened.reduces.has(index):
            maps, reduces = node.free.maps, node.free.reduces
            use = (maps.total, maps.count, reduces.total, reduces.count)
        if group is not None:
            if group.use == use:
                return
            group.nodes.discard(index)
            group.count -= 1
            if not group.count:
                del self._groups[group.use]
        self._group_of[index] = None if use is None else self._entered(index, use)

    def _entered(self, index: int, use: _Use) -> AlikeNodes:
        """The group of a use, with one more node."""
        group = self._groups.get(use)
        if group is None:
            group = self._groups[use] = AlikeNodes(use)
        group.nodes.add(index)
        group.count += 1
        return group


class NodesWithRoom:
    """The nodes with room for a task of a kind, as sets of node indexes.

    in_turn: for the first in order that may go that far from its data; near_data: only for a task
    with input on the node; anywhere: for any.
    """

    __slots__ = ("anywhere", "in_turn", "kind", "near_data")

    def __init__(self, kind: SlotKind) -> None:
        self.kind = kind
        self.in_turn: list[IndexSet] = []
        self.near_data: list[IndexSet] = []
        self.anywhere: list[IndexSet] = []


def first_with_room(rooms: list[NodesWithRoom], index: int) -> int:
    """The first of all nodes with room from an index on; -1 if there is none."""
    best = -1
    for room in rooms:
        best = first_of(best, first_from(room.in_turn, index))
        best = first_of(best, first_from(room.near_data, index))
        best = first_of(best, first_from(room.anywhere, index))
    return best


def first_from(sets: list[IndexSet], index: int) -> int:
    """The least member of several sets from an index on; -1 if there is none."""
    best = -1
    for one in sets:
        best = first_of(best, one.first_from(index))
    return best
