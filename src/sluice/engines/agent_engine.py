"""One engine for every way of reaching node agents: pipes on this machine, or a network.

The engine keeps the book of attempts: which are open, which have ended, on which node. It turns
reports of agents into events, watches the leases, and reports NodeJoined and NodeLost. A
`Launcher` knows where nodes are and how their agents start; an `AgentHandle` is one started agent.

If the agent of a node ends, or is silent for longer than its lease, its node is lost: the engine
closes the node's attempts, reports NodeLost, and starts another agent, which joins like a new node.
A node whose agent ends repeatedly stays lost. Reports of an agent that was given up are not read
any more, and reports about an attempt that is not open change nothing.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Protocol

from sluice.core.events import Event, FailureKind, NodeJoined, NodeLost, TaskFailed
from sluice.engines import translation
from sluice.engines.agent.poller import Poller
from sluice.engines.base import Attempt, Limits, News, Snapshot
from sluice.engines.lease import Lease
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import NodeId

RESTARTS_MAX = 5
TURN_S_MAX = 1.0  # silent agents are looked for this often
LOOK_S = 0.1  # and no more often
CLOSED_MAX = 100_000  # ended attempts that are remembered, so that none runs twice
STOP_PATIENCE_S = 10.0
LIST_PATIENCE_S = 10.0


class AgentHandle(Protocol):
    """A started agent, as the engine sees it. `is_up`: the engine has seen its first report."""

    is_up: bool

    @property
    def node(self) -> Node:
        """The node that it serves."""

    @property
    def lease(self) -> Lease:
        """How long it may be silent; the handle renews it at each sign of the agent."""

    @property
    def is_at_end(self) -> bool:
        """Whether no further report can come."""

    @property
    def trouble(self) -> str:
        """Why it may be silent, as far as the handle knows; "" if it does not."""

    def watch(self, board: Poller, hear: Callable[[], None]) -> None:
        """Have `hear` called whenever reports may have arrived, or no more can come."""

    def reports(self) -> list[dict[str, Any]]:
        """The reports that have arrived since the last call, in order, each once."""

    def ahead_s(self, now_s: float) -> float:
        """How far the agent's clock is ahead of one on which it is `now_s` now, in seconds."""

    def send(self, command: Mapping[str, Any]) -> None:
        """Send a command as soon as possible, and never wait for that."""

    def end(self) -> str:
        """Give the agent up; it ends with all that it started. Returns how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """A node that came or, if there is a reason `left`, went while the engine was at work."""

    node: Node
    left: str = ""


class Launcher(Protocol):
    """Where the nodes are, and how their agents start. All calls come from the engine's thread."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while the engine is at work; a thread of the launcher's own works without it."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes that get an agent when the engine starts."""

    @property
    def adopts(self) -> bool:
        """Whether agents of a former life of the driver may still be there, and are taken over."""

    @property
    def next_at_s(self) -> float:
        """When `tend` is to be called next, by `time.monotonic`; infinity for never."""

    def open(self) -> None:
        """Get ready to start agents. Raises EngineUnavailable or OSError."""

    def start(self, node: Node) -> AgentHandle:
        """Start the agent of a node, for the first time or again. Raises OSError."""

    def tend(self, now_s: float) -> None:
        """Do what is due: heartbeats, another try to connect."""

    def changes(self) -> Sequence[NodeChange]:
        """The nodes that came or went since the last call."""

    def close(self) -> None:
        """Give back what `open` and `start` took; all handles have ended."""


