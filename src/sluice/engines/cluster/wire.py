"""The frames of a connection: where one ends, and the proof that it was not changed.

A frame is its length, 4 bytes, most significant first, and that many bytes. Sealed, these are a
code of 16 bytes, and the body. The code is an HMAC-SHA256 over the number of the frame in its
direction and its body, cut to 16 bytes (RFC 2104, section 5, allows half the hash). The keys are
made for one connection and one direction, so that a frame of another connection fits nowhere.
"""

from __future__ import annotations

import hmac
import struct

from sluice.engines.agent.channel import LINE_BYTES_MAX

CODE_BYTES = 16
FRAME_BYTES_MAX = LINE_BYTES_MAX + 1024  # a line of the agent, with what is added to it

_LENGTH = struct.Struct("!I")
_NUMBER = struct.Struct("!Q")


class BrokenConnection(Exception):
    """The connection cannot go on; the text says why. Another one may do better."""


def framed(body: bytes) -> bytes:
    """A frame with this body, as it is sent.

    >>> framed(b"abc").hex(" ")
    '00 00 00 03 61 62 63'
    """
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Cuts the bytes that arrive into frames. bytes_max: of one frame; it may be changed.

    >>> frames = Frames(100)
    >>> frames.feed(framed(b"abc") + bytes(2))
    >>> frames.take(), frames.take()
    (b'abc', None)
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._arrived = bytearray()
        self._taken = 0

    def feed(self, data: bytes) -> None:
        """Bytes that arrived next."""
        # Cutting each frame off the front would copy the rest once per frame.
        del self._arrived[: self._taken]
        self._taken = 0
        self._arrived += data

    def take(self) -> bytes | None:
        """The next whole frame; None if there is none yet. Raises BrokenConnection."""
        begin = self._taken + _LENGTH.size
        if len(self._arrived) < begin:
            return None
        (length,) = _LENGTH.unpack_from(self._arrived, self._taken)
        if length > self.bytes_max:
            raise BrokenConnection(f"a frame of {length} bytes; {self.bytes_max} is the most")
        if len(self._arrived) < begin + length:
            return None
        self._taken = begin + length
        return bytes(memoryview(self._arrived)[begin : self._taken])


class Seal:
    """Seals, or opens, the frames of one direction of one connection, in their order.

    >>> frame = Seal(b"key").sealed(b"abc")
    >>> reader = Seal(b"key")
    >>> reader.opened(frame)
    b'abc'
    >>> reader.opened(frame)
    Traceback (most recent call last):
    sluice.engines.cluster.wire.BrokenConnection: frame 2 was changed on the way, or is not the next
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._frames = 0

    def sealed(self, body: bytes) -> bytes:
        """The next frame with this body."""
        return self._next_code(body) + body

    def opened(self, frame: bytes) -> bytes:
        """The body of the next frame. Raises BrokenConnection."""
        body = frame[CODE_BYTES:]
        if not hmac.compare_digest(self._next_code(body), frame[:CODE_BYTES]):
            raise BrokenConnection(
                f"frame {self._frames} was changed on the way, or is not the next"
            )
        return body

    def _next_code(self, body: bytes) -> bytes:
        self._frames += 1
        numbered = _NUMBER.pack(self._frames) + body
        return hmac.digest(self._key, numbered, "sha256")[:CODE_BYTES]
