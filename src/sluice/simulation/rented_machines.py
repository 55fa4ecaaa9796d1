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

    def carry_out(self, command: Decision, now_s: float) -> None:
        """Rent or give back a node; other commands are not for machines."""
        if isinstance(command, Provision):
            for _ in range(command.nodes):
                node = replace(self._model, node_id=self._next_id())
                self._agenda.add(now_s + self._start_s, NODE_RANK, partial(self._join, node))
        elif isinstance(command, Release):
            self._faults.remove(command.node_id)
            self._agenda.add(now_s, NODE_RANK, partial(self._leave, command.node_id))

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
