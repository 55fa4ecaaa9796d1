"""Bytes over a socket, plain or through TLS, without ever waiting.

A poller can watch it like a channel: what cannot be sent at once is kept, and sent by `flush`. The
TLS handshake needs no care of its own; it happens while bytes are received and flushed. Source of
the TLS form: the documentation of Python's `ssl`, "Memory BIO Support".
"""

from __future__ import annotations

import os
import socket
import ssl

CHUNK_BYTES = 1 << 18
RECEIVE_BYTES_MAX = 1 << 22  # at one call, so that one stream does not hold up all others


class Stream:
    """One connected, or connecting, socket. It belongs to the stream.

    is_at_end: nothing more will arrive, for the reason `why`.
    """

    def __init__(
        self,
        connected: socket.socket,
        tls: ssl.SSLContext | None = None,
        *,
        server_name: str | None = None,
    ) -> None:
        """server_name: as the certificate must name the other side; None on the server's side."""
        connected.setblocking(False)  # noqa: FBT003  # the argument has no name
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self.read_fd: int | None = connected.fileno()
        # A poller waits for reading and for writing by two numbers.
        self.write_fd: int | None = os.dup(connected.fileno())
        self.is_at_end = False
        self.why = ""
        self._tls = _Tls(tls, server_name) if tls is not None else None
        self._unsent = bytearray(b"" if self._tls is None else self._tls.to_send())

    @property
    def own_host(self) -> str:
        """The address of this side, once it is connected."""
        return str(self._socket.getsockname()[0])

    @property
    def has_unsent(self) -> bool:
        """Whether `flush` has something to do."""
        return bool(self._unsent)

    def receive(self) -> bytes:
        """Return what has arrived; sets `is_at_end` when the other side is gone."""
        arrived = bytearray()
        while not self.is_at_end and len(arrived) < RECEIVE_BYTES_MAX:
            try:
                chunk = self._socket.recv(CHUNK_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                self._end(error.strerror or str(error))
                break
            if not chunk:
                self._end("the other side closed the connection")
            arrived += chunk
        return self._opened(bytes(arrived)) if self._tls is not None else bytes(arrived)

    def send(self, data: bytes) -> None:
        """Hand bytes over; `flush` sends them."""
        if self.is_at_end:
            return
        if self._tls is None:
            self._unsent += data
        else:
            self._tls.write(data)
            self._unsent += self._tls.to_send()

    def flush(self) -> None:
        while self._unsent and not self.is_at_end:
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            except OSError as error:
                self._end(error.strerror or str(error))
                return
            del self._unsent[:sent]

    def close(self) -> None:
        if self.read_fd is not None and self.write_fd is not None:
            os.close(self.write_fd)
            self._socket.close()
        self.read_fd = self.write_fd = None
        self._end("closed")

    def _opened(self, arrived: bytes) -> bytes:
        assert self._tls is not None
        try:
            plain = self._tls.read(arrived)
        except ssl.SSLError as error:
            plain = b""
            self._end(f"TLS: {getattr(error, 'verify_message', '') or error.reason or error}")
        self._unsent += self._tls.to_send()
        return plain

    def _end(self, why: str) -> None:
        self.why = self.why or why
        self.is_at_end = True
        self._unsent.clear()


class _Tls:
    """The TLS layer of one connection; the client's hello is ready to be sent at once."""

    def __init__(self, context: ssl.SSLContext, server_name: str | None) -> None:
        self._arrived, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._arrived,
            self._outgoing,
            server_side=server_name is None,
            server_hostname=server_name,
        )
        self._waiting = bytearray()  # plain bytes to send after the handshake
        self._is_ready = False
        self._shake_hands()

    def read(self, data: bytes) -> bytes:
        """The plain bytes in what has arrived. Raises ssl.SSLError."""
        self._arrived.write(data)
        if not self._is_ready:
            self._shake_hands()
        plain = bytearray()
        try:
            while self._is_ready and (chunk := self._object.read(CHUNK_BYTES)):
                plain += chunk
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass  # no more yet, or never; the socket shows which
        return bytes(plain)

    def write(self, data: bytes) -> None:
        """Plain bytes to send; they wait for the end of the handshake."""
        self._waiting += data
        if self._is_ready:
            written = 0
            while written < len(self._waiting):  # a call takes no more than one record
                written += self._object.write(self._waiting[written : written + CHUNK_BYTES])
            self._waiting.clear()

    def to_send(self) -> bytes:
        """Return what the socket is to send now."""
        return self._outgoing.read()

    def _shake_hands(self) -> None:
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        self._is_ready = True
        if self._waiting:
            self.write(b"")
