"""Which node is to have a container, and which has one: the books of the ApplicationMaster.

They use no network: requests and returns are collected in `asks` and `release` for the next
heartbeat, and what the driver should know is handed to `report`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sluice.engines.yarn.credentials import Token
from sluice.engines.yarn.hadoop_rpc import RpcFault
from sluice.engines.yarn.protobuf import BadMessage, Value
from sluice.engines.yarn.protocols import (
    GONE,
    Allocation,
    Ask,
    Container,
    Ended,
    NodeReport,
    NodeState,
    Size,
)

TRIES_MAX = 5  # of node servers that ended, on each node
TRY_AGAIN_S = 0.5
LEAVE_S = 5.0  # for a container that is given back to end by itself, with its agent
START_S = 30.0  # for a node server to say where it listens


class Report(Protocol):
    """Hands a report to the driver."""

    def __call__(self, name: str, /, **details: object) -> None:
        """Hand over a report with its details."""


Start = Callable[[Container, Token, Mapping[str, Any]], None]


@dataclass(slots=True)
class Wanted:
    """A node that the driver wants. ask: the open request; None if there is none."""

    settings: Mapping[str, Any]
    rack: str
    size: Size
    ask: Ask | None = None
    try_at_s: float = 0.0


@dataclass(slots=True)
class Served:
    """A node with a container. address: of its node server, once it is known.

    leave_by_s: when it is taken from a node that is given back; infinity for any other.
    """

    name: str
    raw_id: bytes
    since_s: float
    address: tuple[str, int] | None = None
    leave_by_s: float = math.inf


class Containers:
    """report: hands something to the driver.  start: starts a node server in a container."""

    def __init__(self, report: Report, start: Start) -> None:
        self._report, self._start = report, start
        self._wanted: dict[str, Wanted] = {}
        self._served: dict[str, Served] = {}
        self._unclaimed: dict[str, Container] = {}  # of an ApplicationMaster before, by name
        self._tries: Counter[str] = Counter()
        self._node_tokens: dict[str, Token] = {}
        self._priority = 0
        self.largest = Size(memory_mb=0, vcores=0)
        self.asks: list[tuple[int, Value]] = []
        self.release: list[bytes] = []

    @property
    def has_open_asks(self) -> bool:
        """Whether a request waits for an answer."""
        return any(one.ask for one in self._wanted.values())

    # --- the driver's wishes ----------------------------------------------------------------------

    def want(self, said: Mapping[str, Any]) -> None:
        """Keep a node server on a node from now on."""
        size = Size(memory_mb=int(said["memory_mb"]), vcores=int(said["vcores"]))
        self._wanted[said["id"]] = Wanted(said["settings"], said["rack"], size)

    def claim(self, said: Mapping[str, Any]) -> None:
        """Take over a container that the driver knows, if YARN knows it too."""
        found = self._unclaimed.pop(said["container"], None)
        if found is not None:
            host, port = said["address"]
            self._served[found.node_id] = Served(
                found.name, found.raw_id, time.monotonic(), (str(host), int(port))
            )
        elif all(said["container"] != served.name for served in self._served.values()):
            self._report("unserved", id=said["id"], why="YARN has ended its container")

    def replace(self, said: Mapping[str, Any]) -> None:
        """Start another node server in place of the one at an address."""
        served = self._served.get(said["id"])
        if served is not None and served.address == tuple(said["address"]):
            self._drop(said["id"], "its agent has failed")

    def give_back(self, said: Mapping[str, Any]) -> None:
        """Keep no node server on a node; may be repeated."""
        node_id = said["id"]
        wanted = self._wanted.pop(node_id, None)
        if wanted is not None and wanted.ask is not None:
            self.asks += wanted.ask.requests(0)
        del self._tries[node_id]
        served = self._served.get(node_id)
        if served is not None:
            served.leave_by_s = min(served.leave_by_s, time.monotonic() + LEAVE_S)

    def report_serving(self) -> None:
        """Say where all node servers listen, to a driver that is new."""
        for node_id, served in self._served.items():
            if served.address is not None and served.leave_by_s == math.inf:
                self._report_one(node_id, served)

    # --- the containers ---------------------------------------------------------------------------

    def announced(self, said: Mapping[str, Any]) -> None:
        """A container says where its node server listens."""
        for node_id, served in self._served.items():
            if served.name == said.get("serving"):
                host, port = said["address"]
                served.address = (str(host), int(port))
                self._report_one(node_id, served)

    def keep_time(self, now_s: float) -> None:
        """Give up what takes too long, and ask for what is wanted and not there."""
        for node_id, served in list(self._served.items()):
            if now_s > served.leave_by_s:
                del self._served[node_id]
                self.release.append(served.raw_id)
            elif served.address is None and now_s > served.since_s + START_S:
                self._drop(node_id, f"its node server did not start in {START_S:g} s")
        for node_id, wanted in self._wanted.items():
            if wanted.ask is None and node_id not in self._served and now_s >= wanted.try_at_s:
                self._ask(node_id, wanted)

    def return_unclaimed(self) -> None:
        """Give back the containers that the driver does not know."""
        self.release += [one.raw_id for one in self._unclaimed.values()]
        self._unclaimed.clear()

    def take(self, found: Allocation) -> None:
        """Take what a heartbeat brought."""
        self._node_tokens.update(found.node_tokens)
        known = {served.name for served in self._served.values()}
        self._unclaimed |= {one.name: one for one in found.earlier if one.name not in known}
        for node in found.nodes:
            self._changed(node)
        for ended in found.ended:
            self._ended(ended)
        for container in found.granted:
            self._granted(container)

    def _report_one(self, node_id: str, served: Served) -> None:
        self._report("serving", id=node_id, container=served.name, address=served.address)

    def _ask(self, node_id: str, wanted: Wanted) -> None:
        self._priority += 1  # each request its own, or YARN would add them up
        size = wanted.size.within(self.largest)
        wanted.ask = Ask(node_id=node_id, rack=wanted.rack, size=size, priority=self._priority)
        self.asks += wanted.ask.requests()

    def _granted(self, container: Container) -> None:
        wanted = self._wanted.get(container.node_id)
        if wanted is None or wanted.ask is None or container.node_id in self._served:
            self.release.append(container.raw_id)
            return
        wanted.ask = None
        self._served[container.node_id] = Served(container.name, container.raw_id, time.monotonic())
        try:
            self._start(container, self._node_tokens[container.node_id], wanted.settings)
        except (OSError, KeyError, RpcFault, BadMessage) as error:
            self._drop(container.node_id, f"its container could not be started: {error!r}")

    def _drop(self, node_id: str, why: str) -> None:
        """Give the container of a node back; another one may follow."""
        served = self._served.pop(node_id, None)
        if served is not None:
            self.release.append(served.raw_id)
            self._try_again(node_id, why)

    def _try_again(self, node_id: str, why: str) -> None:
        self._report("unserved", id=node_id, why=why)
        wanted = self._wanted.get(node_id)
        if wanted is not None:
            self._tries[node_id] += 1
            wanted.try_at_s = time.monotonic() + TRY_AGAIN_S
            if self._tries[node_id] >= TRIES_MAX:
                del self._wanted[node_id]

    def _ended(self, ended: Ended) -> None:
        self._unclaimed.pop(ended.name, None)
        for node_id, served in list(self._served.items()):
            if served.name == ended.name:
                del self._served[node_id]
                if served.leave_by_s == math.inf:
                    self._try_again(node_id, ended.why)

    def _changed(self, node: NodeReport) -> None:
        if node.state in GONE:
            self._served.pop(node.node_id, None)
            wanted = self._wanted.pop(node.node_id, None)
            if wanted is not None and wanted.ask is not None:
                self.asks += wanted.ask.requests(0)
            state = NodeState(node.state).name.lower()
            self._report("left", id=node.node_id, why=f"YARN counts the node as {state}")
        elif node.state == NodeState.RUNNING:
            self._report(
                "node",
                id=node.node_id,
                host=node.node_id.rpartition(":")[0],
                rack=node.rack,
                memory_mb=node.size.memory_mb,
                vcores=node.size.vcores,
                free_memory_mb=node.size.memory_mb - node.used.memory_mb,
                free_vcores=node.size.vcores - node.used.vcores,
            )
