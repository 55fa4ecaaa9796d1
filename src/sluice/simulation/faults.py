"""Nodes that fail and come back: exponential times, each node with a generator of its own."""

from __future__ import annotations

import random
from functools import partial
from typing import Protocol

from sluice.core.events import NodeJoined, NodeLost
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.simulation.agenda import NODE_RANK, Agenda
from sluice.simulation.settings import SimulationSettings

_REPAIR_SHARE = 0.1  # of the time between failures, where no repair time is given


class World(Protocol):
    """A world that faults happen to."""

    @property
    def is_over(self) -> bool:
        """Whether all work has ended, so that faults matter no more."""

    def node_dies(self, node_id: NodeId, now_s: float) -> None:
        """A node stops."""

    def report_node(self, event: NodeJoined | NodeLost) -> None:
        """The scheduler learns of it."""


class NodeFaults:
    """Makes nodes fail. A loss is reported at once, or with heartbeats after the time-out."""

    def __init__(
        self,
        world: World,
        cluster: Cluster,
        agenda: Agenda,
        settings: SimulationSettings,
        seed: int,
    ) -> None:
        self._world = world
        self._agenda = agenda
        self._seed = seed
        self._gone: set[NodeId] = set()
        self._rate_per_s = settings.failure_rate_per_s
        self._notice_s = settings.node_timeout_s if settings.heartbeat_s else 0.0
        if not self._rate_per_s:
            return
        self._repair_s = settings.node_repair_s or _REPAIR_SHARE / self._rate_per_s
        self._draws: dict[NodeId, random.Random] = {}
        for node in cluster.nodes:
            self.add(node, 0.0)

    def add(self, node: Node, now_s: float) -> None:
        """A node that may fail from now on."""
        if self._rate_per_s:
            self._draws[node.node_id] = random.Random(f"{self._seed}/faults/{node.node_id}")
            self._plan_failure(node, now_s)

    def remove(self, node_id: NodeId) -> None:
        """A node that was given back fails no more, and does not come back."""
        self._gone.add(node_id)

    def _plan_failure(self, node: Node, now_s: float) -> None:
        at_s = now_s + self._draws[node.node_id].expovariate(self._rate_per_s)
        self._agenda.add(at_s, NODE_RANK, partial(self._fail, node))

    def _fail(self, node: Node, now_s: float) -> None:
        if self._world.is_over or node.node_id in self._gone:
            return
        self._world.node_dies(node.node_id, now_s)
        back_at_s = now_s + self._draws[node.node_id].expovariate(1 / self._repair_s)
        # If a node is back before its loss is noticed, its joining again reports the loss.
        noticed_at_s = min(now_s + self._notice_s, back_at_s)
        self._agenda.add(noticed_at_s, NODE_RANK, partial(self._tell_loss, node))
        self._agenda.add(back_at_s, NODE_RANK, partial(self._repair, node))

    def _tell_loss(self, node: Node, now_s: float) -> None:
        self._world.report_node(NodeLost(now_s, node.node_id, f"node {node.node_id} failed"))

    def _repair(self, node: Node, now_s: float) -> None:
        if node.node_id in self._gone:
            return
        self._world.report_node(NodeJoined(now_s, node))
        self._plan_failure(node, now_s)
