"""Nodes that were set aside after faults: report them, and end a run that has no other node."""

from __future__ import annotations

from sluice.core.events import Event, NodeJoined
from sluice.core.faults.node_faults import faults_text, set_aside
from sluice.core.state import ClusterState
from sluice.engines.progress import Watcher
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import NodeId

AGAIN_S = 60.0  # after which a service tries again what has failed


class NodeHealth:
    """Follows the nodes of one life of a run."""

    def __init__(self, state: ClusterState, watcher: Watcher) -> None:
        self._state = state
        self._watcher = watcher
        self._reported: set[NodeId] = set()

    def report(self) -> None:
        """Send a message for each node that was set aside since the last call."""
        for node in set_aside(self._state.nodes):
            if node.node_id not in self._reported:
                self._reported.add(node.node_id)
                self._watcher.on_message(f"node {node.node_id!r} was set aside {faults_text(node)}")

    def rested(self, now_s: float) -> list[Event]:
        """The events that give nodes another chance, if nothing runs and all were set aside.

        For who has no end to give up: the fault may have been fixed in a while.
        """
        nodes = [node for node in self._state.nodes.values() if node.is_up and not node.cordon]
        if self._state.running or not all(node.is_set_aside for node in nodes):
            return []
        if any(now_s < node.fault_at_s + AGAIN_S for node in nodes):
            return []
        self._reported.clear()
        return [NodeJoined(now_s, node.node) for node in nodes]

    def check(self) -> None:
        """Raise EngineUnavailable if nothing runs and every node was set aside.

        A node that is lost may still come back, so the driver waits for it.
        """
        if not self._reported or self._state.running:
            return
        nodes = self._state.nodes.values()
        if all(node.is_up and node.is_set_aside for node in nodes):
            last = max(nodes, key=lambda node: (node.fault_at_s, node.node_id))
            raise EngineUnavailable(
                f"no node is left to work: {last.node_id!r} was set aside {faults_text(last)}."
                " Fix the machine, then continue with --resume."
            )
