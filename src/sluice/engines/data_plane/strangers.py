"""Connections to a data server that have not proved themselves.

Anybody who reaches the port can connect, and 1,000 idle connections would use up the descriptors of
the server. So a connection has STRANGER_S seconds in all for a request that proves itself, and at
most STRANGERS_MAX have not yet: the oldest gives way to the newest, because a node of the run needs
only a moment.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

STRANGER_S = 5.0
STRANGERS_MAX = 256  # as many as the attempts of many nodes may open in one moment


class Strangers:
    """The connections that have not proved themselves. Threads share it."""

    def __init__(self) -> None:
        self._since_s: dict[socket.socket, float] = {}  # the oldest first
        self._lock = threading.Lock()

    def add(self, connection: socket.socket) -> None:
        """Watch a new connection; end the oldest ones if there are too many."""
        with self._lock:
            self._since_s[connection] = time.monotonic()
            oldest = list(self._since_s)[:-STRANGERS_MAX]
        self._end(oldest)

    def forget(self, connection: socket.socket) -> None:
        """Watch it no longer: it has proved itself, or has ended."""
        with self._lock:
            self._since_s.pop(connection, None)

    def end_slow(self) -> None:
        """End those that took longer than STRANGER_S."""
        before_s = time.monotonic() - STRANGER_S
        with self._lock:
            slow = [one for one, since_s in self._since_s.items() if since_s < before_s]
        self._end(slow)

    def _end(self, connections: Iterable[socket.socket]) -> None:
        # Their threads wait for a byte: they wake up, and close them.
        for connection in connections:
            self.forget(connection)
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
