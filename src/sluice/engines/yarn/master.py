"""The ApplicationMaster: `python -m sluice.engines.yarn.master` in the first container.

It takes these commands from the driver, and goes on without one for `grace_s`:

* `serve` with a node, the size of a container and the settings of a node server: keep a node server
  there from now on.
* `known` with a node, a container and an address: a node server that an ApplicationMaster before
  this one has started, and that the driver knows.
* `again` with a node and an address: replace the node server there; its agent has failed.
* `release` with a node: nothing is needed there any more. Its container ends with its agent, and
  goes back to YARN if it does not.
* `stop`: end the containers, and the application.

It reports `serving` with an address and `unserved`, `node` and `left`, and `fault` before it ends
for a fault. A driver that connects later gets all that holds then.

One thread does all; a call to the ResourceManager or a NodeManager waits for its answer, which
takes milliseconds. While the ResourceManager is away the containers run on.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

from sluice.engines.agent import kernel
from sluice.engines.agent.poller import Poller
from sluice.engines.cluster.handshake import token_key
from sluice.engines.cluster.wire import BrokenConnection
from sluice.engines.yarn.containers import Containers
from sluice.engines.yarn.credentials import (
    AM_RM_TOKEN,
    Credentials,
    Token,
    own_credentials,
    secret_credentials,
)
from sluice.engines.yarn.hadoop_rpc import RpcFault
from sluice.engines.yarn.orders import ORDERS_VARIABLE, SECRET_NAME, command, read_orders, written
from sluice.engines.yarn.peers import CONTAINER, DRIVER, Caller
from sluice.engines.yarn.protobuf import BadMessage, Value
from sluice.engines.yarn.protocols import Container, ResourceManager, address_of, start_container

TURN_S = 0.05
BEAT_BUSY_S, BEAT_S = 0.1, 1.0  # between heartbeats, with and without open requests
CALLERS_MAX = 256
UNCLAIMED_S = 10.0  # for the driver to name the containers of an ApplicationMaster before this one
RETRY_RM_S = 1.0
_SUPERSEDED = "ApplicationAttemptNotFoundException"
_FORGOTTEN = frozenset(
    {"ApplicationMasterNotRegisteredException", "InvalidApplicationMasterRequestException"}
)


class RegisteredAgain(Exception):
    """The ResourceManager had forgotten this ApplicationMaster, and knows it again."""


class Superseded(Exception):
    """Another ApplicationMaster has taken over, or YARN has ended the application."""


class Master:
    """Serves one run. Raises OSError, RpcFault or BadMessage."""

    def __init__(self, orders: Mapping[str, Any], credentials: Credentials) -> None:
        self._orders = orders
        self._secret = credentials.secrets[SECRET_NAME]
        self._key = token_key(self._secret.decode())
        self._containers = Containers(self._report, self._start)
        self._board = Poller()
        self._callers: list[Caller] = []
        self._driver: Caller | None = None
        self._alone_since_s = self._met_at_s = time.monotonic()
        self._beat_at_s = 0.0
        self._is_over = self._is_away = False
        addresses = map(address_of, orders["scheduler"].split(","))
        self._rm = ResourceManager(addresses, credentials.token(AM_RM_TOKEN))
        host = self._rm.own_host
        self._listener = socket.create_server((host, 0), backlog=CALLERS_MAX)
        self._listener.setblocking(False)  # noqa: FBT003  # the argument has no name
        self._address: tuple[str, int] = (host, self._listener.getsockname()[1])
        self._board.watch_fd(self._listener.fileno(), self._accept)
        self._register()

    def run(self) -> None:
        """Serve until the end; then YARN ends what is left of the application."""
        signal.signal(signal.SIGTERM, lambda *_: self._finish())
        while not self._is_over:
            self._board.turn(TURN_S)
            now_s = time.monotonic()
            self._keep_time(now_s)
            if now_s >= self._beat_at_s or (self._containers.asks and not self._is_away):
                self._beat(now_s)
        self._unregister()

    def fail(self, why: str) -> None:
        """Say why it ends, to YARN and to the driver."""
        self._report("fault", why=why)
        with contextlib.suppress(OSError, RpcFault, BadMessage):
            self._rm.finish(has_succeeded=False, why=why)

    def _finish(self) -> None:
        self._is_over = True

    def _keep_time(self, now_s: float) -> None:
        for caller in [one for one in self._callers if not one.name]:
            if now_s >= caller.give_up_at_s:
                self._part(caller)
        if self._driver is None:
            if now_s > self._alone_since_s + float(self._orders["grace_s"]):
                self._finish()
        elif now_s > self._met_at_s + UNCLAIMED_S:
            self._containers.return_unclaimed()
        self._containers.keep_time(now_s)

    # --- callers ----------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:  # it went away in the meantime
            return
        caller = Caller.of(accepted, self._key)
        self._callers.append(caller)
        self._board.watch(caller.connection.stream, lambda: self._hear(caller))
        strangers = [one for one in self._callers if not one.name]
        if len(strangers) > CALLERS_MAX:
            self._part(strangers[0])

    def _hear(self, caller: Caller) -> None:
        try:
            for message in caller.messages():
                if caller.name.startswith(CONTAINER):
                    self._containers.announced(message)
                elif caller.name == DRIVER:
                    self._obey(caller, message)
        except (BrokenConnection, KeyError, TypeError, ValueError) as error:
            _log(f"parts with {caller.name or 'a stranger'}: {error}")
            self._part(caller)

    def _obey(self, caller: Caller, said: Mapping[str, Any]) -> None:
        match said.get("do"):
            case None:
                self._greet(caller)
            case "serve":
                self._containers.want(said)
            case "known":
                self._containers.claim(said)
            case "again":
                self._containers.replace(said)
            case "release":
                self._containers.give_back(said)
            case "stop":
                self._finish()

    def _greet(self, caller: Caller) -> None:
        """A driver that connects is the newest one of the run: it knows the token."""
        if self._driver is not None:
            self._part(self._driver)
        self._driver, self._met_at_s = caller, time.monotonic()
        self._containers.report_serving()

    def _part(self, caller: Caller) -> None:
        self._board.close(caller.connection.stream)
        if caller in self._callers:
            self._callers.remove(caller)
        if caller is self._driver:
            self._driver = None
            self._alone_since_s = time.monotonic()

    def _report(self, name: str, /, **details: object) -> None:
        if self._driver is not None:
            self._driver.send({"report": name, **details})

    # --- YARN -------------------------------------------------------------------------------------

    def _start(self, container: Container, node_token: Token, settings: Mapping[str, Any]) -> None:
        environment = dict(self._orders["environment"])
        environment[ORDERS_VARIABLE] = written(
            {"master": self._address, "settings": dict(settings)}
        )
        start_container(
            container,
            node_token,
            command(self._orders["python"], "sluice.engines.yarn.container"),
            environment,
            secret_credentials(SECRET_NAME, self._secret),
        )

    def _register(self) -> None:
        found = self._rm.register(*self._address)
        self._containers.largest = self._rm.largest
        self._containers.take(found)

    def _beat(self, now_s: float) -> None:
        books = self._containers
        asks, books.asks = books.asks, []
        release, books.release = books.release, []
        try:
            self._allocate(asks, release)
        except (OSError, BadMessage, RegisteredAgain) as error:
            _log(f"heartbeat: {error}")
            books.asks, books.release = asks + books.asks, release + books.release
            self._beat_at_s = now_s + RETRY_RM_S
            return
        self._beat_at_s = now_s + (BEAT_BUSY_S if books.has_open_asks else BEAT_S)

    def _allocate(self, asks: list[tuple[int, Value]], release: list[bytes]) -> None:
        """One heartbeat, on a new connection if the last one failed."""
        if self._is_away:
            self._rm.connect_again()
        self._is_away = True
        try:
            found = self._rm.allocate(asks, release)
        except RpcFault as fault:
            name = fault.kind.rpartition(".")[2]
            if name == _SUPERSEDED:
                raise Superseded(str(fault)) from fault
            if name not in _FORGOTTEN:
                raise
            self._register()
            raise RegisteredAgain(str(fault)) from fault
        self._is_away = False
        self._containers.take(found)

    def _unregister(self) -> None:
        with contextlib.suppress(OSError, RpcFault, BadMessage):
            if self._is_away:
                self._rm.connect_again()
            while not self._rm.finish(has_succeeded=True):
                time.sleep(TURN_S)
            self._rm.close()
        self._report("ended")
        self._listener.close()


def main() -> None:
    """Serve as the environment of the container says."""
    kernel.name_process("sluice-yarn-am")
    master = Master(read_orders(), own_credentials())
    try:
        master.run()
    except Superseded as superseded:
        _log(f"ends: {superseded}")  # the driver finds the other one by itself
    except Exception as error:  # noqa: BLE001  # of whatever kind, the driver is to know
        traceback.print_exc()
        master.fail(str(error) or type(error).__name__)
        sys.exit(1)


def _log(text: str) -> None:
    """Write to standard error, which YARN keeps."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
