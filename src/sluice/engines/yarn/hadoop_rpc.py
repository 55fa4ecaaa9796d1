"""Hadoop RPC, version 9: one connection to one protocol of a Hadoop daemon.

It begins with `hrpc`, the version and how to authenticate; then with a token a SASL talk follows,
and then what the connection is for. Each call is a length, a header, what is called, and a message;
each answer a length, a header, and a message. Calls are made one at a time. Source: Hadoop's
`RpcHeader.proto` and `ProtobufRpcEngine.proto`; the call id is a signed number (YARN spec, 7.6).
"""

from __future__ import annotations

import contextlib
import socket
import struct
import uuid

from sluice.engines.yarn.credentials import Token
from sluice.engines.yarn.digest_md5 import Digest, DigestRefused
from sluice.engines.yarn.protobuf import (
    BadMessage,
    Fields,
    Message,
    delimited,
    encoded,
    read_bytes,
    varint,
    zigzag,
)

VERSION = 9
ANSWER_BYTES_MAX = 1 << 26
TIMEOUT_S = 20.0

_WITH_SASL, _WITHOUT = 0xDF, 0
_CONTEXT_CALL, _SASL_CALL = -3, -33
_PROTOBUF, _FINAL_PACKET = 2, 0
_SUCCESS, _NEGOTIATE, _INITIATE = 0, 1, 2


class RpcFault(Exception):
    """The daemon answered with an exception. kind: the name of its Java class."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind.rpartition('.')[2]}: {(text.splitlines() or [''])[0]}")
        self.kind = kind


class HadoopConnection:
    """Calls one protocol, as the holder of `token`. Raises OSError, RpcFault or BadMessage."""

    def __init__(self, address: tuple[str, int], protocol: str, token: Token) -> None:
        self._protocol = protocol
        self._client_id = uuid.uuid4().bytes
        self._calls = 0
        self._socket = socket.create_connection(address, TIMEOUT_S)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(b"hrpc" + bytes([VERSION, 0, _WITH_SASL]))
            self._authenticate(token)
            self._send(self._header(_CONTEXT_CALL), encoded([(3, protocol)]))
        except BaseException:
            self.close()
            raise

    @property
    def own_host(self) -> str:
        """The address of this side."""
        host: str = self._socket.getsockname()[0]
        return host

    def call(self, method: str, request: Fields) -> Message:
        """The answer to a request. Raises OSError, RpcFault or BadMessage."""
        called = delimited([(1, method), (2, self._protocol), (3, 1)])
        self._send(self._header(self._calls), encoded(request), called)
        self._calls += 1
        return self._answer()

    def close(self) -> None:
        """Close the connection; may be called again."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _header(self, call: int) -> bytes:
        retries = -1 if call < 0 else 0
        client = b"" if call == _SASL_CALL else self._client_id
        return encoded(
            [
                (1, _PROTOBUF),
                (2, _FINAL_PACKET),
                (3, zigzag(call)),
                (4, client),
                (5, zigzag(retries)),
            ]
        )

    def _send(self, header: bytes, body: bytes, called: bytes = b"") -> None:
        content = varint(len(header)) + header + called + varint(len(body)) + body
        self._socket.sendall(struct.pack(">I", len(content)) + content)

    def _answer(self) -> Message:
        (length,) = struct.unpack(">I", self._receive(4))
        if length > ANSWER_BYTES_MAX:
            raise BadMessage(f"an answer of {length} bytes")
        data = self._receive(length)
        header, at = read_bytes(data, 0)
        said = Message(header)
        if said.number(2) != _SUCCESS:
            raise RpcFault(said.text(4), said.text(5))
        return Message(read_bytes(data, at)[0] if at < len(data) else b"")

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            chunk = self._socket.recv(min(count - len(data), 1 << 16))
            if not chunk:
                raise ConnectionError("the other side closed the connection")
            data += chunk
        return bytes(data)

    def _authenticate(self, token: Token) -> None:
        self._send(self._header(_SASL_CALL), encoded([(1, 0), (2, _NEGOTIATE)]))
        way = next((one for one in self._answer().messages(4) if one.text(1) == "TOKEN"), None)
        if way is None:
            raise BadMessage("the daemon takes no tokens: is it one of another cluster?")
        mechanism, protocol, server = way.text(2), way.text(3), way.text(4)
        try:
            digest = Digest.of_token(
                token.identifier, token.password, way.text(5), f"{protocol}/{server or 'default'}"
            )
            chosen: Fields = [(1, "TOKEN"), (2, mechanism), (3, protocol), (4, server)]
            response = digest.response().encode()
            self._send(
                self._header(_SASL_CALL),
                encoded([(1, 0), (2, _INITIATE), (3, response), (4, chosen)]),
            )
            digest.check(self._answer().text(3))
        except DigestRefused as error:
            raise BadMessage(str(error)) from error
