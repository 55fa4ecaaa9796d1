"""Waiting on many channels at once, in one thread."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from typing import Protocol


class Pollable(Protocol):
    """A channel, or another pair of descriptors with messages that wait to be sent."""

    @property
    def read_fd(self) -> int | None:
        """Readable when something has arrived; None if nothing can."""

    @property
    def write_fd(self) -> int | None:
        """Writable when `flush` gets further; another number than `read_fd`, or None."""

    @property
    def has_unsent(self) -> bool:
        """Whether `flush` has something to do."""

    def flush(self) -> None:
        """Send on as much as the other side takes now."""

    def close(self) -> None:
        """Give the descriptors back; may be called again."""


class Poller:
    """Calls back for the channels on which something has arrived, and sends on what waits."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._writers: list[Pollable] = []
        self._full: set[int] = set()  # descriptors that are watched for room to write

    def watch(self, channel: Pollable, act: Callable[[], None]) -> None:
        """Have `act` called whenever lines may have arrived, and unsent messages sent on.

        A channel that was muted may be watched again.
        """
        assert channel.read_fd is not None
        self.watch_fd(channel.read_fd, act)
        if channel.write_fd is not None and channel not in self._writers:
            self._writers.append(channel)

    def watch_fd(self, descriptor: int, act: Callable[[], None]) -> None:
        """Have `act` called whenever there is something to read."""
        self._selector.register(descriptor, selectors.EVENT_READ, act)

    def mute(self, channel: Pollable) -> None:
        """Call back no more for a channel, such as one at its end."""
        self.unwatch_fd(channel.read_fd)

    def close(self, channel: Pollable) -> None:
        """Part with a channel; may be called again."""
        self.unwatch_fd(channel.read_fd)
        if channel in self._writers:
            self._writers.remove(channel)
            self.unwatch_fd(channel.write_fd)
            if channel.write_fd is not None:
                self._full.discard(channel.write_fd)
        channel.close()

    def turn(self, wait_s: float | None) -> None:
        """Send what is to be sent, wait at most `wait_s` (None: for ever) for something to happen,
        and call it back.
        """
        self._send()
        for key, _ in self._selector.select(wait_s):
            # An earlier call of this turn may have closed it, or even reused its number.
            if self._selector.get_map().get(key.fd) is key:
                key.data()

    def shut(self) -> None:
        """Give back what the waiting itself needed; the channels are their owners' to close."""
        self._selector.close()

    def unwatch_fd(self, descriptor: int | None) -> None:
        """Call back no more for a descriptor; one that is not watched is ignored."""
        if descriptor is not None and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def _send(self) -> None:
        """Flush, and wait for room to write only where something is left."""
        full = self._full
        for channel in self._writers:
            # Of a thousand channels, nearly all have nothing to send.
            if not channel.has_unsent and channel.write_fd not in full:
                continue
            channel.flush()
            fd = channel.write_fd
            if fd is None or channel.has_unsent == (fd in full):
                continue
            if channel.has_unsent:
                self._selector.register(fd, selectors.EVENT_WRITE, channel.flush)
                full.add(fd)
            else:
                self._selector.unregister(fd)
                full.discard(fd)
