"""Server-sent events: which jobs have changed, four times a second.

One question to the follower serves all clients of a tenant, and its answer is encoded once. A
client that falls behind is asked to fetch the page again. Source: service spec, section 7.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from sluice.model.errors import SluiceError
from sluice.service.backend import Backend
from sluice.service.metrics import Metrics

BATCH_S = 0.25
KEEP_S = 60.0  # how long a client may be away
QUEUED_MAX = 16
ALIVE_S = 15.0
CHECK_S = 1.0  # how soon a stream ends when its token is revoked
CLIENTS_MAX = 1000
_RESYNC = b"event: resync\ndata: {}\n\n"


@dataclass(eq=False)
class _Client:
    queue: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(QUEUED_MAX))


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

    def __init__(self, backend: Backend, metrics: Metrics) -> None:
        self._backend = backend
        self._metrics = metrics
        self._channels: dict[str | None, _Channel] = {}

    @property
    def clients(self) -> int:
        """Open streams."""
        return sum(len(channel.clients) for channel in self._channels.values())

    async def stream(
        self, tenant: str | None, last: str | None, is_allowed: Callable[[], Any]
    ) -> AsyncIterator[bytes]:
        """The messages for one client, until it leaves or is not allowed any more.

        last: the id of the last message that it got.  is_allowed: awaited each second.
        """
        channel, client = self._channel(tenant), _Client()
        channel.clients.append(client)
        self._metrics.clients.set(self.clients)
        try:
            yield b": connected\nretry: 1000\n\n"
            for message in _missed(channel, last):
                yield message
            alive_s = checked_s = time.monotonic()
            while True:
                try:
                    yield await asyncio.wait_for(client.queue.get(), CHECK_S)
                except TimeoutError:
                    if time.monotonic() - alive_s > ALIVE_S:
                        alive_s = time.monotonic()
                        yield b": alive\n\n"
                if time.monotonic() - checked_s > CHECK_S:
                    checked_s = time.monotonic()
                    if not await is_allowed():
                        return
        finally:
            channel.clients.remove(client)
            self._metrics.clients.set(self.clients)
            if not channel.clients and channel.task is not None:
                channel.task.cancel()
                self._channels.pop(tenant, None)

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
            if client.queue.full():
                while not client.queue.empty():
                    client.queue.get_nowait()
                self._metrics.resyncs.inc()
                client.queue.put_nowait(_RESYNC)
            else:
                client.queue.put_nowait(message)


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
