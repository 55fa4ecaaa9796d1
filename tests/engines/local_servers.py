"""A launcher that starts the node servers itself, on this machine: a cluster for tests."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sluice.engines.cluster.launcher import NetworkLauncher
from sluice.engines.cluster.node_servers import NodeServerProcess
from sluice.engines.cluster.remote_agent import Access, RemoteAgent
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

LOOK_S = 0.25  # between two looks for node servers that have ended


class LocalServersLauncher(NetworkLauncher):
    """A `Launcher` that starts the node servers itself, on this machine.

    scratch: holds a folder for each node; no two node servers share one.  settings: of each node
    server; `node_id` and `scratch` are set here.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        scratch: Path,
        access: Access,
        epoch: int,
        settings: ServerSettings,
    ) -> None:
        super().__init__(nodes, {}, access, epoch)
        self._scratch = scratch.resolve()
        self._settings = settings
        self._servers: dict[NodeId, NodeServerProcess] = {}
        self._look_at_s = 0.0

    @property
    def servers(self) -> dict[NodeId, NodeServerProcess]:
        """The node servers that were started last, by node."""
        return dict(self._servers)

    def start(self, node: Node) -> RemoteAgent:
        """Start the node server with the agent: it may be what failed, or be frozen."""
        former = self._servers.pop(node.node_id, None)
        if former is not None:
            former.kill()
        digest = hashlib.sha256(node.node_id.encode()).hexdigest()[:16]
        server = NodeServerProcess(
            replace(
                self._settings, node_id=node.node_id, scratch=str(self._scratch / f"root-{digest}")
            )
        )
        self._servers[node.node_id] = server
        self._addresses[node.node_id] = server.address
        return super().start(node)

    def tend(self, now_s: float) -> None:
        super().tend(now_s)
        if now_s >= self._look_at_s:
            self._look_at_s = now_s + LOOK_S
            for node_id, server in list(self._servers.items()):
                agent = self._agents.get(node_id)
                if agent is not None and not agent.is_at_end and (how := server.ended()):
                    agent.fail(how)
        self._wake(self._look_at_s if self._servers else math.inf)

    def close(self) -> None:
        super().close()
        for server in self._servers.values():
            server.ask_to_end()
        for server in self._servers.values():
            server.end()
        self._servers.clear()
