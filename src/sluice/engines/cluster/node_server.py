"""The node server: the process on each node that connects its agent with the driver.

It starts the agent of a session as its child, and relays: commands from the driver to the agent,
reports from the agent to the driver. It reads neither, but for the agent's heartbeats, which are
not worth keeping. It has one thread. One driver is connected at a time; a second one supersedes the
first if its session is the same or a later one.

It ends, with the agent and all that the agent started, when

* no driver has come for `first_contact_s`,
* the driver is connected, and silent for `driver_lease_s` (and `reattach_s`),
* the connection is closed, and not made again for `closed_lease_s` (and `reattach_s`),
* the driver ends the agent, if the settings say `ends_with_agent`,
* its standard input ends, because its starter is gone, or it gets SIGTERM,
* the driver reads so slowly that more than `KEPT_BYTES_MAX` of reports are kept for it.

If it is ended by SIGKILL the agent sees its input end, and ends everything itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import time
from collections import deque
from pathlib import Path

from sluice.engines.agent import kernel
from sluice.engines.agent.channel import encoded
from sluice.engines.agent.poller import Poller
from sluice.engines.agent.signals import Signals
from sluice.engines.cluster.connection import Connection
from sluice.engines.cluster.handshake import (
    HANDSHAKE_S,
    Introduction,
    NodeHandshake,
    Refused,
    SessionName,
    Welcome,
    token_key,
)
from sluice.engines.cluster.server_settings import ServerSettings, read_settings
from sluice.engines.cluster.session import Kind, Session
from sluice.engines.cluster.stream import Stream
from sluice.engines.cluster.wire import BrokenConnection
from sluice.engines.data_plane.node_data import NodeData
from sluice.engines.lease import Lease
from sluice.engines.local.agents import LocalAgent, node_folder, sweep
from sluice.engines.local.scratch_lock import ScratchLock
from sluice.model.cluster import Node
from sluice.model.errors import SluiceError
from sluice.model.ids import NodeId

_STARTER_GONE = "its starter is gone"
TURN_S_MAX = 0.5  # leases are looked at this often
STRANGERS_MAX = 32  # connections whose handshake is not over
KEPT_BYTES_MAX = 1 << 28
ENDS_KEPT = 10_000  # a driver that crashed may have acknowledged some that it had not journaled
BEAT = encoded({"report": "beat"})
UP = encoded({"report": "up"})
ENDS = (b'{"report":"finished"', b'{"report":"failed"')


class Stranger:
    """A connection whose other side has not proved anything yet.

    hosts: the addresses of this side and of the other one, as the connection has them.
    """

    def __init__(self, stream: Stream, key: bytes, hosts: tuple[str, str]) -> None:
        self.connection = Connection(stream)
        self.hosts = hosts
        self.handshake = NodeHandshake(key)
        self.give_up_at_s = time.monotonic() + HANDSHAKE_S
        self.connection.send(self.handshake.hello)


class NodeServer:
    """Serves one node of one run. listener: listens; it belongs to the server."""

    def __init__(self, settings: ServerSettings, listener: socket.socket) -> None:
        self._settings = settings
        self._key = token_key(settings.token)
        self._tls = settings.tls_context()
        self._scratch = Path(settings.scratch).resolve()
        self._node = Node(node_id=NodeId(settings.node_id))
        self._listener = listener
        self._listener.setblocking(False)  # noqa: FBT003  # the argument has no name
        self._lock = ScratchLock(self._scratch)
        self._board = Poller()
        self._signals = Signals()
        folder = node_folder(self._node, self._scratch)
        self._data = NodeData(settings.node_id, folder, self._key, settings.data_host, settings.tls)
        self._strangers: list[Stranger] = []
        self._driver: Connection | None = None
        self._name: SessionName | None = None
        self._session = Session()
        self._agent: LocalAgent | None = None
        self._ends: deque[bytes] = deque(maxlen=ENDS_KEPT)
        self._lease = Lease(settings.first_contact_s)
        self._looked_at_s = self._heard_at_s = time.monotonic()
        self._over = ""  # why it ends

    def run(self) -> None:
        """Serve until the end; then nothing that was started here is left."""
        self._lock.take()
        sweep(node_folder(self._node, self._scratch))
        self._data.start()
        self._board.watch_fd(self._listener.fileno(), self._accept)
        self._board.watch_fd(self._signals.fd, self._woken)
        try:
            while not self._over:
                self._board.turn(TURN_S_MAX)
                self._keep_time()
        finally:
            if self._agent is not None:
                self._end_agent(f"its node server ended: {self._over or 'it failed'}")
                self._send_reports()
            self._data.end()
            self._lock.release()
            if self._settings.scratch_is_temporary and self._over == _STARTER_GONE:
                shutil.rmtree(self._scratch, ignore_errors=True)

    def end_with(self, descriptor: int) -> None:
        """End when this pipe ends."""
        self._board.watch_fd(descriptor, lambda: self._starter_spoke(descriptor))

    # --- what makes it end ------------------------------------------------------------------------

    def _starter_spoke(self, descriptor: int) -> None:
        if not os.read(descriptor, 4096):
            self._finish(_STARTER_GONE)

    def _woken(self) -> None:
        self._signals.clear()
        if self._signals.is_told_to_end:
            self._finish("a signal asked for it")

    def _keep_time(self) -> None:
        now_s = time.monotonic()
        elapsed_s, self._looked_at_s = now_s - self._looked_at_s, now_s
        for stranger in list(self._strangers):
            if now_s >= stranger.give_up_at_s:
                self._refuse(stranger, f"no introduction in {HANDSHAKE_S:g} s")
        silent_s = now_s - self._heard_at_s
        if self._driver is not None and silent_s > self._settings.driver_lease_s / 2:
            _log(f"lost the driver: nothing arrived for {silent_s:.1f} s")
            self._close_driver()  # it may do better with another connection
        if data_ended := self._data.ended():
            self._finish(data_ended)
        elif self._lease.pass_time(elapsed_s):
            self._finish("no sign of the driver")
        elif self._session.kept_bytes > KEPT_BYTES_MAX:
            self._finish(f"the driver has not taken {self._session.kept_bytes} bytes of reports")

    def _finish(self, why: str) -> None:
        _log(f"ends: {why}")
        self._over = why

    # --- connections ------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            accepted, peer = self._listener.accept()
            hosts = accepted.getsockname()[0], peer[0]
        except OSError:  # it went away in the meantime
            return
        stranger = Stranger(Stream(accepted, self._tls), self._key, hosts)
        self._strangers.append(stranger)
        self._board.watch(stranger.connection.stream, lambda: self._listen_to(stranger))
        if len(self._strangers) > STRANGERS_MAX:
            self._refuse(self._strangers[0], "too many connections")

    def _listen_to(self, stranger: Stranger) -> None:
        try:
            for frame in stranger.connection.arrivals():
                introduction = stranger.handshake.check(frame)
                self._strangers.remove(stranger)
                self._meet(stranger, introduction)
                return  # what follows is read by the driver's own callback
        except BrokenConnection as error:
            self._refuse(stranger, str(error))

    def _refuse(self, stranger: Stranger, why: str) -> None:
        _log(f"refuses a connection: {why}")
        self._strangers.remove(stranger)
        self._send_last(stranger.connection, stranger.handshake.refusal(why))

    def _meet(self, stranger: Stranger, introduction: Introduction) -> None:
        """Let a driver that has proved that it knows the token take over, if it may."""
        connection, handshake = stranger.connection, stranger.handshake
        try:
            self._check(introduction)
            self._close_driver()
            if introduction.session != self._name:
                self._begin(introduction, stranger.hosts)
            self._session.resume(introduction.received)
        except BrokenConnection as error:
            _log(f"refuses session {introduction.session.rank}: {error}")
            self._send_last(connection, handshake.objection(str(error)))
            return
        settings = self._settings
        lease = Lease(settings.driver_lease_s + settings.reattach_s)
        beat_s = Lease(settings.driver_lease_s).beat_s
        connection.send(
            handshake.welcome(
                Welcome(node_id=settings.node_id, received=self._session.received, beat_s=beat_s)
            )
        )
        to_node, to_driver = handshake.seals()
        connection.seal(to_node, to_driver)
        self._driver, self._lease = connection, lease
        self._heard_at_s = time.monotonic()
        self._board.mute(connection.stream)
        assert connection.stream.read_fd is not None
        self._board.watch_fd(connection.stream.read_fd, self._hear_driver)
        self._relay_reports()

    def _check(self, introduction: Introduction) -> None:
        """Raises Refused for a session that has been superseded, or that is gone."""
        name, own = introduction.session, self._name
        if own is not None and name != own and name.rank <= own.rank:
            raise Refused(
                f"epoch {own.epoch} (session {own.generation}) has taken this node over, and this"
                f" driver is of epoch {name.epoch} (session {name.generation})"
            )
        if name != own and not introduction.is_new:
            raise Refused("the node server was started again, and its former agent is gone")

    def _close_driver(self) -> None:
        if self._driver is not None:
            self._board.close(self._driver.stream)
            self._driver = None

    def _send_last(self, connection: Connection, frame: bytes) -> None:
        connection.send(frame)
        connection.flush()
        self._board.close(connection.stream)

    # --- the session ------------------------------------------------------------------------------

    def _begin(self, introduction: Introduction, hosts: tuple[str, str]) -> None:
        """Start the agent of a session, or adopt that of the one before, which is over."""
        is_adopted = introduction.adopts and self._agent is not None
        if not is_adopted:
            self._end_agent()
            self._ends.clear()
        kept, self._session = self._session.kept, Session()
        self._name = introduction.session
        try:
            self._data.grant(*hosts)
            if is_adopted:
                for line in (UP, *self._ends, *kept):  # what is known already does no harm
                    self._session.put(line)
                return
            self._agent = LocalAgent(self._node, self._scratch, None)
        except OSError as error:
            self._report_end(f"its agent could not be started: {error}")
        else:
            self._board.watch(self._agent.channel, self._relay_reports)

    def _hear_driver(self) -> None:
        driver, has_beat = self._driver, False
        if driver is None:
            return
        try:
            for body in driver.arrivals():
                arrival = self._session.take(body)
                self._lease.renew()
                self._heard_at_s = time.monotonic()
                has_beat |= arrival.kind is Kind.BEAT
                if arrival.kind is Kind.END:
                    self._end_agent()
                    if self._settings.ends_with_agent:
                        self._finish("the driver has ended its agent")
                elif arrival.payload and self._agent is not None:
                    self._agent.channel.send_line(arrival.payload)
        except BrokenConnection as error:
            _log(f"lost the driver: {error}")
            self._close_driver()
            self._lease = Lease(self._settings.closed_lease_s + self._settings.reattach_s)
        if self._agent is not None:
            self._agent.channel.flush()
        if self._driver is driver and (has_beat or self._session.is_ack_due):
            driver.send(self._session.empty(Kind.ACK))

    def _relay_reports(self) -> None:
        agent = self._agent
        if agent is not None:
            for line in agent.channel.lines():
                if line != BEAT:
                    self._session.put(line)
                    if line.startswith(ENDS):
                        self._ends.append(line)
                elif self._driver is not None:
                    self._driver.send(self._session.empty(Kind.BEAT))
            if agent.channel.is_at_end:
                self._end_agent()
        self._send_reports()

    def _send_reports(self) -> None:
        if self._driver is not None:
            for body in self._session.unsent():
                self._driver.send(body)
            self._driver.flush()

    def _end_agent(self, why: str = "") -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            self._board.close(agent.channel)
            ended = agent.end()
            self._report_end(why or ended)

    def _report_end(self, how: str) -> None:
        self._session.put(encoded({"report": "gone", "why": how}))


def main() -> None:
    """Serve as the JSON object in the first line of standard input says, until that input ends.

    Its fields are those of `ServerSettings`. Writes {"host": ..., "port": ...} when it listens.
    """
    kernel.name_process("sluice-node")
    try:
        settings = read_settings(sys.stdin.buffer.readline())
        server = NodeServer(settings, listener := settings.listener())
        host, port = listener.getsockname()[:2]
        with contextlib.suppress(OSError):
            sys.stdout.write(json.dumps({"host": host, "port": port}) + "\n")
            sys.stdout.flush()
        server.end_with(0)
        server.run()
    except (OSError, SluiceError) as error:
        _log(f"cannot serve: {error}")
        sys.exit(2)


def _log(text: str) -> None:
    """Write to standard error, which its starter keeps."""
    sys.stderr.write(f"node server {os.getpid()}: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
