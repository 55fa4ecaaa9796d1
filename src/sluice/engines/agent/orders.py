"""The pipe through which an agent talks to the process of an attempt.

Two kinds of lines come: the next attempt that the process is to do, and, while an attempt waits
for its input, news of where that is. News that comes too late is passed over.
"""

from __future__ import annotations

import json
import os
import select
from typing import Any

CHUNK_BYTES = 1 << 16


class Orders:
    """Reads lines from a descriptor, which belongs to it from now on."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._arrived = bytearray()
        self._is_at_end = False

    def next_order(self) -> dict[str, Any] | None:
        """The next attempt to do; waits for it. None if there is none: the agent wants no more."""
        while (message := self._next(None)) is not None:
            if "news" not in message:
                return message
        return None

    def news(self, wait_s: float) -> dict[str, Any]:
        """The next news, for which it waits at most `wait_s`; empty if none came.

        Raises EOFError if the agent is gone.
        """
        found = self._next(wait_s)
        if found is None and self._is_at_end:
            raise EOFError("the agent has closed the pipe of its orders")
        return found or {}

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)

    def _next(self, wait_s: float | None) -> dict[str, Any] | None:
        while (end := self._arrived.find(b"\n")) < 0:
            if self._is_at_end or not select.select([self._fd], [], [], wait_s)[0]:
                return None
            chunk = os.read(self._fd, CHUNK_BYTES)
            self._arrived += chunk
            self._is_at_end = not chunk
        line = bytes(self._arrived[:end])
        del self._arrived[: end + 1]
        message: dict[str, Any] = json.loads(line)
        return message
