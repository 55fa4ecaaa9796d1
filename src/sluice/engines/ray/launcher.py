"""The launcher of nodes of a Ray cluster."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sluice.engines.cluster.managed import ManagedLauncher
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.local.rented_nodes import RentedNodes
from sluice.engines.ray.bridge_process import BridgeProcess, RayPlace
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.tls_files import TlsFiles
from sluice.model.cluster import Node
from sluice.model.ids import NodeId


class RayLauncher(ManagedLauncher):
    """folder: of the run's bridge.  scratch: for the nodes, if they are on this machine.

    tls: for the node servers; None for plain TCP.

    A rented node of an embedded cluster is another raylet. One of another cluster comes from its
    autoscaler. Given back, others may use it until the autoscaler ends it; before that it is the
    first to be taken again.
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
        self._reports: dict[str, Mapping[str, Any]] = {}  # of the nodes of the cluster, by Ray's id
        self._former: Collection[NodeId] = ()  # those of the former life of the run
        self._returned: set[NodeId] = set()
        self._to_come = 0  # nodes that the autoscaler was asked for
        own = rule.embedded
        self._rented = RentedNodes(own[0], [node.node_id for node in own], 0.0) if own else None

    def connected(self) -> BridgeProcess:
        rented = () if self._rented is None else tuple(self._rented.nodes)
        return BridgeProcess(self._folder, replace(self._place, rented=rented))

    def node_of(self, report: Mapping[str, Any]) -> Node:
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
        """Start more raylets, or take nodes that were given back and request the others."""
        if self._rented is not None:
            self._rented.rent(nodes)
            return
        idle = [
            one for one in self._reports.values() if self.node_of(one).node_id in self._returned
        ]
        for report in idle[:nodes]:
            self._returned.discard(self.node_of(report).node_id)
            super()._take(report)
        self._to_come += max(0, nodes - len(idle))
        self._request()

    def give_back(self, node_id: NodeId) -> None:
        super().give_back(node_id)
        if self._rented is not None:
            self._rented.give_back(node_id)
        else:
            self._returned.add(node_id)
            self._request()

    def restore(
        self, rented: Sequence[Node], taken: Collection[NodeId], returned: Collection[NodeId]
    ) -> None:
        self._former, self._returned = frozenset(taken), set(returned)
        if self._rented is not None:
            self._rented.restore(rented, taken)

    def tend(self, now_s: float) -> None:
        super().tend(now_s)
        if self._rented is not None:
            self._rented.tend(now_s)
            for change in self._rented.changes():
                if not change.left:
                    self._returned.discard(change.node.node_id)
                    self.send({"do": "raylet", "name": change.node.node_id})

    def _take(self, report: Mapping[str, Any]) -> None:
        match report.get("report"):
            case "node":
                self._reports[report["id"]] = report
                node_id = self.node_of(report).node_id
                if node_id in self._returned:  # a driver before this one may not have said so
                    self.send({"do": "release", "id": report["id"]})
                    return
                is_more = self._is_listed or bool(self._former)
                if self._to_come and is_more and node_id not in self._former:
                    self._to_come -= 1
            case "left":
                gone = self._reports.pop(report["id"], None)
                if gone is not None:
                    self._returned.discard(self.node_of(gone).node_id)
        super()._take(report)

    def _request(self) -> None:
        """Have the autoscaler keep the nodes in use, and start those to come, of the largest size.

        A request takes the place of the one before.
        """
        there = [float(self._reports[ray_id]["resources"]["CPU"]) for ray_id in self._nodes]
        each = max(there, default=1.0)
        self.send({"do": "provision", "cpus": math.ceil(sum(there) + self._to_come * each)})

    def _scratch_of(self, ray_id: str) -> str:
        is_here = self._place.address is None
        return str(self._scratch / f"root-{ray_id[:16]}") if is_here else ""
