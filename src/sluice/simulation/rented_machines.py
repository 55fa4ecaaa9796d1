"""Nodes that join and leave because the scheduler rents them and gives them back.

A rented node is like the first node of the cluster. It joins `start_s` after it was asked for,
without any input data on it. One that is given back is gone at once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sluice.core.commands import Provision, Release
from sluice.core.events import NodeJoined, NodeLost
from sluice.core.offers import Decision
from sluice.core.state import ClusterState
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.simulation.agenda import NODE_RANK, Agenda
from sluice.simulation.faults import NodeFaults, World


class RentedMachines:
    """Starts and stops nodes; `world` reports them to the scheduler."""

    def __init__(
        self, world: World, cluster: Cluster, agenda: Agenda, start_s: float, faults: NodeFaults
    ) -> None:
        self._world = world
        self._agenda = agenda
        self._faults = faults
        self._start_s = start_s
        self._model = cluster.nodes[0]
        self._taken = {node.node_id for node in cluster.nodes}
        self._started = 0

    def take_over(self, state: ClusterState, now_s: float) -> None:
        """Go on from a real cluster: the VMs that it has asked for last are still to come."""
        self._taken.update(state.nodes)
        left = state.machines.to_come
        for one in reversed(state.machines.changes):
            if one.what == "rented" and left:
                nodes = min(left, one.nodes)
                self._start(nodes, max(now_s, one.at_s + self._start_s))
                left -= nodes

    def carry_out(self, command: Decision, now_s: float) -> None:
        """Rent or give back a node; other commands are not for machines."""
        if isinstance(command, Provision):
            self._start(command.nodes, now_s + self._start_s)
        elif isinstance(command, Release):
            self._faults.remove(command.node_id)
            self._agenda.add(now_s, NODE_RANK, partial(self._leave, command.node_id))

    def _start(self, nodes: int, at_s: float) -> None:
        for _ in range(nodes):
            node = replace(self._model, node_id=self._next_id())
            self._agenda.add(at_s, NODE_RANK, partial(self._join, node))

    def _next_id(self) -> NodeId:
        """The first free name of rented-1, rented-2 and so on."""
        while True:
            self._started += 1
            name = NodeId(f"rented-{self._started}")
            if name not in self._taken:
                return name

    def _join(self, node: Node, now_s: float) -> None:
        self._faults.add(node, now_s)
        self._world.report_node(NodeJoined(now_s, node))

    def _leave(self, node_id: NodeId, now_s: float) -> None:
        self._world.report_node(NodeLost(now_s, node_id, "it was given back"))
