"""Node servers that are made up: the real protocol on their side, and work that only takes time.

    python -m bench._fake_nodes NODES

Reads {"token": ..., "task_s": ...} from standard input, prints the port on which all of them
listen, each at its own address of 127.0.0.0/8, and serves until its input ends.
"""

from __future__ import annotations

import heapq
import json
import os
import socket
import sys
import time
from typing import Any

from sluice.engines.agent.channel import encoded, parsed
from sluice.engines.agent.poller import Poller
from sluice.engines.cluster.connection import Connection
from sluice.engines.cluster.handshake import NodeHandshake, Welcome, token_key
from sluice.engines.cluster.session import Kind, Session
from sluice.engines.cluster.stream import Stream
from sluice.engines.cluster.wire import BrokenConnection
from sluice.engines.lease import Lease

DRIVER_LEASE_S = 30.0
HOSTS_PER_NET = 250
USAGE = {"wall_s": 1.0, "cpu_s": 1.0, "rss_bytes_max": 1 << 24}


def host_of(number: int) -> str:
    """The address of a node.

    >>> host_of(0), host_of(250)
    ('127.1.0.1', '127.1.1.1')
    """
    return f"127.1.{number // HOSTS_PER_NET}.{number % HOSTS_PER_NET + 1}"


class FakeNode:
    """One node, with the connection of a driver that it has just accepted."""

    def __init__(self, nodes: FakeNodes, connection: Connection, node_id: str) -> None:
        self._nodes = nodes
        self._connection = connection
        self._node_id = node_id
        self._handshake: NodeHandshake | None = NodeHandshake(nodes.key)
        self._session = Session()
        self._beat_s = 0.0
        connection.send(self._handshake.hello)

    def hear(self) -> None:
        """Take what the driver has sent, and answer."""
        has_beat = False
        try:
            for frame in self._connection.arrivals():
                if self._handshake is not None:
                    self._welcome(self._handshake, frame)
                    continue
                arrival = self._session.take(frame)
                has_beat |= arrival.kind is Kind.BEAT
                if arrival.payload:
                    self._obey(parsed(arrival.payload))
        except BrokenConnection:
            self._nodes.board.close(self._connection.stream)
            return
        if has_beat or (self._handshake is None and self._session.is_ack_due):
            self._connection.send(self._session.empty(Kind.ACK))
        self._send()

    def report(self, report: dict[str, Any]) -> None:
        """Send a report."""
        self._session.put(encoded(report))
        self._send()

    def beat(self) -> None:
        """Send a heartbeat, and have the next one sent in time."""
        if self._connection.stream.read_fd is not None:
            self._connection.send(self._session.empty(Kind.BEAT))
            self._send()
            self._nodes.later(self._beat_s, self.beat)

    def _welcome(self, handshake: NodeHandshake, frame: bytes) -> None:
        handshake.check(frame)
        beat_s = Lease(DRIVER_LEASE_S).beat_s
        self._connection.send(
            handshake.welcome(Welcome(node_id=self._node_id, received=0, beat_s=beat_s))
        )
        self._connection.seal(*handshake.seals())
        self._handshake = None
        self._session.put(encoded({"report": "up", "pid": 1}))

    def _obey(self, command: dict[str, Any]) -> None:
        match command.get("do"):
            case "launch":
                about = {"id": command["id"], "at": time.monotonic()}
                self.report({"report": "started", "pid": 1, **about})
                self._nodes.later(self._nodes.task_s, lambda: self._finish(command["id"]))
            case "beat":
                self._beat_s = command["every_s"]
                self._nodes.later(self._beat_s, self.beat)
            case "stop":
                self.report({"report": "gone", "why": "it was asked to stop"})

    def _finish(self, attempt_id: str) -> None:
        about = {"id": attempt_id, "at": time.monotonic(), "usage": USAGE}
        self.report({"report": "finished", "outputs": [], "shuffled_at": None, **about})

    def _send(self) -> None:
        if self._handshake is None:
            for body in self._session.unsent():
                self._connection.send(body)
        self._connection.flush()


class FakeNodes:
    """All of them, in one process with one thread."""

    def __init__(self, nodes: int, token: str, task_s: float) -> None:
        self.key, self.task_s = token_key(token), task_s
        self.board = Poller()
        self._names = {host_of(number): f"node-{number}" for number in range(nodes)}
        self._due: list[tuple[float, int, Any]] = []
        self._numbered = 0
        # All of 127.0.0.0/8 is this machine; who connects must know the token.
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=nodes)  # noqa: S104  # see above
        self._listener.setblocking(False)  # noqa: FBT003  # the argument has no name
        self.port = self._listener.getsockname()[1]
        self._is_over = False

    def serve(self) -> None:
        """Until standard input ends."""
        self.board.watch_fd(self._listener.fileno(), self._accept)
        self.board.watch_fd(0, self._starter_spoke)
        while not self._is_over:
            now_s = time.monotonic()
            while self._due and self._due[0][0] <= now_s:
                heapq.heappop(self._due)[2]()
            self.board.turn(max(0.0, self._due[0][0] - now_s) if self._due else None)

    def later(self, delay_s: float, act: Any) -> None:  # noqa: ANN401  # any callable
        """Call `act` after a while."""
        self._numbered += 1
        heapq.heappush(self._due, (time.monotonic() + delay_s, self._numbered, act))

    def _accept(self) -> None:
        try:
            while True:
                self._meet(self._listener.accept()[0])
        except BlockingIOError:
            return

    def _meet(self, accepted: socket.socket) -> None:
        name = self._names[accepted.getsockname()[0]]
        connection = Connection(Stream(accepted))
        node = FakeNode(self, connection, name)
        self.board.watch(connection.stream, node.hear)

    def _starter_spoke(self) -> None:
        if not os.read(0, 4096):
            self._is_over = True


def main() -> None:
    """Serve as the arguments and the first line of input say."""
    given = json.loads(sys.stdin.buffer.readline())
    nodes = FakeNodes(int(sys.argv[1]), given["token"], given["task_s"])
    sys.stdout.write(f"{nodes.port}\n")
    sys.stdout.flush()
    nodes.serve()


if __name__ == "__main__":
    main()
