"""Real processes on this machine: one node agent for each (virtual) node.

The engine talks with its agents through pipes and never blocks on one of them. If the pipe of an
agent ends, its node is lost, and the processes that it left are ended before another agent starts.
If this process dies, even by SIGKILL, its agents see their pipes end, end their processes, and
exit. If engine and agents are killed at once, the next engine on the same scratch folder ends the
processes that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from pathlib import Path

from sluice.engines.agent_engine import AgentEngine, AgentHandle, NodeChange
from sluice.engines.local.agents import LocalAgent, node_folder, sweep
from sluice.engines.local.customer_agents import CustomerAgents
from sluice.engines.local.customer_folders import CustomerFolders
from sluice.engines.local.node_limits import NodeLimits
from sluice.engines.local.rented_nodes import RentedNodes
from sluice.engines.local.scratch_lock import ScratchLock
from sluice.model.cluster import Node
from sluice.model.ids import NodeId


class LocalEngine(AgentEngine):
    """Runs attempts as processes on this machine; an `Engine`.

    nodes: each gets an agent.  scratch: a private folder for this engine alone, with a folder for
    each node, which holds logs and the data between tasks.  epoch: the life of the core that it
    serves; attempts of another epoch are rejected.  clock: seconds since the start of the workload.
    lease_s: seconds without a heartbeat after which a node is lost; None for no limit.
    node_limits: holds the processes of each node to its cpu and memory; None for no limit.
    customers: the folders of customers who are kept apart; None where all tasks run as this user.
    start_s: seconds until a rented node boots.
    """

    def __init__(
        self,
        nodes: tuple[Node, ...],
        scratch: Path,
        epoch: int,
        clock: Callable[[], float],
        *,
        lease_s: float | None = None,
        node_limits: NodeLimits | None = None,
        customers: CustomerFolders | None = None,
        start_s: float = 0.0,
    ) -> None:
        self._rented = RentedNodes(nodes[0], [node.node_id for node in nodes], start_s)
        launcher = LocalLauncher(nodes, scratch, lease_s, node_limits, self._rented, customers)
        super().__init__(launcher, epoch, clock)

    def provision(self, nodes: int) -> None:
        self._rented.rent(nodes)

    def give_back(self, node_id: NodeId) -> None:
        self._rented.give_back(node_id)

    def restore(
        self, rented: Sequence[Node], taken: Collection[NodeId], returned: Collection[NodeId]
    ) -> None:
        self._rented.restore(rented, taken)


class LocalLauncher:
    """Starts agents as children of this process; a `Launcher`. Only rented nodes come and go."""

    adopts = False  # its agents end with their engine

    def __init__(
        self,
        nodes: tuple[Node, ...],
        scratch: Path,
        lease_s: float | None,
        node_limits: NodeLimits | None,
        rented: RentedNodes,
        customers: CustomerFolders | None = None,
    ) -> None:
        self._own = nodes
        self._rented = rented
        self.lock = nullcontext()  # it has no other thread
        self._scratch = scratch.resolve()
        self._lease_s = lease_s
        self._node_limits = node_limits
        self._customers = customers
        self._of_customers: dict[NodeId, CustomerAgents] = {}
        self._lock = ScratchLock(self._scratch)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Those of the run, and those that are rented."""
        return (*self._own, *self._rented.nodes.values())

    @property
    def next_at_s(self) -> float:
        """When a rented node boots."""
        return self._rented.next_at_s

    def open(self) -> None:
        """Raises EngineUnavailable if another engine uses the scratch folder."""
        self._lock.take()
        for node in self.nodes:
            sweep(node_folder(node, self._scratch))
        if self._customers is not None:
            self._customers.open()
            self._customers.on_left = self._leave

    def start(self, node: Node) -> AgentHandle:
        agent = self._confined(LocalAgent(node, self._scratch, self._lease_s))
        if self._customers is None:
            return agent
        both = CustomerAgents(agent, self._start_of_customer, self._customers)
        self._of_customers[node.node_id] = both
        return both

    def _start_of_customer(self, node: Node, customer: str) -> LocalAgent:
        assert self._customers is not None
        users = self._customers.users.users
        folder = self._customers.folder(node.node_id, customer)
        sweep(folder)  # what a former life of the engine has left
        return self._confined(LocalAgent(node, folder, self._lease_s, user=users[customer]))

    def _leave(self, node_id: NodeId, customer: str) -> None:
        self._of_customers[node_id].leave(customer)

    def _confined(self, agent: LocalAgent) -> LocalAgent:
        if self._node_limits is not None:
            try:
                self._node_limits.confine(agent.node, agent.pid)
            except OSError:
                agent.end()
                raise
        return agent

    def tend(self, now_s: float) -> None:
        self._rented.tend(now_s)

    def changes(self) -> Sequence[NodeChange]:
        return self._rented.changes()

    def close(self) -> None:
        self._lock.release()
