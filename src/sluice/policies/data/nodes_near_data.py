"""Which nodes hold input of tasks that wait, or are in a rack that does: sets of node indexes."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from sluice.core.entries import NodeEntry, PhaseEntry
from sluice.core.indexes.open_nodes import IndexSet
from sluice.core.indexes.pending import LocatedTasks, PendingTasks
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.policies.data.delay import DelayScheduling

_RACK: Final = Locality.RACK


class NodesNearData:
    """The nodes and racks with input of the phases that were entered."""

    def __init__(self, state: ClusterState, delay: DelayScheduling) -> None:
        self._state = state
        self._delay = delay
        self._around = state.surroundings
        # A node whose tasks have all started stays in it until it is found.
        self._near = IndexSet()
        self._in_rack: dict[str, IndexSet] = {}
        self._node_changes = 0
        # Phases that may go to any node of their racks, and the nodes there, once they are known.
        self._at_rack: dict[PhaseEntry, None] = {}
        self._racks: list[IndexSet] | None = None

    def enter(self, pending: PendingTasks) -> None:
        """The tasks of a phase may start from now on."""
        if isinstance(pending, LocatedTasks):
            nodes, near = self._state.nodes, self._near
            for node_id in pending.node_ids():
                node = nodes.get(node_id)
                if node is not None:
                    near.add(node.index)

    def enter_rack(self, phase: PhaseEntry) -> None:
        """A phase may go to any node of its racks."""
        if phase not in self._at_rack:
            self._at_rack[phase] = None
            self._racks = None

    def level_fell(self) -> None:
        """A job may no longer go as far as before."""
        self._racks = None

    def begin(self) -> None:
        """Follow nodes that came or went."""
        if self._at_rack:
            self._racks = None  # tasks may have started since
        if self._node_changes == self._state.node_changes:
            return
        self._node_changes = self._state.node_changes
        self._in_rack.clear()
        for node in self._state.node_at:
            if self._around.is_near_data(node.node_id):
                self._near.add(node.index)
            in_rack = self._in_rack.get(node.rack)
            if in_rack is None:
                in_rack = self._in_rack[node.rack] = IndexSet()
            in_rack.add(node.index)

    def is_near(self, node: NodeEntry) -> bool:
        """Whether a task that waits may start on the node, for its input is there or near."""
        if self._near.has(node.index) and self._around.is_near_data(node.node_id):
            return True
        for phase in self._at_rack:  # noqa: SIM110  # a generator takes several times as long
            if self._is_wanted(phase, node.rack):
                return True
        return False

    def waiting_on(self, node: NodeEntry) -> list[LocatedTasks]:
        """Those with a task that may start on the node; empty if its rack counts as well."""
        there = self._around.by_node.get(node.node_id)
        if there is None or self._at_rack:
            return []
        return [pending for pending, tasks in there.items() if pending.has_fresh(tasks)]

    def first_from(self, index: i64, room: IndexSet) -> i64:
        """The first such node from an index on, of those with room; -1 if there is none."""
        best = self._first_on_node(index, room)
        if self._at_rack:
            if self._racks is None:
                self._racks = self._racks_wanted()
            for in_rack in self._racks:
                other = room.first_shared(in_rack, index)
                if other >= 0 and (best < 0 or other < best):
                    best = other
        return best

    def _first_on_node(self, index: i64, room: IndexSet) -> i64:
        near, around = self._near, self._around
        at = room.first_shared(near, index)
        while at >= 0:
            if around.is_near_data(self._state.node_at[at].node_id):
                return at
            near.discard(at)
            at = room.first_shared(near, at + 1)
        return -1

    def _racks_wanted(self) -> list[IndexSet]:
        """The nodes of each rack to which a phase may go."""
        for phase in list(self._at_rack):
            if not phase.is_queued or self._delay.level(phase.job) is not _RACK:
                del self._at_rack[phase]
        wanted = []
        for rack, in_rack in self._in_rack.items():
            for phase in self._at_rack:
                if self._is_wanted(phase, rack):
                    wanted.append(in_rack)
                    break
        return wanted

    def _is_wanted(self, phase: PhaseEntry, rack: str) -> bool:
        """Whether a phase may go to a rack."""
        pending = phase.pending
        if not isinstance(pending, LocatedTasks) or self._delay.level(phase.job) is not _RACK:
            return False
        return pending.is_in_rack(rack)
