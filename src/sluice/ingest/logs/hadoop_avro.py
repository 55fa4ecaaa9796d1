"""Avro's binary encoding of job histories, as Hadoop 3 writes them by default.

The file holds a line `Avro-Binary`, a line with the schema in JSON, and the events one after the
other without anything between them. So the schema decides how long an event is, and after a damaged
byte reading cannot synchronise again: what comes before it counts.

A reader is made of the schema once: a function of the bytes and a place in them, which gives the
value and the place behind it. It raises IndexError where the bytes end too early, upon which more
are fetched and the event is read again. The schema is foreign too: it may not refer to itself, nor
have values that take no byte, or a few bytes could encode endless lists.

Source of the encoding: the Apache Avro specification 1.11, "Binary Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from sluice.ingest.logs.hadoop_values import Members, Unreadable, items, json_value, members

HEADER = b"Avro-Binary"
_SCHEMA_BYTES_MAX = 1024 * 1024
_FETCHED_BYTES = 1024 * 1024
_EVENT_BYTES_MAX = (
    4 * 1024 * 1024
)  # the largest describe why a task failed: some ten thousand bytes
_LEVELS_MAX = 30
_VARINT_BITS_MAX = 70

Reader = Callable[[bytes, int], tuple[Any, int]]


def binary_events(chunks: Iterator[bytes]) -> Iterator[Members]:
    """The events of a history, its two header lines among the chunks.

    Raises Unreadable where they go no further; what came before is good.
    """
    data = _Window(chunks)
    _line(data, len(HEADER) + 2)
    read = _reader(json_value(_line(data, _SCHEMA_BYTES_MAX)), {}, 0)
    while data.fetch(1):
        yield members(_event(data, read))


def _event(data: _Window, read: Reader) -> object:
    """The next event, however many bytes it takes."""
    wanted = _FETCHED_BYTES
    while True:
        try:
            event, data.at = read(data.held, data.at)
        except IndexError:
            if wanted > _EVENT_BYTES_MAX or not data.fetch(wanted):
                raise Unreadable("the history ends within an event, or is damaged") from None
            wanted *= 2
        else:
            return event


class _Window:
    """The bytes that are held, and the place that reading has come to."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.held = b""
        self.at = 0

    def fetch(self, size: int) -> bool:
        """Hold at least so many bytes from here on; False where there are no more to be had."""
        if len(self.held) - self.at >= size:
            return True
        parts, held = [self.held[self.at :]], len(self.held) - self.at
        before = held
        for chunk in self._chunks:
            parts.append(chunk)
            held += len(chunk)
            if held >= size:
                break
        self.held, self.at = b"".join(parts), 0
        return held > before


def _line(data: _Window, most: int) -> bytes:
    data.fetch(most)
    end = data.held.find(b"\n", data.at, data.at + most)
    if end < 0:
        raise Unreadable("no schema in its second line")
    line, data.at = data.held[data.at : end], end + 1
    return line


def _reader(schema: object, known: dict[str, Reader | None], level: int) -> Reader:
    """Return what reads a value of a schema; known: named types, None while they are being made."""
    if level > _LEVELS_MAX:
        raise Unreadable("its schema is nested too deep")
    if isinstance(schema, list):
        return _union([_branch(one, known, level + 1) for one in schema])
    kind = schema.get("type") if isinstance(schema, dict) else schema
    if isinstance(kind, dict | list):
        return _reader(kind, known, level + 1)
    if isinstance(kind, str) and kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(schema, dict) and kind in _MADE:
        return _MADE[kind](schema, known, level + 1)
    found = known.get(str(kind))
    if found is None:
        raise Unreadable(f"its schema has an unknown type {str(kind)[:60]!r}")
    return found


def _branch(schema: object, known: dict[str, Reader | None], level: int) -> Reader:
    return _nothing if schema == "null" else _reader(schema, known, level)


def _nothing(data: bytes, at: int) -> tuple[None, int]:  # noqa: ARG001  # a reader takes the bytes
    return None, at


def _long(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    number, shift = byte & 0x7F, 7
    while byte & 0x80:
        if shift > _VARINT_BITS_MAX:
            raise Unreadable("a number without end")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _long(data, at)
    if size < 0:
        raise Unreadable("a text of negative length")
    if at + size > len(data):
        raise IndexError
    return data[at : at + size], at + size


def _string(data: bytes, at: int) -> tuple[str, int]:
    found, at = _bytes(data, at)
    return found.decode("utf-8", "replace"), at


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] == 1, at + 1


def _floating(size: int, layout: str) -> Reader:
    def read(data: bytes, at: int) -> tuple[float, int]:
        if at + size > len(data):
            raise IndexError
        return struct.unpack_from(layout, data, at)[0], at + size

    return read


_PLAIN: dict[str, Reader] = {
    "boolean": _boolean,
    "bytes": _bytes,
    "double": _floating(8, "<d"),
    "float": _floating(4, "<f"),
    "int": _long,
    "long": _long,
    "string": _string,
}


def _union(branches: list[Reader]) -> Reader:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = _long(data, at)
        if not 0 <= index < len(branches):
            raise Unreadable("a value of no type that its schema knows")
        return branches[index](data, at)

    return read


def _record(schema: Members, known: dict[str, Reader | None], level: int) -> Reader:
    name = str(schema.get("name"))
    known[name] = None
    fields = [
        (str(members(one).get("name")), _reader(members(one).get("type"), known, level))
        for one in items(schema.get("fields"))
    ]
    if not fields:
        raise Unreadable("its schema has a record without fields")

    def read(data: bytes, at: int) -> tuple[Members, int]:
        found = {}
        for field, read_field in fields:
            found[field], at = read_field(data, at)
        return found, at

    known[name] = read
    return read


def _enum(schema: Members, known: dict[str, Reader | None], level: int) -> Reader:  # noqa: ARG001  # it has no inner types
    symbols = [str(one) for one in items(schema.get("symbols"))]

    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = _long(data, at)
        if not 0 <= index < len(symbols):
            raise Unreadable("a word that its schema does not know")
        return symbols[index], at

    known[str(schema.get("name"))] = read
    return read


def _array(schema: Members, known: dict[str, Reader | None], level: int) -> Reader:
    read_item = _reader(schema.get("items"), known, level)

    def read(data: bytes, at: int) -> tuple[list[Any], int]:
        found = []
        count, at = _block(data, at)
        while count:
            for _ in range(count):
                item, at = read_item(data, at)
                found.append(item)
            count, at = _block(data, at)
        return found, at

    return read


def _map(schema: Members, known: dict[str, Reader | None], level: int) -> Reader:
    read_value = _reader(schema.get("values"), known, level)

    def read(data: bytes, at: int) -> tuple[Members, int]:
        found = {}
        count, at = _block(data, at)
        while count:
            for _ in range(count):
                key, at = _string(data, at)
                found[key], at = read_value(data, at)
            count, at = _block(data, at)
        return found, at

    return read


def _block(data: bytes, at: int) -> tuple[int, int]:
    """How many items follow; a negative count has its length in bytes behind it."""
    count, at = _long(data, at)
    if count < 0:
        _, at = _long(data, at)
    return abs(count), at


_MADE: dict[str, Callable[[Members, dict[str, Reader | None], int], Reader]] = {
    "array": _array,
    "enum": _enum,
    "map": _map,
    "record": _record,
}
