"""The agents of one node whose customers are kept apart, as one agent.

The node's own agent runs as the driver's user and does no task: it shows that the node lives. Each
customer who has work on the node has another one, which runs as the customer's user, as do all
processes that it starts. It is ended, with all that it left, when the customer leaves the node.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from sluice.engines import translation
from sluice.engines.agent import reports
from sluice.engines.agent.attempts import Ending
from sluice.engines.agent.poller import Poller
from sluice.engines.lease import Lease
from sluice.engines.local.agents import LocalAgent
from sluice.engines.local.customer_folders import CustomerFolders
from sluice.model.cluster import Node

StartAgent = Callable[[Node, str], LocalAgent]


class CustomerAgents:
    """An `AgentHandle`. own: the node's own agent.  start: starts that of a customer."""

    def __init__(self, own: LocalAgent, start: StartAgent, folders: CustomerFolders) -> None:
        self.node = own.node
        self.is_up = False
        self._own = own
        self._start = start
        self._folders = folders
        self._agents: dict[str, LocalAgent] = {}
        self._customer_of: dict[str, str] = {}  # of each attempt that runs
        self._ready: list[dict[str, Any]] = []
        self._is_stopping = False
        self._board: Poller | None = None
        self._hear: Callable[[], None] = lambda: None
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def lease(self) -> Lease:
        """How long its agents may be silent."""
        return _JointLease([self._own, *self._agents.values()])

    @property
    def is_at_end(self) -> bool:
        """Whether the node's own agent is gone, or all are that were to stop."""
        agents = self._agents.values() if self._is_stopping else ()
        return self._own.is_at_end and all(agent.is_at_end for agent in agents)

    @property
    def trouble(self) -> str:
        """Nothing: a pipe has no trouble of its own."""
        return ""

    def watch(self, board: Poller, hear: Callable[[], None]) -> None:
        """Have `hear` called whenever reports may have arrived, or the agent is gone."""
        self._board, self._hear = board, hear
        board.watch_fd(self._bell, self._rung)
        self._own.watch(board, hear)

    def reports(self) -> list[dict[str, Any]]:
        """The reports of all its agents, each once."""
        found, self._ready = self._ready, []
        for report in self._own.reports():
            if report.get("report") == "list":
                report["ids"] = list(self._customer_of)
            found.append(report)
        for customer, agent in list(self._agents.items()):
            found += (one for one in agent.reports() if one.get("report") not in {"up", "beat"})
            if agent.is_at_end and not self._is_stopping:
                found += self._given_up(customer, "node_fault", agent.end())
        for report in found:
            if report.get("report") in translation.ENDS:
                self._customer_of.pop(report["id"], None)
        return found

    def ahead_s(self, now_s: float) -> float:
        """The agents have the clock of this machine."""
        return self._own.ahead_s(now_s)

    def send(self, command: Mapping[str, Any]) -> None:
        """Send a command to the agents that it is for."""
        match command["do"]:
            case "launch":
                self._launch(command)
            case "kill" | "feed":
                customer = self._customer_of.get(command["id"])
                if customer is not None:
                    self._agents[customer].send(command)
            case _:
                self._is_stopping = self._is_stopping or command["do"] == "stop"
                self._own.send(command)
                if command["do"] == "stop":
                    for agent in self._agents.values():
                        agent.send(command)

    def leave(self, customer: str) -> None:
        """End the agent of a customer and all that it started."""
        agent = self._agents.get(customer)
        if agent is not None:
            agent.end()
            self._report(self._given_up(customer, "killed", "its job is over"))

    def end(self) -> str:
        """End all agents and every process that they started; returns how the own one ended."""
        for agent in self._agents.values():
            agent.end()
        self._agents.clear()
        if self._board is not None:
            self._board.unwatch_fd(self._bell)
        if self._bell >= 0:
            os.close(self._bell)
            self._bell = -1
        return self._own.end()

    def _launch(self, command: Mapping[str, Any]) -> None:
        work, attempt_id = command["work"], command["id"]
        customer = work["customer"]
        self._folders.began(self.node.node_id, customer, work["job_id"])
        try:
            agent = self._agent(customer)
        except OSError as error:
            why = Ending("node_fault", f"no agent could be started for {customer!r}: {error}")
            self._report([reports.not_started(attempt_id, why, time.monotonic())])
            return
        self._customer_of[attempt_id] = customer
        agent.send(command)

    def _agent(self, customer: str) -> LocalAgent:
        if customer not in self._agents:
            agent = self._agents[customer] = self._start(self.node, customer)
            assert self._board is not None
            agent.watch(self._board, self._hear)
        return self._agents[customer]

    def _given_up(self, customer: str, kind: str, why: str) -> list[dict[str, Any]]:
        """The reports on attempts whose agent is gone."""
        del self._agents[customer]
        lost = [one for one, owner in self._customer_of.items() if owner == customer]
        for attempt_id in lost:
            del self._customer_of[attempt_id]
        ending = Ending(kind, why)
        return [reports.not_started(one, ending, time.monotonic()) for one in lost]

    def _report(self, found: list[dict[str, Any]]) -> None:
        self._ready += found
        if self._bell >= 0:
            os.eventfd_write(self._bell, 1)

    def _rung(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        self._hear()


class _JointLease(Lease):
    """Over when that of one of the agents is."""

    def __init__(self, agents: list[LocalAgent]) -> None:
        super().__init__(agents[0].lease.lease_s)
        self._leases = [agent.lease for agent in agents]

    def pass_time(self, elapsed_s: float) -> bool:
        over = [lease.pass_time(elapsed_s) for lease in self._leases]  # each of them counts
        return any(over)
