"""The launcher for clusters whose manager starts the node servers: Ray, YARN.

A `Manager` is what the driver has of such a cluster. It reports `node` and `left`, `serving` with
the address of a node server and `unserved`, `listed` after the first look at the cluster, and
`fault` when nothing more can come of it. It takes `serve` with a node and the settings of its node
server, `again` with the address of one whose agent has failed, and more of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from sluice.engines.agent_engine import AgentEngine
from sluice.engines.cluster.handshake import token_key
from sluice.engines.cluster.launcher import NetworkLauncher
from sluice.engines.cluster.remote_agent import Access, Address, RemoteAgent
from sluice.model.cluster import Node
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import NodeId
from sluice.store.journal_file import FIRST_EPOCH

LOOK_S = 0.05


class Manager(Protocol):
    """The manager that starts node servers on the nodes of a cluster. token: of the run."""

    token: str

    def reports(self) -> list[dict[str, Any]]:
        """Return what is new since the last call."""

    def send(self, request: Mapping[str, Any], /) -> None:
        """Hand over a command."""

    def stop(self) -> None:
        """End all that it has started."""


class ManagedLauncher(NetworkLauncher, ABC):
    """A `Launcher`. A node joins when its node server listens.

    system: the name of the manager, for messages.
    """

    system: str

    def __init__(self, access: Access, epoch: int) -> None:
        super().__init__((), {}, access, epoch, adopts=epoch > FIRST_EPOCH)
        self._manager: Manager | None = None
        self._early: list[Mapping[str, Any]] = []  # commands from before there was a manager
        self._nodes: dict[str, Node] = {}  # by the manager's id
        self._unused: set[NodeId] = set()  # node servers that no agent has been started on
        self._has_failed = self._is_listed = False
        self.is_stopping = False

    # --- what differs -----------------------------------------------------------------------------

    @abstractmethod
    def connected(self) -> Manager:
        """Start the manager of the run, or find that of the run that is resumed."""

    @abstractmethod
    def node_of(self, report: Mapping[str, Any]) -> Node:
        """The node that a report describes."""

    @abstractmethod
    def order_for(self, report: Mapping[str, Any], node: Node) -> Mapping[str, Any]:
        """Return what `serve` says of a node: the settings of its node server, and more."""

    @abstractmethod
    def provision(self, nodes: int) -> None:
        """Request `nodes` additional nodes."""

    @abstractmethod
    def restore(
        self, rented: Sequence[Node], taken: Collection[NodeId], returned: Collection[NodeId]
    ) -> None:
        """Before `open`: the nodes that a former life of the run had rented; see `Renter`."""

    # --- as the engine sees it --------------------------------------------------------------------

    def give_back(self, node_id: NodeId) -> None:
        """Let the agent of a node end, and then its node server; may be repeated."""
        for manager_id in [one for one, node in self._nodes.items() if node.node_id == node_id]:
            self.leave(self._nodes.pop(manager_id), "it was given back")
            self._addresses.pop(node_id, None)
            self._unused.discard(node_id)
            self.send({"do": "release", "id": manager_id})

    @property
    def servers(self) -> Mapping[NodeId, Address]:
        """Where the node servers listen, by node."""
        return dict(self._addresses)

    def open(self) -> None:
        self._manager = self.connected()
        self._access = replace(self._access, key=token_key(self._manager.token))
        for request in self._early:
            self._manager.send(request)
        super().open()
        self._wake(0.0)

    def start(self, node: Node) -> RemoteAgent:
        """Raises OSError for a node that joins again, when another node server listens there."""
        if node.node_id in self._unused:
            self._unused.remove(node.node_id)
            return super().start(node)
        address = self._addresses.pop(node.node_id, None)
        if address is not None:
            self.send({"do": "again", "id": self._id_of(node), "address": address})
        raise OSError(f"node {node.node_id!r} waits for another node server")

    def tend(self, now_s: float) -> None:
        super().tend(now_s)
        manager = self._manager
        if manager is not None:
            for report in manager.reports():
                self._take(report)
            self._wake(now_s + LOOK_S)

    @property
    def alive(self) -> frozenset[NodeId] | None:
        """The nodes that the cluster has now; None until it has listed them."""
        if not self._is_listed:
            return None
        return frozenset(node.node_id for node in self._nodes.values())

    def close(self) -> None:
        super().close()
        manager, self._manager = self._manager, None
        if manager is not None:
            manager.stop()
        self.next_at_s = math.inf

    def send(self, request: Mapping[str, Any]) -> None:
        """Hand a command over to the manager, as soon as it is there."""
        if self._manager is not None:
            self._manager.send(request)
        else:
            self._early.append(request)

    # --- reports ----------------------------------------------------------------------------------

    def _take(self, report: Mapping[str, Any]) -> None:
        match report.get("report"):
            case "node":
                node = self._nodes[report["id"]] = self.node_of(report)
                self.send({"do": "serve", "id": report["id"], **self.order_for(report, node)})
            case "left":
                left = self._nodes.pop(report["id"], None)
                if left is not None:
                    self.leave(left, report["why"])
            case "serving":
                known = self._nodes.get(report["id"])
                if known is not None:
                    host, port = report["address"]
                    self._unused.add(known.node_id)
                    self.join(known, (host, port))
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
            raise EngineUnavailable(f"{self.system}: {why.rstrip()}\nContinue with --resume.")

    def _unserved(self, report: Mapping[str, Any]) -> None:
        node = self._nodes.get(report["id"])
        if node is None:
            return
        self._addresses.pop(node.node_id, None)
        self._unused.discard(node.node_id)
        agent = self._agents.get(node.node_id)
        if agent is not None and not agent.is_at_end:
            agent.fail(report["why"])

    def _id_of(self, node: Node) -> str:
        return next((one for one, known in self._nodes.items() if known == node), "")


class ManagedEngine(AgentEngine):
    """Runs attempts on the nodes of a managed cluster; a `Renter`."""

    def __init__(self, launcher: ManagedLauncher, epoch: int, clock: Callable[[], float]) -> None:
        super().__init__(launcher, epoch, clock)
        self._managed = launcher

    def capabilities(self) -> frozenset[str]:
        return super().capabilities() | {"provision"}

    def stop(self, *, kill_running: bool) -> None:
        self._managed.is_stopping = True
        super().stop(kill_running=kill_running)

    def alive(self) -> frozenset[NodeId] | None:
        """The nodes of the cluster, whether or not they can be reached; None until it is known."""
        return self._managed.alive

    def provision(self, nodes: int) -> None:
        """Request `nodes` additional nodes; those that come are reported as NodeJoined."""
        self._managed.provision(nodes)

    def give_back(self, node_id: NodeId) -> None:
        """End the agent of a node; the node goes back to the manager."""
        with self._managed.lock:
            self._managed.give_back(node_id)
            self._take_in_changes()  # at once: its agent would be known to have ended first

    def restore(
        self, rented: Sequence[Node], taken: Collection[NodeId], returned: Collection[NodeId]
    ) -> None:
        self._managed.restore(rented, taken, returned)
