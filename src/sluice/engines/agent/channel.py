"""JSON lines over two file descriptors, without ever waiting."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from typing import Any

CHUNK_BYTES = 1 << 16
SOON_S = 0.02
_ENCODER = json.JSONEncoder(separators=(",", ":"))
LINE_BYTES_MAX = 1 << 26  # one line holds all outputs of an attempt, and no more than that


class Channel:
    """Both ends of a talk: lines in from `read_fd`, messages out to `write_fd`.

    A message waits for the next `flush`, so that many travel, and wake their reader, at once; a
    poller flushes at each turn. Either descriptor may be None. They belong to the channel.

    due_at_s: when messages are to be flushed, by CLOCK_MONOTONIC; infinity without any.
    """

    def __init__(self, read_fd: int | None, write_fd: int | None) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.is_at_end = read_fd is None
        self._arrived = bytearray()
        self._unsent = bytearray()
        self.due_at_s = math.inf
        for descriptor in (read_fd, write_fd):
            if descriptor is not None:
                os.set_blocking(descriptor, False)

    @property
    def has_unsent(self) -> bool:
        """Whether `flush` has something to do now."""
        return self.due_at_s != math.inf and time.monotonic() >= self.due_at_s

    def lines(self) -> list[bytes]:
        """The whole lines that have arrived; sets `is_at_end` once the other side is gone."""
        while not self.is_at_end and self._read_chunk():
            pass
        *whole, rest = self._arrived.split(b"\n")
        if whole:
            self._arrived = rest
        return [bytes(line) for line in whole]

    def send(self, message: Mapping[str, Any]) -> None:
        """Hand over a message. If the reader is gone, it is dropped."""
        self.send_line(encoded(message))

    def send_soon(self, message: Mapping[str, Any]) -> None:
        """Hand over a message that may wait for the next one, or for `SOON_S`."""
        due_at_s = min(self.due_at_s, time.monotonic() + SOON_S)
        self.send(message)
        self.due_at_s = due_at_s

    def send_line(self, line: bytes) -> None:
        """Hand over a message that is encoded already, without its newline."""
        if self.write_fd is not None:
            self._unsent += line + b"\n"
            self.due_at_s = 0.0

    def flush(self) -> None:
        """Send on as much as the other side takes now; the rest stays."""
        while self._unsent and self.write_fd is not None:
            try:
                sent = os.write(self.write_fd, self._unsent)
            except BlockingIOError:
                return
            except OSError:  # the reader is gone; `is_at_end` shows that
                sent = len(self._unsent)
            del self._unsent[:sent]
        self.due_at_s = math.inf

    def close(self) -> None:
        """Give both descriptors back; may be called again."""
        for descriptor in (self.read_fd, self.write_fd):
            if descriptor is not None:
                os.close(descriptor)
        self.read_fd = self.write_fd = None
        self.is_at_end = True
        self._unsent.clear()
        self.due_at_s = math.inf

    def _read_chunk(self) -> bool:
        assert self.read_fd is not None
        try:
            chunk = os.read(self.read_fd, CHUNK_BYTES)
        except BlockingIOError:
            return False
        except ConnectionResetError:  # a socket whose other side was killed
            self.is_at_end = True
            return False
        self._arrived += chunk
        self.is_at_end = not chunk or len(self._arrived) > LINE_BYTES_MAX
        # A full chunk may have more behind it; a short one is worth handing on first.
        return len(chunk) == CHUNK_BYTES and len(self._arrived) < LINE_BYTES_MAX


def encoded(message: Mapping[str, Any]) -> bytes:
    """The line of a message, without its newline."""
    return _ENCODER.encode(message).encode()


def parsed(line: bytes) -> dict[str, Any]:
    """The message in a line; empty for a line that holds none, such as a bare sign of life."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
