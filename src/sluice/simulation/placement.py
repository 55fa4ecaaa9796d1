"""Placement of input blocks: a random node, then two different nodes of one other rack.

Used if the cluster has racks. Source: dynamicmr spec, section 10 (locality).
"""

from __future__ import annotations

import random
from collections import defaultdict

from sluice.core.state import Locations
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.simulation.settings import SimulationSettings


class BlockPlacement:
    """Draws the replicas of each first-phase task's input block."""

    def __init__(self, cluster: Cluster, settings: SimulationSettings, seed: int) -> None:
        self._nodes = cluster.nodes
        self._replicas = settings.replicas
        self._is_on = cluster.has_racks
        self._seed = seed
        self._racks: dict[str, list[Node]] = defaultdict(list)
        for node in cluster.nodes:
            self._racks[node.rack].append(node)

    def of(self, job: Job) -> Locations:
        """Node ids that hold each task's input, by phase; empty without racks."""
        if not self._is_on:
            return {}
        draw = random.Random(f"{self._seed}/placement/{job.job_id}")
        return {
            index: tuple(self._block(draw) for _ in range(phase.tasks))
            for index, phase in enumerate(job.phases)
            if not phase.after
        }

    def _block(self, draw: random.Random) -> tuple[NodeId, ...]:
        first = draw.choice(self._nodes)
        others = [rack for rack in self._racks if rack != first.rack]
        # With one rack, the other replicas are on any other nodes of it.
        near = self._racks[draw.choice(others)] if others else self._racks[first.rack]
        rest = [node.node_id for node in near if node is not first]
        more = draw.sample(rest, min(self._replicas - 1, len(rest)))
        return (first.node_id, *more)
