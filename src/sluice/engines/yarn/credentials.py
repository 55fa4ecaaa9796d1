"""The file of tokens and secrets that YARN puts into each container.

Two versions exist: Hadoop's own binary form (0), which is also what a launch context carries, and
one of Protocol Buffers (1). Source: Hadoop's `Credentials`, `Token` and `WritableUtils`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from sluice.engines.yarn.protobuf import BadMessage, Message, read_bytes

MAGIC = b"HDTS"
_WRITABLES, _PROTOBUF = 0, 1  # the versions, in the byte after it
_BODY = len(MAGIC) + 1
FILE_VARIABLE = "HADOOP_TOKEN_FILE_LOCATION"
AM_RM_TOKEN = "YARN_AM_RM_TOKEN"  # noqa: S105  # the name of a kind
_IN_ONE_BYTE = 127  # of Hadoop's variable-length numbers; a first byte below these says how
_COUNTS_FROM, _NEGATIVE_FROM = -112, -120  # many bytes follow, of a positive or negative number
FILE_BYTES_MAX = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The proof to a service of who asks. service: where it is accepted, `address:port`."""

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Tokens in their order, and secrets by name."""

    tokens: tuple[Token, ...] = ()
    secrets: dict[str, bytes] = field(default_factory=dict, repr=False)

    def token(self, kind: str) -> Token:
        """The first token of a kind. Raises BadMessage."""
        for token in self.tokens:
            if token.kind == kind:
                return token
        raise BadMessage(f"there is no {kind} in the container's credentials")


def own_credentials() -> Credentials:
    """Those of the container that this process runs in. Raises OSError or BadMessage."""
    path = os.environ.get(FILE_VARIABLE)
    if path is None:
        raise BadMessage(f"{FILE_VARIABLE} is not set: this is no container of YARN")
    with Path(path).open("rb") as file:
        return read_credentials(file.read(FILE_BYTES_MAX))


def read_credentials(data: bytes) -> Credentials:
    """The credentials in the bytes of a file. Raises BadMessage."""
    if data.startswith(MAGIC + bytes([_PROTOBUF])):
        return _of_protobuf(data)
    if data.startswith(MAGIC + bytes([_WRITABLES])):
        return _of_writables(data)
    raise BadMessage("it is not a file of Hadoop credentials")


def secret_credentials(name: str, secret: bytes) -> bytes:
    """Credentials that hold one secret, as a launch context takes them.

    >>> read_credentials(secret_credentials("run", b"x" * 200)).secrets["run"] == b"x" * 200
    True
    """
    return (
        MAGIC
        + bytes([_WRITABLES])
        + _vint(0)
        + _vint(1)
        + _counted(name.encode())
        + _counted(secret)
    )


def _of_protobuf(data: bytes) -> Credentials:
    body, _ = read_bytes(data, _BODY)
    said = Message(body)
    return Credentials(
        tokens=tuple(token_of(each.message(2)) for each in said.messages(1)),
        secrets={each.text(1): each.bytes(3) for each in said.messages(2)},
    )


def token_of(said: Message) -> Token:
    """The token in a `TokenProto`."""
    return Token(
        identifier=said.bytes(1), password=said.bytes(2), kind=said.text(3), service=said.text(4)
    )


def _of_writables(data: bytes) -> Credentials:
    reader = _Writables(data, _BODY)
    tokens = []
    for _ in range(reader.number()):
        reader.counted()  # the alias
        identifier, password = reader.counted(), reader.counted()
        kind, service = reader.text(), reader.text()
        tokens.append(Token(identifier=identifier, password=password, kind=kind, service=service))
    secrets = {reader.text(): reader.counted() for _ in range(reader.number())}
    return Credentials(tokens=tuple(tokens), secrets=secrets)


class _Writables:
    """Reads numbers, and bytes after their number, one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def number(self) -> int:
        """Hadoop's variable-length number: itself in one byte, or how many bytes follow."""
        first = int.from_bytes(self._take(1), signed=True)
        if first >= _COUNTS_FROM:
            return first
        is_negative = first < _NEGATIVE_FROM
        value = int.from_bytes(
            self._take((_NEGATIVE_FROM if is_negative else _COUNTS_FROM) - first)
        )
        return ~value if is_negative else value

    def counted(self) -> bytes:
        """Bytes after their number."""
        return self._take(self.number())

    def text(self) -> str:
        """A text after the number of its bytes."""
        return self.counted().decode(errors="replace")

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data) - self._at:
            raise BadMessage(f"{count} bytes are announced, and fewer are there")
        self._at += count
        return self._data[self._at - count : self._at]


def _vint(number: int) -> bytes:
    if number <= _IN_ONE_BYTE:
        return bytes([number])
    body = number.to_bytes((number.bit_length() + 7) // 8)
    return (_COUNTS_FROM - len(body)).to_bytes(1, signed=True) + body


def _counted(data: bytes) -> bytes:
    return _vint(len(data)) + data
