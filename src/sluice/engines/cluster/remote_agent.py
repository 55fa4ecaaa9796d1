"""The agent of a node on another machine, as the engine sees it: an `AgentHandle`.

It is one session with one node server. It connects, and connects again whenever the connection
breaks, at once at first and then less and less often. Nothing here waits: the engine's poller calls
when something has arrived, and the launcher when something is due.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluice.engines.agent.channel import encoded, parsed
from sluice.engines.agent.poller import Poller
from sluice.engines.cluster.connection import Connection
from sluice.engines.cluster.handshake import (
    HANDSHAKE_S,
    DriverHandshake,
    Introduction,
    Refused,
    SessionName,
    Welcome,
)
from sluice.engines.cluster.session import Kind, NodeClock, Session
from sluice.engines.cluster.stream import Stream
from sluice.engines.cluster.wire import BrokenConnection
from sluice.engines.lease import Lease
from sluice.model.cluster import Node

RETRY_S_MIN = 0.02
RETRY_S_MAX = 1.0
SILENT_BEATS = 5  # the node server answers each heartbeat; without that the connection is broken
CONNECT_S = 10.0  # a node server that cannot be reached for so long at first is given up
REJOIN_S = 300.0  # and one that was lost may take so long to be back
DISCONNECTED_S_MAX = 60.0  # of an agent without a lease

Address = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach the node servers of a run.

    key: of the run's token.  lease_s: as of `Lease`.  tls: a context that trusts the node servers'
    certificates; None for plain TCP.  server_name: in the certificates; None for the host's name.
    on_open: is called with the address of this side of each connection.
    """

    key: bytes = field(repr=False)
    lease_s: float | None
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    on_open: Callable[[str], object] | None = None


