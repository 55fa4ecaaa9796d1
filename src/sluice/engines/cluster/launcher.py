"""The launcher that reaches node servers over the network.

A node server ends what runs when its driver is silent for a lease. The driver's one thread may be
busy for longer, with a placement or a large commit, so a second thread sends the heartbeats that
are due then. It works only while the engine's own thread is elsewhere, which `lock` shows.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sluice.engines.agent_engine import NodeChange
from sluice.engines.cluster.handshake import SessionName
from sluice.engines.cluster.remote_agent import Access, Address, RemoteAgent
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

TEND_S_PER_AGENT = 50e-6  # a look at all agents costs; those that are due soon after share it
ALIVE_EVERY_S = 0.25  # a driver that is busy elsewhere looks for heartbeats that are due


class NetworkLauncher:
    """Connects to node servers that others have started; a `Launcher`.

    addresses: of the node servers, by node.  epoch: the life of the driver; it must be above those
    of all drivers before.  adopts: whether to take over the agents of the driver before.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        addresses: Mapping[NodeId, Address],
        access: Access,
        epoch: int,
        *,
        adopts: bool = False,
    ) -> None:
        self.adopts = adopts
        self.nodes = tuple(nodes)
        self.next_at_s = math.inf
        self._addresses = dict(addresses)
        self._access = access
        self._epoch = epoch
        self._generations: Counter[NodeId] = Counter()
        self._agents: dict[NodeId, RemoteAgent] = {}
        self._changes: list[NodeChange] = []
        self.lock = threading.RLock()
        self._is_closed = threading.Event()
        self._alive = threading.Thread(target=self._stay_alive, name="heartbeats", daemon=True)

    def hear_own_hosts(self, hear: Callable[[str], object]) -> None:
        """Have `hear` called with the address of this machine at which a node reaches it."""
        self._access = replace(self._access, on_open=hear)

    def open(self) -> None:
        """Agents connect when they are watched."""
        self._alive.start()

    def start(self, node: Node) -> RemoteAgent:
        address = self._addresses.get(node.node_id)
        if address is None:
            raise OSError(f"node {node.node_id!r} has no address")
        self._generations[node.node_id] += 1
        session = SessionName(
            epoch=self._epoch,
            generation=self._generations[node.node_id],
            label=secrets.token_hex(8),
        )
        adopts = self.adopts and session.generation == 1
        agent = RemoteAgent(node, address, self._access, session, self._wake, adopts=adopts)
        self._agents[node.node_id] = agent
        return agent

    def tend(self, now_s: float) -> None:
        self.next_at_s = math.inf
        for agent in list(self._agents.values()):
            if not agent.is_at_end:
                self._wake(agent.tend(now_s))
        self.next_at_s = max(self.next_at_s, now_s + TEND_S_PER_AGENT * len(self._agents))

    def join(self, node: Node, address: Address) -> None:
        """A node that came while the engine was at work."""
        self._addresses[node.node_id] = address
        self._changes.append(NodeChange(node=node))

    def leave(self, node: Node, why: str) -> None:
        """A node that is known to be gone; `why` is not empty."""
        self._changes.append(NodeChange(node=node, left=why))

    def changes(self) -> Sequence[NodeChange]:
        changes, self._changes = self._changes, []
        return changes

    def close(self) -> None:
        self._is_closed.set()
        if self._alive.ident is not None:
            self._alive.join()
        self._agents.clear()

    def _stay_alive(self) -> None:
        while not self._is_closed.wait(ALIVE_EVERY_S):
            if self.lock.acquire(blocking=False):
                try:
                    for agent in self._agents.values():
                        agent.stay_alive(time.monotonic())
                finally:
                    self.lock.release()

    def _wake(self, at_s: float) -> None:
        self.next_at_s = min(self.next_at_s, at_s)
