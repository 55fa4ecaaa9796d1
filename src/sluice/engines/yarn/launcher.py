"""The launcher of nodes of a YARN cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sluice.engines.cluster.managed import ManagedLauncher
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.yarn.application import YarnApplication
from sluice.engines.yarn.nodes import ContainerRule
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.model.cluster import Node
from sluice.model.ids import NodeId


class YarnLauncher(ManagedLauncher):
    """folder: of the run's application.  grace_s: how long its nodes go on without driver."""

    system = "YARN"

    def __init__(
        self,
        folder: Path,
        rest: ResourceManagerRest,
        rule: ContainerRule,
        *,
        epoch: int,
        lease_s: float | None,
        grace_s: float,
    ) -> None:
        super().__init__(Access(key=b"", lease_s=lease_s), epoch)
        self._folder, self._rest, self._rule = folder, rest, rule
        self._run_epoch, self._grace_s = epoch, grace_s

    def connected(self) -> YarnApplication:
        return YarnApplication(
            self._folder,
            self._rest,
            self._rule.settings,
            epoch=self._run_epoch,
            grace_s=self._grace_s,
        )

    def node_of(self, report: Mapping[str, Any]) -> Node:
        return self._rule.node(report)

    def order_for(self, report: Mapping[str, Any], node: Node) -> Mapping[str, Any]:
        """The container's size; the token and the addresses are known where it runs."""
        return {
            "rack": report["rack"],
            "memory_mb": self._rule.memory_mb(report),
            "vcores": self._rule.vcores(report),
            "settings": {"node_id": node.node_id, "reattach_s": self._grace_s},
        }

    def provision(self, nodes: int) -> None:
        """Take so many nodes of the cluster more, now or when there are more."""
        self.send({"do": "provision", "nodes": nodes})

    def restore(
        self, rented: Sequence[Node], taken: Collection[NodeId], returned: Collection[NodeId]
    ) -> None:
        """Take the nodes of the former life first, and none that it had given back."""
        self.send({"do": "restore", "rented": len(rented), "taken": taken, "returned": returned})
