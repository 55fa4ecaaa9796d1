"""The launcher of nodes of a Ray cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sluice.engines.cluster.managed import ManagedLauncher
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.ray.bridge_process import BridgeProcess, RayPlace
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.tls_files import TlsFiles
from sluice.model.cluster import Node


class RayLauncher(ManagedLauncher):
    """folder: of the run's bridge.  scratch: for the nodes, if they are on this machine.

    tls: for the node servers; None for plain TCP.
    """

    system = "Ray"

    def __init__(
        self,
        folder: Path,
        scratch: Path,
        place: RayPlace,
        rule: NodeRule,
        *,
        epoch: int,
        lease_s: float | None,
        tls: TlsFiles | None = None,
    ) -> None:
        access = Access(key=b"", lease_s=lease_s)
        if tls is not None:
            name = tls.name or None
            access = replace(access, tls=tls.client_context(), server_name=name)
        super().__init__(access, epoch)
        self._tls = tls
        self._folder, self._scratch = folder, scratch.resolve()
        self._place, self._rule = place, rule
        self._cpus: dict[str, float] = {}

    def connected(self) -> BridgeProcess:
        return BridgeProcess(self._folder, self._place)

    def node_of(self, report: Mapping[str, Any]) -> Node:
        self._cpus[report["id"]] = report["resources"]["CPU"]
        return self._rule.node(report)

    def order_for(self, report: Mapping[str, Any], node: Node) -> Mapping[str, Any]:
        assert self._manager is not None
        settings = ServerSettings(
            token=self._manager.token,
            node_id=node.node_id,
            scratch=self._scratch_of(report["id"]),
            reattach_s=self._place.grace_s,
        )
        if self._tls is not None:
            settings = replace(
                settings,
                certificate=self._tls.certificate,
                key=self._tls.key or None,
                authority=self._tls.authority or None,
                server_name=self._tls.name or None,
            )
        return {"settings": asdict(settings)}

    def provision(self, nodes: int) -> None:
        """Request `nodes` additional nodes of Ray's autoscaler, as large as those there are."""
        there = [cpus for ray_id, cpus in self._cpus.items() if ray_id in self._nodes]
        each = max(there, default=1.0)
        self.send({"do": "provision", "cpus": math.ceil(sum(there) + nodes * each)})

    def _scratch_of(self, ray_id: str) -> str:
        is_here = self._place.address is None
        return str(self._scratch / f"root-{ray_id[:16]}") if is_here else ""
