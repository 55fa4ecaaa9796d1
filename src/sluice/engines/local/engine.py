"""Real processes on this machine: one node agent for each (virtual) node.

The engine talks with its agents through pipes and never blocks on one of them. If the pipe of an
agent ends, its node is lost: the engine ends the processes that it left, reports NodeLost, and
starts another agent, which joins like a new node. A node whose agent ends repeatedly stays lost.
If this process dies, even by SIGKILL, its agents see their pipes end, end their processes, and
exit. If engine and agents are killed at once, the next engine on the same scratch folder ends the
processes that are left.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sluice.core.events import (
    AttemptKey,
    Event,
    FailureKind,
    NodeJoined,
    NodeLost,
    TaskFailed,
)
from sluice.engines.agent.channel import parsed
from sluice.engines.agent.poller import Poller
from sluice.engines.base import Attempt, Snapshot
from sluice.engines.local import translation
from sluice.engines.local.agents import LocalAgent, node_folder, sweep
from sluice.engines.local.node_limits import NodeLimits
from sluice.model.cluster import Node
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import NodeId
from sluice.store.private import make_private_folder, open_private_file

RESTARTS_MAX = 5
TURN_S_MAX = 1.0  # silent agents are looked for this often
CLOSED_MAX = 100_000  # ended attempts that are remembered, so that none runs twice
STOP_PATIENCE_S = 10.0
LIST_PATIENCE_S = 10.0


class LocalEngine:
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
        self._nodes = {node.node_id: node for node in nodes}
        self._scratch = scratch.resolve()
        self._epoch = epoch
        self._clock = clock
        self._lease_s = lease_s
        self._node_limits = node_limits
        self._looked_at_s = time.monotonic()
        self._board = Poller()
        self._agents: dict[NodeId, LocalAgent] = {}
        self._restarts: Counter[NodeId] = Counter()
        self._open: dict[str, Attempt] = {}
        self._ids: dict[AttemptKey, str] = {}
        self._closed: dict[str, None] = {}
        self._lists: dict[NodeId, list[str]] = {}
        self._ready: list[Event] = []
        self._lock_fd: int | None = None
        self._is_stopping = False
        self._is_stopped = False

    def capabilities(self) -> frozenset[str]:
        return frozenset({"kill", "rusage"})

    def start(self) -> None:
        """Start the agents. Raises EngineUnavailable if another engine uses the scratch folder."""
        self._lock_scratch()
        try:
            for node in self._nodes.values():
                sweep(node_folder(node, self._scratch))
                self._start_agent(node)
        except OSError as error:
            self.stop(kill_running=True)
            raise EngineUnavailable(f"no agent could be started: {error}") from error

    def launch(self, attempt: Attempt) -> None:
        attempt_id = attempt.attempt_id
        if attempt_id in self._open or attempt_id in self._closed:
            return
        agent = self._agents.get(attempt.node_id)
        if agent is None or not agent.is_up or self._is_stopping:
            self._reject(attempt, FailureKind.NODE_FAULT, f"node {attempt.node_id!r} is not up")
        elif attempt.epoch != self._epoch:
            why = f"the attempt is of epoch {attempt.epoch}; this is {self._epoch}"
            self._reject(attempt, FailureKind.REJECTED, why)
        else:
            self._open[attempt_id] = attempt
            self._ids[attempt.key] = attempt_id
            agent.send(
                {
                    "do": "launch",
                    "id": attempt_id,
                    "work": dict(attempt.work),
                    "limits": asdict(attempt.limits),
                    "grace_s": attempt.kill_grace_s,
                }
            )

    def kill(self, attempt: AttemptKey, reason: str) -> None:
        attempt_id = self._ids.get(attempt)
        if attempt_id is not None:
            agent = self._agents[self._open[attempt_id].node_id]
            agent.send({"do": "kill", "id": attempt_id, "reason": reason})

    def events(self, timeout_s: float) -> list[Event]:
        if not self._is_stopped:
            self._board.turn(0)
            self._check_leases()
            self._wait(lambda: bool(self._ready), timeout_s)
        ready, self._ready = self._ready, []
        return ready

    def reconcile(self) -> Snapshot:
        self._lists.clear()
        asked = {node_id for node_id, agent in self._agents.items() if agent.is_up}
        for node_id in asked:
            self._agents[node_id].send({"do": "list"})
        self._wait(lambda: asked & self._agents.keys() <= self._lists.keys(), LIST_PATIENCE_S)
        running = [attempt_id for ids in self._lists.values() for attempt_id in ids]
        return Snapshot(
            nodes=tuple(self._nodes[node_id] for node_id in self._nodes if node_id in self._lists),
            attempts=tuple(self._open[one].key for one in running if one in self._open),
        )

    def stop(self, *, kill_running: bool) -> None:
        """End the agents. Running attempts are killed or awaited; `events` reports their ends."""
        self._is_stopping = True
        grace_s = max((attempt.kill_grace_s for attempt in self._open.values()), default=0.0)
        for agent in self._agents.values():
            agent.send({"do": "stop", "kill": kill_running})
        patience_s = grace_s + STOP_PATIENCE_S if kill_running else math.inf
        self._wait(lambda: not self._agents, patience_s)
        for agent in list(self._agents.values()):
            self._agent_ended(agent)
        if not self._is_stopped:
            self._is_stopped = True
            self._board.shut()
            self._unlock_scratch()

    # --- agents -----------------------------------------------------------------------------------

    def _start_agent(self, node: Node) -> None:
        agent = LocalAgent(node, self._scratch, self._lease_s)
        self._agents[node.node_id] = agent
        if self._node_limits is not None:
            self._node_limits.confine(node.node_id, agent.pid)
        self._board.watch(agent.channel, lambda: self._hear(agent))

    def _hear(self, agent: LocalAgent) -> None:
        for line in agent.channel.lines():
            agent.lease.renew()
            self._take_in(parsed(line), agent)
        if agent.channel.is_at_end:
            self._agent_ended(agent)

    def _take_in(self, report: dict[str, Any], agent: LocalAgent) -> None:
        match report["report"]:
            case "up":
                agent.is_up = True
                self._ready.append(NodeJoined(self._clock(), agent.node))
            case "beat":
                pass
            case "list":
                self._lists[agent.node.node_id] = report["ids"]
            case _:
                self._take_in_attempt(report)

    def _take_in_attempt(self, report: dict[str, Any]) -> None:
        attempt = self._open.get(report["id"])
        if attempt is None:
            return
        at_s = self._clock()
        ahead_s = time.monotonic() - at_s
        self._ready.append(translation.event(report, attempt.key, at_s, ahead_s))
        if report["report"] in translation.ENDS:
            self._close(attempt)

    def _check_leases(self) -> None:
        """End the agents that have been silent for too long. Call it when all pipes were read."""
        now_s = time.monotonic()
        elapsed_s, self._looked_at_s = now_s - self._looked_at_s, now_s
        for agent in list(self._agents.values()):
            if agent.is_up and agent.lease.pass_time(elapsed_s):
                self._agent_ended(agent, f"no heartbeat for {self._lease_s:g} s")

    def _agent_ended(self, agent: LocalAgent, why: str = "") -> None:
        """Clean up after an agent; the node is lost, unless the agent stopped on request."""
        node = agent.node
        self._board.close(agent.channel)
        ended = agent.end()
        reason = why or ended
        del self._agents[node.node_id]
        lost = [attempt for attempt in self._open.values() if attempt.node_id == node.node_id]
        for attempt in lost:
            self._close(attempt)
        if lost or not self._is_stopping:
            self._ready.append(NodeLost(self._clock(), node.node_id, reason))
        # An agent that never came up would not come up the next time either.
        if agent.is_up and not self._is_stopping and self._restarts[node.node_id] < RESTARTS_MAX:
            self._restarts[node.node_id] += 1
            with contextlib.suppress(OSError):  # then the node stays lost
                self._start_agent(node)

    # --- attempts ---------------------------------------------------------------------------------

    def _reject(self, attempt: Attempt, kind: FailureKind, why: str) -> None:
        now_s = self._clock()
        self._ready.append(TaskFailed(now_s, attempt.key, now_s, kind, detail=why))
        self._close(attempt)

    def _close(self, attempt: Attempt) -> None:
        attempt_id = attempt.attempt_id
        self._open.pop(attempt_id, None)
        self._ids.pop(attempt.key, None)
        self._closed[attempt_id] = None
        if len(self._closed) > CLOSED_MAX:
            del self._closed[next(iter(self._closed))]

    # --- waiting and the scratch folder -----------------------------------------------------------

    def _wait(self, is_done: Callable[[], bool], patience_s: float = math.inf) -> None:
        """Handle reports until `is_done`, at most for `patience_s`."""
        until_s = time.monotonic() + patience_s
        while not is_done() and (left_s := until_s - time.monotonic()) > 0:
            self._board.turn(min(left_s, TURN_S_MAX))
            self._check_leases()

    def _lock_scratch(self) -> None:
        make_private_folder(self._scratch)
        self._lock_fd = open_private_file(self._scratch / "lock", os.O_RDWR)
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._unlock_scratch()
            raise EngineUnavailable(f"another engine works in {self._scratch}") from error

    def _unlock_scratch(self) -> None:
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None
