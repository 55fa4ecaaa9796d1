"""The launcher of nodes of a Ray cluster, and the engine over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sluice.engines.agent_engine import AgentEngine
from sluice.engines.cluster.handshake import token_key
from sluice.engines.cluster.launcher import NetworkLauncher
from sluice.engines.cluster.remote_agent import Access, Address, RemoteAgent
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.ray.bridge_process import BridgeProcess, RayPlace
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.tls_files import TlsFiles
from sluice.model.cluster import Node
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import NodeId
from sluice.store.journal import FIRST_EPOCH

LOOK_S = 0.05


class RayLauncher(NetworkLauncher):
    """A `Launcher`. A node joins when its node server listens.

    folder: of the run's bridge.  scratch: for the nodes, if they are on this machine.
    tls: for the node servers; None for plain TCP.
    """

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
        self._tls = tls
        super().__init__((), {}, access, epoch, adopts=epoch > FIRST_EPOCH)
        self._folder, self._scratch = folder, scratch.resolve()
        self._place, self._rule = place, rule
        self._bridge: BridgeProcess | None = None
        self._nodes: dict[str, Node] = {}  # by Ray's id
        self._cpus: dict[str, float] = {}
        self._unused: set[NodeId] = set()  # node servers that no agent has been started on
        self._has_failed = self._is_listed = False
        self.is_stopping = False

    @property
    def servers(self) -> Mapping[NodeId, Address]:
        """Where the node servers listen, by node."""
        return dict(self._addresses)

    def open(self) -> None:
        """Start the bridge, or find the one of the run that is resumed."""
        self._bridge = BridgeProcess(self._folder, self._place)
        self._access = replace(self._access, key=token_key(self._bridge.token))
        self._wake(0.0)

    def start(self, node: Node) -> RemoteAgent:
        """Raises OSError for a node that joins again, when another node server listens there."""
        if node.node_id in self._unused:
            self._unused.remove(node.node_id)
            return super().start(node)
        address = self._addresses.pop(node.node_id, None)
        if address is not None:
            self._send({"do": "again", "id": self._ray_id(node), "address": address})
        raise OSError(f"node {node.node_id!r} waits for another node server")

    def tend(self, now_s: float) -> None:
        super().tend(now_s)
        bridge = self._bridge
        if bridge is not None:
            for report in bridge.reports():
                self._take(report)
            self._wake(now_s + LOOK_S)

    @property
    def alive(self) -> frozenset[NodeId] | None:
        """The nodes that Ray has now; None until it has listed them."""
        if not self._is_listed:
            return None
        return frozenset(node.node_id for node in self._nodes.values())

    def provision(self, nodes: int) -> None:
        """Ask Ray's autoscaler for so many nodes more, as large as those that are there."""
        cpus = sum(self._cpus.values())
        each = max(self._cpus.values(), default=1.0)
        self._send({"do": "provision", "cpus": math.ceil(cpus + nodes * each)})

    def close(self) -> None:
        super().close()
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            bridge.stop()
        self.next_at_s = math.inf

    def _take(self, report: Mapping[str, Any]) -> None:
        match report.get("report"):
            case "node":
                self._serve(report)
            case "left":
                self._cpus.pop(report["id"], None)
                node = self._nodes.pop(report["id"], None)
                if node is not None:
                    self.leave(node, report["why"])
            case "serving":
                node = self._nodes.get(report["id"])
                if node is not None:
                    host, port = report["address"]
                    self._unused.add(node.node_id)
                    self.join(node, (host, port))
            case "listed":
                self._is_listed = True
            case "unserved":
                self._unserved(report)
            case "fault":
                self._fail(report["why"])

    def _fail(self, why: str) -> None:
        """End the run, but not the stopping of it."""
        has_failed, self._has_failed = self._has_failed, True
        if not (has_failed or self.is_stopping):
            raise EngineUnavailable(f"Ray: {why.rstrip()}\nContinue with --resume.")

    def _serve(self, report: Mapping[str, Any]) -> None:
        node = self._rule.node(report)
        self._nodes[report["id"]] = node
        self._cpus[report["id"]] = report["resources"]["CPU"]
        assert self._bridge is not None
        settings = ServerSettings(
            token=self._bridge.token,
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
        self._send({"do": "serve", "id": report["id"], "settings": asdict(settings)})

    def _scratch_of(self, ray_id: str) -> str:
        is_here = self._place.address is None
        return str(self._scratch / f"root-{ray_id[:16]}") if is_here else ""

    def _unserved(self, report: Mapping[str, Any]) -> None:
        node = self._nodes.get(report["id"])
        if node is None:
            return
        self._addresses.pop(node.node_id, None)
        self._unused.discard(node.node_id)
        agent = self._agents.get(node.node_id)
        if agent is not None and not agent.is_at_end:
            agent.fail(report["why"])

    def _ray_id(self, node: Node) -> str:
        return next((one for one, known in self._nodes.items() if known == node), "")

    def _send(self, command: Mapping[str, Any]) -> None:
        if self._bridge is not None:
            self._bridge.send(command)


class RayEngine(AgentEngine):
    """Runs attempts on the nodes of a Ray cluster; an `Engine`."""

    def __init__(self, launcher: RayLauncher, epoch: int, clock: Callable[[], float]) -> None:
        super().__init__(launcher, epoch, clock)
        self._ray = launcher

    def capabilities(self) -> frozenset[str]:
        return super().capabilities() | {"provision"}

    def stop(self, *, kill_running: bool) -> None:
        self._ray.is_stopping = True
        super().stop(kill_running=kill_running)

    def alive(self) -> frozenset[NodeId] | None:
        """The nodes of the cluster, whether or not they can be reached; None until it is known."""
        return self._ray.alive

    def provision(self, nodes: int) -> None:
        """Ask for so many nodes more; those that come are reported as NodeJoined."""
        self._ray.provision(nodes)
