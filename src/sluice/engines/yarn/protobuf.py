"""The wire format of Protocol Buffers, as far as Hadoop's messages need it.

A message is a list of fields; a field is its number and its kind, and then a variable-length
number, eight bytes, four bytes, or so many bytes. What arrives is checked: a length beyond the end,
or a kind that does not exist, raises BadMessage. Source: the Protocol Buffers encoding guide.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

VARINT_BYTES_MAX = 10
_BITS_64 = (1 << 64) - 1
_SEVEN_BITS, _MORE = 0x7F, 0x80
_VARINT, _EIGHT_BYTES, _COUNTED, _FOUR_BYTES = 0, 1, 2, 5  # the kinds of fields

Value: TypeAlias = "int | float | str | bytes | Fields | None"
Fields: TypeAlias = "Sequence[tuple[int, Value]]"


class BadMessage(ValueError):
    """Bytes that are not a message."""


def varint(number: int) -> bytes:
    """A number in groups of seven bits, least significant first; negative ones as 64 bits.

    >>> varint(300).hex(), len(varint(-1))
    ('ac02', 10)
    """
    number &= _BITS_64
    out = bytearray()
    while number > _SEVEN_BITS:
        out.append(number & _SEVEN_BITS | _MORE)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int) -> int:
    """A signed number of 32 bits as `sint32` fields hold it.

    >>> zigzag(0), zigzag(-1), zigzag(1), zigzag(-33)
    (0, 1, 2, 65)
    """
    return (number << 1) ^ (number >> 31)


def encoded(fields: Fields) -> bytes:
    """The bytes of a message. A field whose value is None is left out.

    Numbers become varints, floats four bytes, lists messages.

    >>> encoded([(1, 150), (2, "hi"), (3, [(1, True)]), (4, None)]).hex(" ")
    '08 96 01 12 02 68 69 1a 02 08 01'
    """
    out = bytearray()
    for number, value in fields:
        if value is None:
            continue
        if isinstance(value, float):
            out += varint(number << 3 | _FOUR_BYTES) + struct.pack("<f", value)
        elif isinstance(value, int):
            out += varint(number << 3 | _VARINT) + varint(value)
        else:
            body = _body(value)
            out += varint(number << 3 | _COUNTED) + varint(len(body)) + body
    return bytes(out)


def delimited(fields: Fields) -> bytes:
    """A message after its length."""
    body = encoded(fields)
    return varint(len(body)) + body


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at an index, and the index after it. Raises BadMessage."""
    number = 0
    for index in range(VARINT_BYTES_MAX):
        if at + index >= len(data):
            raise BadMessage("a number is cut off")
        byte = data[at + index]
        number |= (byte & _SEVEN_BITS) << 7 * index
        if not byte & _MORE:
            return number & _BITS_64, at + index + 1
    raise BadMessage(f"a number of more than {VARINT_BYTES_MAX} bytes")


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Return what follows its length, and the index after it. Raises BadMessage."""
    length, at = read_varint(data, at)
    return _cut(data, at, length), at + length


class Message:
    """A message that arrived. A field that is not there has an empty value, or 0.

    >>> said = Message(encoded([(1, -100), (2, "hi"), (2, "ho"), (3, [(1, 7)])]))
    >>> said.number(1), said.text(2), said.texts(2), said.message(3).number(1), said.number(9)
    (-100, 'ho', ['hi', 'ho'], 7, 0)
    """

    def __init__(self, data: bytes) -> None:
        self._numbers: dict[int, int] = {}
        self._bytes: dict[int, list[bytes]] = {}
        at = 0
        while at < len(data):
            tag, at = read_varint(data, at)
            number, kind = tag >> 3, tag & 7
            if kind == _VARINT:
                self._numbers[number], at = read_varint(data, at)
                continue
            if kind == _COUNTED:
                value, at = read_bytes(data, at)
            elif kind in {_EIGHT_BYTES, _FOUR_BYTES}:
                size = 8 if kind == _EIGHT_BYTES else 4
                value = _cut(data, at, size)
                at += size
            else:
                raise BadMessage(f"field {number} is of kind {kind}")
            self._bytes.setdefault(number, []).append(value)

    def number(self, field: int, default: int = 0) -> int:
        """A whole number, signed."""
        value = self._numbers.get(field)
        if value is None:
            return default
        return value - (1 << 64) if value >> 63 else value

    def all_bytes(self, field: int) -> list[bytes]:
        """The values of a repeated field."""
        return self._bytes.get(field, [])

    def bytes(self, field: int) -> bytes:
        """The value of a field; of several, the last."""
        found = self.all_bytes(field)
        return found[-1] if found else b""

    def text(self, field: int) -> str:
        """A text; what is not UTF-8 in it is replaced."""
        return self.bytes(field).decode(errors="replace")

    def texts(self, field: int) -> list[str]:
        """The texts of a repeated field."""
        return [value.decode(errors="replace") for value in self.all_bytes(field)]

    def message(self, field: int) -> Message:
        """A message within it. Raises BadMessage."""
        return Message(self.bytes(field))

    def messages(self, field: int) -> list[Message]:
        """The messages of a repeated field. Raises BadMessage."""
        return [Message(value) for value in self.all_bytes(field)]


def _body(value: str | bytes | Fields) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else encoded(value)


def _cut(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise BadMessage(f"{length} bytes are announced, and {len(data) - at} are there")
    return data[at : at + length]
