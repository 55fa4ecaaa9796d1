"""Who speaks with the ApplicationMaster: the driver of the run, and each container it has started.

The ApplicationMaster listens, and takes the node's part of the handshake (`engines/cluster`): who
connects has the token of the run, and every frame after that is sealed. A frame holds a JSON
object. The label of the session says who it is.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sluice.engines.agent.channel import encoded, parsed
from sluice.engines.cluster.connection import Connection
from sluice.engines.cluster.handshake import (
    HANDSHAKE_S,
    DriverHandshake,
    Introduction,
    NodeHandshake,
    Refused,
    SessionName,
    Welcome,
)
from sluice.engines.cluster.stream import Stream
from sluice.engines.cluster.wire import BrokenConnection

MASTER = "application-master"  # its name in the handshake
DRIVER = "driver"
CONTAINER = "container "  # and the name of its container
BEAT_S = 5.0


@dataclass(slots=True)
class Caller:
    """One that has connected. name: "" until it has proved that it knows the token."""

    connection: Connection
    handshake: NodeHandshake
    give_up_at_s: float
    name: str = ""

    @classmethod
    def of(cls, accepted: socket.socket, key: bytes) -> Caller:
        """A caller that has just connected; its hello is on the way."""
        caller = cls(
            Connection(Stream(accepted)), NodeHandshake(key), time.monotonic() + HANDSHAKE_S
        )
        caller.connection.send(caller.handshake.hello)
        return caller

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what it says next, after an empty message once it is known.

        Raises BrokenConnection.
        """
        for frame in self.connection.arrivals():
            if self.name:
                yield parsed(frame)
            else:
                self._meet(frame)
                yield {}

    def send(self, message: Mapping[str, Any]) -> None:
        """Hand over a message."""
        self.connection.send(encoded(message))
        self.connection.flush()

    def _meet(self, frame: bytes) -> None:
        try:
            said = self.handshake.check(frame)
        except Refused as refused:
            self.connection.send(self.handshake.refusal(str(refused)))
            self.connection.flush()
            raise
        self.connection.send(
            self.handshake.welcome(Welcome(node_id=MASTER, received=0, beat_s=BEAT_S))
        )
        to_master, to_caller = self.handshake.seals()
        self.connection.seal(to_master, to_caller)
        self.connection.flush()
        self.name = said.session.label


class MasterLink:
    """The connection of a driver, or of a container, to the ApplicationMaster.

    epoch: the life of the driver.  Raises OSError or BrokenConnection if it is not made within
    the time of a handshake.
    """

    def __init__(self, address: tuple[str, int], key: bytes, name: str, *, epoch: int = 1) -> None:
        connected = socket.create_connection(address, HANDSHAKE_S)
        self.own_host: str = connected.getsockname()[0]
        self._connection = Connection(Stream(connected))
        session = SessionName(epoch=epoch, generation=1, label=name)
        handshake = DriverHandshake(key, Introduction(session=session, is_new=True, received=0))
        try:
            self._shake_hands(handshake)
        except BaseException:
            self.close()
            raise

    def messages(self) -> list[dict[str, Any]]:
        """Return what has arrived. Raises BrokenConnection when nothing more can."""
        self._connection.flush()
        return [parsed(frame) for frame in self._connection.arrivals()]

    def send(self, message: Mapping[str, Any]) -> None:
        """Hand over a message; a broken connection shows when reading."""
        self._connection.send(encoded(message))
        self._connection.flush()

    def close(self) -> None:
        """Close the connection; what has been handed over is sent first if that needs no wait."""
        with contextlib.suppress(OSError):
            self._connection.flush()
        self._connection.stream.close()

    def _shake_hands(self, handshake: DriverHandshake) -> None:
        give_up_at_s = time.monotonic() + HANDSHAKE_S
        while (left_s := give_up_at_s - time.monotonic()) > 0:
            descriptor = self._connection.stream.read_fd
            assert descriptor is not None
            select.select([descriptor], [], [], left_s)
            for frame in self._connection.arrivals():
                if not handshake.has_answered:
                    self._connection.send(handshake.answer(frame))
                    self._connection.flush()
                    continue
                handshake.check(frame)
                to_master, to_caller = handshake.seals()
                self._connection.seal(to_caller, to_master)
                return
        raise BrokenConnection(f"no answer in {HANDSHAKE_S:g} s")
