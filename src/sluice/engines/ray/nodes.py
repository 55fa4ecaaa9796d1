"""From Ray's nodes to ours: the rule that the settings of a run give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sluice.engines.node_weights import NodeWeights
from sluice.engines.ray.embedded_cluster import NODE_LABEL
from sluice.engines.settings import TaskLimitSettings
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

ID_CHARACTERS = 6  # of Ray's id; enough to distinguish the lives of one host
DEFAULT_RACK = "rack-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRule:
    """The rule by which a node of Ray becomes one of the scheduler.

    embedded: the nodes of an embedded cluster, by their number; () for a cluster with an address.
    A rented node is like the first of them, and its label is its name.
    """

    map_slots_per_cpu: float = 1.0
    reduce_slots_per_cpu: float = 1.0
    rack_label: str = "rack"
    type_label: str = ""
    weights: NodeWeights = field(default_factory=NodeWeights)
    embedded: tuple[Node, ...] = ()

    @classmethod
    def of(cls, settings: TaskLimitSettings) -> NodeRule:
        """The rule for a cluster with an address."""
        return cls(
            map_slots_per_cpu=settings.ray_map_slots_per_cpu,
            reduce_slots_per_cpu=settings.ray_reduce_slots_per_cpu,
            rack_label=settings.ray_rack_label,
            type_label=settings.ray_type_label,
            weights=settings.node_weights(),
        )

    def node(self, found: Mapping[str, Any]) -> Node:
        """The node that the bridge found. Its id names the host, and which life of it."""
        labels: Mapping[str, str] = found["labels"]
        label = labels.get(NODE_LABEL, "")
        if self.embedded and label:
            if not label.isdigit():
                return replace(self.embedded[0], node_id=NodeId(label))
            return self.embedded[int(label)]
        rack = labels.get(self.rack_label) or DEFAULT_RACK
        vm_type = labels.get(self.type_label, "") if self.type_label else ""
        cpus = float(found["resources"].get("CPU", 0))
        return Node(
            node_id=NodeId(f"{found['host']}-{found['id'][:ID_CHARACTERS]}"),
            rack=rack,
            map_slots=int(cpus * self.map_slots_per_cpu),
            reduce_slots=int(cpus * self.reduce_slots_per_cpu),
            unit_weight=self.weights.of(found["host"], vm_type, rack),
            vm_type=vm_type,
        )
