"""One connection between a driver and a node server: a stream that carries frames.

It begins with small plain frames, for the handshake. From `seal` on, frames may be large, and each
is sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from sluice.engines.cluster.handshake import HANDSHAKE_BYTES_MAX
from sluice.engines.cluster.stream import Stream
from sluice.engines.cluster.wire import FRAME_BYTES_MAX, BrokenConnection, Frames, Seal, framed


class Connection:
    """The stream belongs to it."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._frames = Frames(HANDSHAKE_BYTES_MAX)
        self._reader: Seal | None = None
        self._writer: Seal | None = None

    def seal(self, reader: Seal, writer: Seal) -> None:
        """The handshake is over: open with `reader` what arrives, seal with `writer` the rest."""
        self._frames.bytes_max = FRAME_BYTES_MAX
        self._reader, self._writer = reader, writer

    def arrivals(self) -> Iterator[bytes]:
        """The frames that have arrived, opened if they are sealed.

        Raises BrokenConnection at the first that is not as it was sent, and after the last frame of
        a stream that is at its end. The stream may be sealed between two frames.
        """
        self._frames.feed(self.stream.receive())
        while (frame := self._frames.take()) is not None:
            yield frame if self._reader is None else self._reader.opened(frame)
        if self.stream.is_at_end:
            raise BrokenConnection(self.stream.why)

    def send(self, body: bytes) -> None:
        """Hand over the body of a frame."""
        self.stream.send(framed(body if self._writer is None else self._writer.sealed(body)))

    def flush(self) -> None:
        """Send as much as the other side takes now; a poller sends the rest."""
        self.stream.flush()