class RemoteAgent:
    """A session with the node server at `address`.

    wake: is called with the instant, by `time.monotonic`, at which `tend` has something to do.
    adopts: take over the agent of the session before, with all that runs there.
    """

    def __init__(
        self,
        node: Node,
        address: Address,
        access: Access,
        session: SessionName,
        wake: Callable[[float], None],
        *,
        adopts: bool = False,
    ) -> None:
        self._adopts = adopts
        self.node = node
        self.lease = Lease(access.lease_s)
        self.is_up = False
        self.is_at_end = False
        self.trouble = ""
        self._address = address
        self._access = access
        self._name = session
        self._wake = wake
        self._session = Session()
        self._clock = NodeClock()
        self._board: Poller | None = None
        self._hear: Callable[[], None] = _ignore
        self._connection: Connection | None = None
        self._handshake: DriverHandshake | None = None  # until it is over
        self._is_new = True
        self._how = ""  # how the agent ended
        self._refusal = ""  # the last one; it says more than a later broken connection
        self._heard_at_s = 0.0  # when the last whole frame arrived
        self._retry_s = 0.0
        self._next_at_s = time.monotonic()  # for the next try, the next heartbeat, or a limit
        self._beat_s = math.inf
        self._lost_at_s = self._next_at_s  # since when there has been no connection
        if access.lease_s is not None:
            self.send({"do": "beat", "every_s": self.lease.beat_s})

    # --- as the engine sees it --------------------------------------------------------------------

    def watch(self, board: Poller, hear: Callable[[], None]) -> None:
        self._board, self._hear = board, hear
        self._connect()

    def send(self, command: Mapping[str, Any]) -> None:
        self._session.put(encoded(command))
        if self._is_open:
            self._send_unsent()

    def ahead_s(self, now_s: float) -> float:
        return self._clock.ahead_s + time.monotonic() - now_s

    def reports(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if self._connection is None:
            return found
        try:
            for frame in self._connection.arrivals():
                self._take(frame, found)
        except Refused as refused:
            self._refusal = str(refused)
            self._break(str(refused))
            if refused.is_final:
                self._finish(str(refused))
        except BrokenConnection as broken:
            self._break(str(broken))
        if self._is_open and self._session.is_ack_due:
            self._send_empty(Kind.ACK)
        return found

    def end(self) -> str:
        if self._is_open:
            self._send_empty(Kind.END)
        self._disconnect()
        self._next_at_s = math.inf
        self.is_at_end = True
        return self._how or f"its node server was given up: {self._where_and_why}"

    def fail(self, why: str) -> None:
        """Its node server is known to be gone."""
        self._finish(why)
        self._hear()

    # --- time -------------------------------------------------------------------------------------

    def tend(self, now_s: float) -> float:
        """Do what is due at `now_s`; returns when it is to be called again."""
        if now_s < self._next_at_s:
            return self._next_at_s
        if self._is_open and now_s - self._heard_at_s > SILENT_BEATS * self._beat_s:
            self._break(f"nothing arrived for {now_s - self._heard_at_s:.1f} s")
        elif self._is_open:
            self._send_empty(Kind.BEAT)
            self._next_at_s = now_s + self._beat_s
        elif self._connection is not None:
            self._break(f"no answer in {HANDSHAKE_S:g} s")
        elif now_s - self._lost_at_s > self._patience_s:
            self._finish(f"its node server cannot be reached: {self._where_and_why}")
            self._hear()
        else:
            self._connect()
        return self._next_at_s

    def stay_alive(self, now_s: float) -> None:
        """Send the heartbeat that is due, while the engine's own thread is busy elsewhere."""
        if self._is_open and now_s >= self._next_at_s:
            self._send_empty(Kind.BEAT)
            self._next_at_s = now_s + self._beat_s

    @property
    def _patience_s(self) -> float:
        """How long to go without a connection. With a lease, that decides once the agent is up."""
        if not self.is_up:
            return CONNECT_S if self._name.generation == 1 else REJOIN_S
        return DISCONNECTED_S_MAX if self._access.lease_s is None else math.inf

    # --- the connection ---------------------------------------------------------------------------

    @property
    def _is_open(self) -> bool:
        return self._connection is not None and self._handshake is None

    @property
    def _where_and_why(self) -> str:
        host, port = self._address
        return f"{host}:{port}: {self.trouble or 'no answer'}"

    def _connect(self) -> None:
        assert self._board is not None
        try:
            stream = self._stream()
        except OSError as error:
            self._break(error.strerror or str(error))
            return
        self._connection = Connection(stream)
        self._handshake = DriverHandshake(
            self._access.key,
            Introduction(
                session=self._name,
                is_new=self._is_new,
                received=self._session.received,
                adopts=self._adopts,
            ),
        )
        self._due(time.monotonic() + HANDSHAKE_S)
        self._board.watch(stream, self._hear)

    def _stream(self) -> Stream:
        """A connection that is being made. Raises OSError."""
        host, port = self._address
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        connecting = socket.socket(family, kind, protocol)
        try:
            connecting.setblocking(False)  # noqa: FBT003  # the argument has no name
            connecting.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connecting.connect_ex(address)  # a failure shows when the stream is read
            name = self._access.server_name or host
            return Stream(connecting, self._access.tls, server_name=name)
        except OSError:
            connecting.close()
            raise

    def _take(self, frame: bytes, found: list[dict[str, Any]]) -> None:
        assert self._connection is not None
        if self._handshake is None:
            self._take_arrival(frame, found)
        elif self._handshake.has_answered:
            self._open(self._handshake.check(frame))
        else:
            self._connection.send(self._handshake.answer(frame))
            self._connection.flush()

    def _open(self, welcome: Welcome) -> None:
        assert self._connection is not None
        assert self._handshake is not None
        if welcome.node_id != self.node.node_id:
            why = f"the node server there is that of node {welcome.node_id!r}"
            raise Refused(why, is_final=True)
        self._session.resume(welcome.received)
        to_node, to_driver = self._handshake.seals()
        self._connection.seal(to_driver, to_node)
        self._handshake = None
        if self._access.on_open is not None:
            self._access.on_open(self._connection.stream.own_host)
        self._is_new = False
        self._beat_s = welcome.beat_s
        self._heard_at_s = time.monotonic()
        self._due(time.monotonic())
        self._send_unsent()

    def _take_arrival(self, frame: bytes, found: list[dict[str, Any]]) -> None:
        arrival = self._session.take(frame)
        self._clock.observe(node_s=arrival.clock_s, here_s=time.monotonic())
        self._heard_at_s = time.monotonic()
        self.trouble, self._refusal, self._retry_s = "", "", 0.0  # this connection is of use
        if arrival.kind is not Kind.ACK:
            self.lease.renew()
        if arrival.payload:
            report = parsed(arrival.payload)
            if report.get("report") == "gone":
                self._finish(str(report.get("why")))
            else:
                found.append(report)

    def _break(self, why: str) -> None:
        """Part with the connection, and try again after a while."""
        if self._is_open:
            self._lost_at_s = time.monotonic()
        self.trouble = self._refusal or why
        self._disconnect()
        self._due(time.monotonic() + self._retry_s)
        self._retry_s = min(RETRY_S_MAX, max(RETRY_S_MIN, 2 * self._retry_s))

    def _disconnect(self) -> None:
        if self._connection is not None and self._board is not None:
            self._board.close(self._connection.stream)
        self._connection = self._handshake = None

    def _finish(self, how: str) -> None:
        self._how = self._how or how
        self.is_at_end = True

    def _due(self, at_s: float) -> None:
        self._next_at_s = at_s
        self._wake(at_s)

    def _send_unsent(self) -> None:
        assert self._connection is not None
        for body in self._session.unsent():
            self._connection.send(body)
        self._connection.flush()

    def _send_empty(self, kind: Kind) -> None:
        assert self._connection is not None
        self._connection.send(self._session.empty(kind))
        self._connection.flush()


def _ignore() -> None:
    """Do nothing: there is no listener yet."""