class AgentEngine:
    """Runs attempts through node agents; an `Engine`.

    launcher: where the nodes are.  epoch: the life of the core that it serves; attempts of another
    epoch are rejected.  clock: seconds since the start of the workload.
    """

    def __init__(self, launcher: Launcher, epoch: int, clock: Callable[[], float]) -> None:
        self._launcher = launcher
        self._epoch = epoch
        self._clock = clock
        self._looked_at_s = time.monotonic()
        self._board = Poller()
        self._nodes: dict[NodeId, Node] = {}
        self._agents: dict[NodeId, AgentHandle] = {}
        self._restarts: Counter[NodeId] = Counter()
        self._open: dict[str, Attempt] = {}
        self._ids: dict[AttemptKey, str] = {}
        self._closed: dict[str, None] = {}
        self._lists: dict[NodeId, list[str]] = {}
        self._to_adopt: dict[str, Attempt] = {}  # of a former life, by name; it may still run
        self._adopted_since_s = 0.0
        self._ready: list[Event] = []
        self._is_woken = False
        self._is_stopping = False
        self._is_stopped = False

    def capabilities(self) -> frozenset[str]:
        return frozenset({"kill", "rusage"} | ({"adopt"} if self._launcher.adopts else set()))

    def adopt(self, attempts: Iterable[Attempt], since_s: float) -> None:
        self._to_adopt = {attempt.name: attempt for attempt in attempts}
        self._adopted_since_s = since_s

    def start(self) -> None:
        """Start the agents. Raises EngineUnavailable."""
        self._launcher.open()
        try:
            with self._launcher.lock:
                for node in self._launcher.nodes:
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
            command = {
                "do": "launch",
                "id": attempt_id,
                "work": dict(attempt.work),
                "limits": _plain_limits(attempt.limits),
                "grace_s": attempt.kill_grace_s,
            }
            with self._launcher.lock:
                agent.send(command)

    def kill(self, attempt: AttemptKey, reason: str) -> None:
        attempt_id = self._ids.get(attempt)
        if attempt_id is not None:
            agent = self._agents[self._open[attempt_id].node_id]
            with self._launcher.lock:
                agent.send({"do": "kill", "id": attempt_id, "reason": reason})

    def feed(self, attempt: AttemptKey, news: Sequence[News], *, is_all: bool) -> None:
        attempt_id = self._ids.get(attempt)
        if attempt_id is not None:
            agent = self._agents[self._open[attempt_id].node_id]
            with self._launcher.lock:
                agent.send({"do": "feed", "id": attempt_id, "news": list(news), "is_all": is_all})

    def events(self, timeout_s: float) -> list[Event]:
        if not self._is_stopped:
            with self._launcher.lock:
                self._board.turn(0)
                self._keep_time()
                self._wait(lambda: self._is_woken or bool(self._ready), timeout_s)
                self._is_woken = False
        ready, self._ready = self._ready, []
        return ready

    def wake_by(self, descriptor: int, act: Callable[[], None]) -> None:
        def wake() -> None:
            self._is_woken = True
            act()

        self._board.watch_fd(descriptor, wake)

    def reconcile(self) -> Snapshot:
        with self._launcher.lock:
            return self._reconcile()

    def _reconcile(self) -> Snapshot:
        self._lists.clear()
        asked = {node_id for node_id, agent in self._agents.items() if agent.is_up}
        for node_id in asked:
            self._agents[node_id].send({"do": "list"})
        self._wait(lambda: asked & self._agents.keys() <= self._lists.keys(), LIST_PATIENCE_S)
        running = [attempt_id for ids in self._lists.values() for attempt_id in ids]
        self._to_adopt.clear()  # those that no agent has named are gone
        return Snapshot(
            nodes=tuple(self._nodes[node_id] for node_id in self._nodes if node_id in self._lists),
            attempts=tuple(self._open[one].key for one in running if one in self._open),
        )

    def stop(self, *, kill_running: bool) -> None:
        """End the agents. Running attempts are killed or awaited; `events` reports their ends."""
        with self._launcher.lock:
            self._stop(kill_running=kill_running)

    def _stop(self, *, kill_running: bool) -> None:
        self._is_stopping = True
        grace_s = max((attempt.kill_grace_s for attempt in self._open.values()), default=0.0)
        for agent in self._agents.values():
            agent.send({"do": "stop", "kill": kill_running})
        patience_s = grace_s + STOP_PATIENCE_S if kill_running else math.inf
        self._wait(self._have_all_ended, patience_s)
        for agent in list(self._agents.values()):
            self._agent_ended(agent)
        if not self._is_stopped:
            self._is_stopped = True
            self._launcher.close()
            self._board.shut()

    # --- agents -----------------------------------------------------------------------------------

    def _start_agent(self, node: Node) -> None:
        self._nodes[node.node_id] = node
        agent = self._launcher.start(node)
        self._agents[node.node_id] = agent
        agent.watch(self._board, lambda: self._hear(agent))

    def _have_all_ended(self) -> bool:
        for agent in list(self._agents.values()):
            if agent.trouble and not agent.is_up:
                self._agent_ended(agent)  # it cannot be reached, and nothing runs there
        return not self._agents

    def _hear(self, agent: AgentHandle) -> None:
        for report in agent.reports():
            self._take_in(report, agent)
        if agent.is_at_end:
            self._agent_ended(agent)

    def _take_in(self, report: dict[str, Any], agent: AgentHandle) -> None:
        match report.get("report"):
            case "up":
                agent.is_up = True
                self._ready.append(NodeJoined(self._clock(), agent.node))
            case "beat":
                pass
            case "list":
                self._lists[agent.node.node_id] = report["ids"]
                for attempt_id in report["ids"]:
                    if self._attempt(attempt_id, agent) is None:
                        why = "no task waits for it"
                        agent.send({"do": "kill", "id": attempt_id, "reason": why})
            case _:
                self._take_in_attempt(report, agent)

    def _take_in_attempt(self, report: dict[str, Any], agent: AgentHandle) -> None:
        attempt = self._attempt(report.get("id", ""), agent)
        if attempt is None:
            return
        at_s = self._clock()
        ahead_s = agent.ahead_s(at_s)
        if attempt.epoch != self._epoch and "at" in report:
            # The clock of a run that lost its pause would have it end before it began.
            report["at"] = max(report["at"], self._adopted_since_s + ahead_s)
            if report["report"] == "started":
                at_s = report["at"] - ahead_s  # and not as late as it is reported again
        self._ready.append(translation.event(report, attempt.key, at_s, ahead_s))
        if report["report"] in translation.ENDS:
            self._close(attempt)

    def _attempt(self, attempt_id: str, agent: AgentHandle) -> Attempt | None:
        """The open attempt that an agent names. One of a former life is open from now on."""
        name, _, epoch = attempt_id.rpartition("-e")
        if name in self._to_adopt and epoch.isdigit() and attempt_id not in self._open:
            attempt = replace(self._to_adopt[name], epoch=int(epoch))
            if attempt.node_id == agent.node.node_id and attempt_id not in self._closed:
                del self._to_adopt[name]
                self._open[attempt_id] = attempt
                self._ids[attempt.key] = attempt_id
        found = self._open.get(attempt_id)
        # An attempt of another node is none of this agent's business, whatever its name.
        return found if found is not None and found.node_id == agent.node.node_id else None

    def _keep_time(self) -> None:
        """Do what is due. Call it when all that has arrived was read."""
        now_s = time.monotonic()
        if now_s >= self._launcher.next_at_s:
            self._launcher.tend(now_s)
        self._take_in_changes()
        elapsed_s = now_s - self._looked_at_s
        if elapsed_s < LOOK_S:
            return
        self._looked_at_s = now_s
        for agent in list(self._agents.values()):
            if agent.is_up and agent.lease.pass_time(elapsed_s):
                trouble = f" ({agent.trouble})" if agent.trouble else ""
                self._agent_ended(agent, f"no heartbeat for {agent.lease.lease_s:g} s{trouble}")

    def _take_in_changes(self) -> None:
        for change in self._launcher.changes():
            agent = self._agents.get(change.node.node_id)
            if change.left:
                self._restarts[change.node.node_id] = RESTARTS_MAX
                if agent is not None:
                    self._agent_ended(agent, change.left)
                elif change.node.node_id not in self._nodes:  # it was up in a former life
                    lost = NodeLost(self._clock(), change.node.node_id, change.left)
                    self._ready.append(lost)
            elif agent is None and not self._is_stopping:
                del self._restarts[change.node.node_id]
                with contextlib.suppress(OSError):  # then the node has not come
                    self._start_agent(change.node)

    def _agent_ended(self, agent: AgentHandle, why: str = "") -> None:
        """Clean up after an agent; the node is lost, unless the agent stopped on request."""
        node = agent.node
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

    def _wait(self, is_done: Callable[[], bool], patience_s: float = math.inf) -> None:
        """Handle reports until `is_done`, at most for `patience_s`."""
        until_s = time.monotonic() + patience_s
        while not is_done() and (left_s := until_s - time.monotonic()) > 0:
            due_s = max(0.0, self._launcher.next_at_s - time.monotonic())
            self._board.turn(min(left_s, due_s, TURN_S_MAX))
            self._keep_time()


@cache
def _plain_limits(limits: Limits) -> dict[str, Any]:
    """Return the same for all attempts of a run."""
    return asdict(limits)
