"""The messages that are sent over any number of connections, each once and in order.

Both sides have a `Session`. It numbers the messages that it sends from 1, and keeps each until the
other side says that it has it. A frame's body is its kind, the number of its message (or of the
last one, if it carries none), the number up to which the sender has received, the sender's clock,
and the message. Frames without a message are heartbeats, acknowledgements, and the end.
"""

from __future__ import annotations

import itertools
import math
import struct
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from sluice.engines.cluster.wire import BrokenConnection

ACK_MESSAGES = 64  # not acknowledged; the next heartbeat acknowledges fewer
ACK_BYTES = 1 << 20
DRIFT_MAX = 150e-6  # of two clocks, seconds per second

_HEAD = struct.Struct("!cQQd")


class Kind(Enum):
    """The purpose of a frame."""

    MESSAGE = b"M"
    BEAT = b"B"  # its sender lives: the driver, or the agent
    ACK = b"A"  # received; no sign of life of an agent
    END = b"E"  # the session is over


class Arrival(NamedTuple):
    """A frame that has arrived. payload: b"" unless it is a new message."""

    kind: Kind
    clock_s: float
    payload: bytes


class Session:
    """One side of a session. clock: of this side, seconds.

    >>> node, driver = Session(lambda: 1.0), Session(lambda: 9.0)
    >>> node.put(b"hello")
    >>> [driver.take(body).payload for body in node.unsent()]
    [b'hello']
    >>> node.resume(driver.received)  # another connection: nothing to send again
    >>> node.unsent()
    []
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.received = 0
        self.kept_bytes = 0
        self._clock = clock
        self._kept: deque[bytes] = deque()  # not acknowledged
        self._numbered = 0  # messages so far
        self._sent = 0  # of them, on this connection or acknowledged
        self._acknowledged = 0  # of what was received
        self._bytes_to_acknowledge = 0

    def put(self, payload: bytes) -> None:
        """A message to send; not empty."""
        assert payload
        self._numbered += 1
        self._kept.append(payload)
        self.kept_bytes += len(payload)

    @property
    def kept(self) -> tuple[bytes, ...]:
        """The messages that the other side may not have, oldest first."""
        return tuple(self._kept)

    def resume(self, received: int) -> None:
        """Begin with a new connection, to a side that has `received` so many messages.

        Raises BrokenConnection if it cannot have.
        """
        self._drop(received)
        self._sent = self._numbered - len(self._kept)

    def unsent(self) -> list[bytes]:
        """The bodies to send on this connection now, oldest first."""
        first = self._numbered - len(self._kept) + 1
        fresh = itertools.islice(self._kept, self._sent + 1 - first, None)
        bodies = [
            self._head(Kind.MESSAGE, number) + payload
            for number, payload in enumerate(fresh, start=self._sent + 1)
        ]
        self._sent = self._numbered
        return bodies

    def empty(self, kind: Kind) -> bytes:
        """The body of a frame without a message."""
        return self._head(kind, self._sent)

    @property
    def is_ack_due(self) -> bool:
        """Whether to send an acknowledgement now, and not with the next heartbeat."""
        messages = self.received - self._acknowledged
        return messages >= ACK_MESSAGES or self._bytes_to_acknowledge >= ACK_BYTES

    def take(self, body: bytes) -> Arrival:
        """The content of a frame from the other side. Raises BrokenConnection."""
        try:
            mark, number, received, clock_s = _HEAD.unpack_from(body)
            kind = Kind(mark)
        except (struct.error, ValueError) as error:
            raise BrokenConnection("a frame of no known kind") from error
        self._drop(received)
        payload = body[_HEAD.size :]
        if kind is Kind.MESSAGE and number <= self.received:
            return Arrival(kind, clock_s, b"")  # known from an earlier connection
        expected = self.received + (kind is Kind.MESSAGE)
        if number != expected:
            raise BrokenConnection(f"message {number} where {expected} was due")
        if kind is Kind.MESSAGE:
            self.received = number
            self._bytes_to_acknowledge += len(payload)
        return Arrival(kind, clock_s, payload)

    def _head(self, kind: Kind, number: int) -> bytes:
        self._acknowledged = self.received
        self._bytes_to_acknowledge = 0
        return _HEAD.pack(kind.value, number, self.received, self._clock())

    def _drop(self, received: int) -> None:
        """Forget the messages that the other side has."""
        first = self._numbered - len(self._kept)
        if not first <= received <= self._numbered:
            raise BrokenConnection(f"{received} messages acknowledged; {self._numbered} were sent")
        for _ in range(received - first):
            self.kept_bytes -= len(self._kept.popleft())


class NodeClock:
    """How far the clock of a node is ahead of this one, from the clock readings in its frames.

    A frame arrives later than it was sent, by an unknown delay, so that (node's reading - own
    reading) is never above the true difference, and the largest one seen is the best. Two clocks
    also drift apart: an old reading counts a little less with each second. Source: RFC 5905,
    section 10 (the sample with the smallest delay counts) and its frequency tolerance PHI of 15
    ppm; ten times that here.

    >>> clock = NodeClock()
    >>> clock.observe(node_s=105.0, here_s=5.5)  # half a second on the way
    >>> clock.observe(node_s=106.0, here_s=6.0)
    >>> clock.observe(node_s=107.0, here_s=9.0)
    >>> round(clock.ahead_s, 3)
    100.0
    """

    def __init__(self) -> None:
        self.ahead_s = -math.inf
        self._seen_at_s = 0.0

    def observe(self, *, node_s: float, here_s: float) -> None:
        """A frame that was sent when it was `node_s` there arrived when it was `here_s` here."""
        faded_s = self.ahead_s - DRIFT_MAX * (here_s - self._seen_at_s)
        self.ahead_s = max(node_s - here_s, faded_s)
        self._seen_at_s = here_s
