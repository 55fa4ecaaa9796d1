"""Server-sent events: which jobs have changed, four times a second.

One question to the follower serves all clients of a tenant, and its answer is encoded once. A
client that falls behind is asked to fetch the page again. Source: service spec, section 7.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Receive, Send

from sluice.model.errors import SluiceError
from sluice.service.backend import Backend
from sluice.service.metrics import Metrics
from sluice.service.principals import Proof
from sluice.service.problem import Problem

BATCH_S = 0.25
KEEP_S = 60.0  # how long a client may be away
QUEUED_MAX = 16
ALIVE_S = 15.0
CHECK_S = 1.0  # how soon a stream ends when its token is revoked
CLIENTS_MAX = 1000
CLIENTS_OF_ONE_MAX = 20  # of one token, or of one browser
PART_BYTES = 16 << 10  # of a message, which a client must take before the next one is sent
STREAM = "stream"  # in the state of a scope: what sends on when the app has done its part
_HELLO = b": connected\nretry: 1000\n\n"
_ALIVE = b": alive\n\n"
_RESYNC = b"event: resync\ndata: {}\n\n"


@dataclass(eq=False, slots=True)
class _Client:
    """A client, and the messages that it is yet to get. wakes: set where it waits for more."""

    proof: Proof
    messages: deque[bytes] = field(default_factory=deque)
    wakes: asyncio.Future[None] | None = None
    is_over: bool = False
    sent_s: float = 0.0

    def put(self, message: bytes) -> bool:
        """Whether it was taken, and not a resync in place of too many."""
        is_behind = len(self.messages) >= QUEUED_MAX
        if is_behind:
            self.messages.clear()
        self.messages.append(_RESYNC if is_behind else message)
        self._wake()
        return not is_behind

    def end(self, _: object = None) -> None:
        """Nothing more is for it."""
        self.is_over = True
        self._wake()

    def _wake(self) -> None:
        if self.wakes is not None and not self.wakes.done():
            self.wakes.set_result(None)

    async def next(self) -> bytes | None:
        """The next message; None if it is over."""
        while not self.messages and not self.is_over:
            self.wakes = asyncio.get_running_loop().create_future()
            await self.wakes
        return None if self.is_over else self.messages.popleft()


@dataclass(eq=False)
class _Channel:
    """The clients that see the same jobs. sent: number, message and instant of the last ones."""

    tenant: str | None
    clients: list[_Client] = field(default_factory=list)
    sent: deque[tuple[int, bytes, float]] = field(default_factory=deque)
    number: int = -1
    source: str = ""
    task: asyncio.Task[None] | None = None


class Events:
    """The streams of one web process."""

    def __init__(
        self, backend: Backend, metrics: Metrics, is_allowed: Callable[[Proof], Awaitable[bool]]
    ) -> None:
        self._backend = backend
        self._is_allowed = is_allowed
        self._metrics = metrics
        self._channels: dict[str | None, _Channel] = {}
        self._watch: asyncio.Task[None] | None = None

    @property
    def clients(self) -> int:
        """Open streams."""
        return sum(len(channel.clients) for channel in self._channels.values())

    def check(self, proof: Proof) -> None:
        """Raise Problem 429 where one more stream is too many."""
        own = sum(
            one.proof == proof for channel in self._channels.values() for one in channel.clients
        )
        if self.clients >= CLIENTS_MAX or own >= CLIENTS_OF_ONE_MAX:
            most = CLIENTS_OF_ONE_MAX if own >= CLIENTS_OF_ONE_MAX else CLIENTS_MAX
            raise Problem(429, f"{most} streams are open", hint="close one", retry_after_s=5)

    async def stream(
        self, tenant: str | None, last: str | None, proof: Proof, receive: Receive, send: Send
    ) -> None:
        """Send messages to one client, until it leaves or is not allowed any more.

        last: the id of the last message that it got.  proof: what is looked at again each second.
        """
        channel, client = self._channel(tenant), _Client(proof)
        channel.clients.append(client)
        self._metrics.clients.set(self.clients)
        client.messages.extend([_HELLO, *_missed(channel, last)])
        leaves = asyncio.create_task(_left(receive))
        leaves.add_done_callback(client.end)
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._look())
            self._watch.add_done_callback(self._end_all)
        try:
            while (message := await client.next()) is not None:
                client.sent_s = time.monotonic()
                for begin in range(0, len(message), PART_BYTES):
                    part = message[begin : begin + PART_BYTES]
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaves.cancel()
            self._leave(channel, client)

    def _leave(self, channel: _Channel, client: _Client) -> None:
        channel.clients.remove(client)
        self._metrics.clients.set(self.clients)
        if not channel.clients and channel.task is not None:
            channel.task.cancel()
            self._channels.pop(channel.tenant, None)
        if not self._channels and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _look(self) -> None:
        """End the streams of those who may not see them any more, and keep the others alive."""
        while True:
            await asyncio.sleep(CHECK_S)
            clients = [one for channel in self._channels.values() for one in channel.clients]
            for proof in {one.proof for one in clients}:
                if not await self._is_allowed(proof):
                    for one in clients:
                        if one.proof == proof:
                            one.end()
            for one in clients:
                if not one.messages and time.monotonic() - one.sent_s > ALIVE_S:
                    one.put(_ALIVE)

    def _end_all(self, _: object) -> None:
        """End the streams that are not looked at any more; pages ask for new ones."""
        for channel in self._channels.values():
            for one in channel.clients:
                one.end()

    def _channel(self, tenant: str | None) -> _Channel:
        channel = self._channels.get(tenant)
        if channel is None:
            channel = self._channels[tenant] = _Channel(tenant)
            channel.task = asyncio.create_task(self._follow(channel))
        return channel

    async def _follow(self, channel: _Channel) -> None:
        while True:
            began_s = time.monotonic()
            try:
                found = await self._backend.ask(
                    "changes", since=max(0, channel.number), tenant=channel.tenant
                )
            except SluiceError:
                await asyncio.sleep(1.0)
                continue
            self._take(channel, found)
            took_s = time.monotonic() - began_s
            await asyncio.sleep(max(BATCH_S - took_s, BATCH_S / 2, 2 * took_s))

    def _take(self, channel: _Channel, found: dict[str, Any]) -> None:
        number, source, before = found["number"], found["source"], channel.number
        is_other = source != channel.source
        channel.number, channel.source = number, source
        if before < 0:
            return  # clients have fetched the page
        if is_other or found["is_cut"]:
            channel.sent.clear()
            self._send(channel, _RESYNC)
        elif found["rows"]:  # none where only jobs of others have changed
            body = json.dumps({"rows": found["rows"], "as_of_seq": found["as_of_seq"]})
            message = f"id: {source}:{number}\nevent: delta\ndata: {body}\n\n".encode()
            channel.sent.append((number, message, time.monotonic()))
            self._send(channel, message)
        while channel.sent and channel.sent[0][2] < time.monotonic() - KEEP_S:
            channel.sent.popleft()

    def _send(self, channel: _Channel, message: bytes) -> None:
        for client in channel.clients:
            if not client.put(message):
                self._metrics.resyncs.inc()


async def _left(receive: Receive) -> None:
    """Wait for the end of a connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _missed(channel: _Channel, last: str | None) -> list[bytes]:
    """Return what a client that comes back has missed.

    A resync where that is not known any more.
    """
    if last is None:
        return []
    source, _, number = last.rpartition(":")
    if source != channel.source or not number.isdecimal():
        return [_RESYNC]
    since = int(number)
    oldest = channel.sent[0][0] if channel.sent else channel.number + 1
    if since == channel.number:
        return []
    if since + 1 < oldest or since > channel.number:
        return [_RESYNC]
    return [message for at, message, _ in channel.sent if at > since]
