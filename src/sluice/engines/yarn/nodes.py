"""From YARN's nodes to ours: the rule that the settings of a run give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluice.engines.node_weights import NodeWeights
from sluice.engines.yarn.rest import ResourceManagerRest, YarnNode
from sluice.engines.yarn.settings import YarnSettings
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

# Left on each node, so that another ApplicationMaster has room when a node is lost with the first.
MASTER_MEMORY_MB, MASTER_VCORES = 256, 1
LEAST_MEMORY_MB = 128  # for a node server, an agent, and one small task
DEFAULT_STEP_MB = 1024  # in which YARN grants memory where its configuration cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRule:
    """The scheduler's view of a node of YARN, and the container to ask for on it.

    step_mb: YARN grants multiples of it.
    """

    settings: YarnSettings
    step_mb: int
    weights: NodeWeights = field(default_factory=NodeWeights)

    @classmethod
    def of(
        cls, settings: YarnSettings, weights: NodeWeights, rest: ResourceManagerRest
    ) -> ContainerRule:
        """The rule for a cluster."""
        step = rest.configured("yarn.scheduler.minimum-allocation-mb")
        step_mb = int(step) if step.isdigit() else DEFAULT_STEP_MB
        return cls(settings=settings, step_mb=step_mb, weights=weights)

    def node(self, found: Mapping[str, Any]) -> Node:
        """The node that a report describes. Its id is its host's name."""
        vcores = self._vcores_most(found)
        rack = str(found["rack"]).strip("/") or "rack-1"
        return Node(
            node_id=NodeId(found["host"]),
            rack=rack,
            map_slots=int(vcores * self.settings.yarn_map_slots_per_vcore),
            containers=int(vcores * self.settings.yarn_containers_per_vcore),
            reduce_slots=int(vcores * self.settings.yarn_reduce_slots_per_vcore),
            unit_weight=self.weights.of(found["host"], rack),
        )

    def vcores(self, found: Mapping[str, Any]) -> int:
        """Processors of the container on a node; some schedulers of YARN do not count them."""
        return min(self._vcores_most(found), max(1, int(found["free_vcores"])))

    def _vcores_most(self, found: Mapping[str, Any]) -> int:
        return self.settings.yarn_vcores or max(1, int(found["vcores"]) - MASTER_VCORES)

    def memory_mb(self, found: Mapping[str, Any]) -> int:
        """Mebibytes of the container on a node; the request waits until they are free there."""
        free_mb, all_mb = int(found["free_memory_mb"]), int(found["memory_mb"])
        most_mb = min(free_mb, all_mb - MASTER_MEMORY_MB)
        wanted_mb = self.settings.yarn_memory_mb or max(LEAST_MEMORY_MB, most_mb)
        return max(1, min(wanted_mb, all_mb) // self.step_mb) * self.step_mb


def reported(node: YarnNode) -> dict[str, Any]:
    """A listed node as the ApplicationMaster would report it."""
    return {
        "id": node.node_id,
        "host": node.host,
        "rack": node.rack,
        "memory_mb": node.memory_mb,
        "vcores": node.vcores,
        "free_memory_mb": node.free_memory_mb,
        "free_vcores": node.free_vcores,
    }


def usable(nodes: Iterable[YarnNode]) -> list[YarnNode]:
    """Those with a processor and some memory, one of each host, by name."""
    found: dict[str, YarnNode] = {}
    for node in sorted(nodes, key=lambda one: one.node_id):
        if node.vcores >= 1 and node.memory_mb >= LEAST_MEMORY_MB:
            found.setdefault(node.host, node)
    return list(found.values())
