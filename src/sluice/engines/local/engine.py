"""Real processes on this machine: one node agent for each (virtual) node.

The engine talks with its agents through pipes and never blocks on one of them. If the pipe of an
agent ends, its node is lost, and the processes that it left are ended before another agent starts.
If this process dies, even by SIGKILL, its agents see their pipes end, end their processes, and
exit. If engine and agents are killed at once, the next engine on the same scratch folder ends the
processes that are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from sluice.engines.agent_engine import AgentEngine, NodeChange
from sluice.engines.local.agents import LocalAgent, node_folder, sweep
from sluice.engines.local.node_limits import NodeLimits
from sluice.engines.local.scratch_lock import ScratchLock
from sluice.model.cluster import Node


class LocalEngine(AgentEngine):
    """Runs attempts as processes on this machine; an `Engine`.

    nodes: each gets an agent.  scratch: a private folder for this engine alone, with a folder for
    each node, which holds logs and the data between tasks.  epoch: the life of the core that it
    serves; attempts of another epoch are rejected.  clock: seconds since the start of the workload.
    lease_s: seconds without a heartbeat after which a node is lost; None for no limit.
    node_limits: holds the processes of each node to its cpu and memory; None for no limit.
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
    ) -> None:
        super().__init__(LocalLauncher(nodes, scratch, lease_s, node_limits), epoch, clock)


class LocalLauncher:
    """Starts agents as children of this process; a `Launcher`. The nodes never change."""

    adopts = False  # its agents end with their engine
    next_at_s = math.inf

    def __init__(
        self,
        nodes: tuple[Node, ...],
        scratch: Path,
        lease_s: float | None,
        node_limits: NodeLimits | None,
    ) -> None:
        self.nodes = nodes
        self.lock = nullcontext()  # it has no other thread
        self._scratch = scratch.resolve()
        self._lease_s = lease_s
        self._node_limits = node_limits
        self._lock = ScratchLock(self._scratch)

    def open(self) -> None:
        """Raises EngineUnavailable if another engine uses the scratch folder."""
        self._lock.take()
        for node in self.nodes:
            sweep(node_folder(node, self._scratch))

    def start(self, node: Node) -> LocalAgent:
        agent = LocalAgent(node, self._scratch, self._lease_s)
        if self._node_limits is not None:
            try:
                self._node_limits.confine(node.node_id, agent.pid)
            except OSError:
                agent.end()
                raise
        return agent

    def tend(self, now_s: float) -> None:
        """Nothing is ever due."""

    def changes(self) -> tuple[NodeChange, ...]:
        return ()

    def close(self) -> None:
        self._lock.release()
