"""Avro's binary encoding, against a writer of our own, and against schemas made to hurt."""

import itertools
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.logs.hadoop_avro import binary_events
from sluice.ingest.logs.hadoop_values import Members, Unreadable

INNER = {"type": "record", "name": "Inner", "fields": [{"name": "n", "type": "long"}]}
SCHEMA = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "size", "type": "long"},
        {"name": "share", "type": "double"},
        {"name": "is_big", "type": "boolean"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "inner", "type": INNER},
        {"name": "numbers", "type": {"type": "array", "items": "int"}},
        {"name": "more", "type": {"type": "map", "values": "Inner"}},
    ],
}

longs = st.integers(-(2**63), 2**63 - 1)
inners = st.fixed_dictionaries({"n": longs})
events = st.fixed_dictionaries(
    {
        "kind": st.sampled_from("AB"),
        "size": longs,
        "share": st.floats(allow_nan=False),
        "is_big": st.booleans(),
        "text": st.none() | st.text(),
        "inner": inners,
        "numbers": st.lists(st.integers(-(2**31), 2**31 - 1)),
        "more": st.dictionaries(st.text(), inners),
    }
)


def long(number: int) -> bytes:
    """Zigzag, then seven bits a byte, the last without the high bit."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def text(words: str) -> bytes:
    content = words.encode("utf-8", "replace")
    return long(len(content)) + content


def blocks(items: list[bytes]) -> bytes:
    """Two blocks where there are several items, the second with its length shown before it."""
    first, second = items[:1], items[1:]
    found = long(len(first)) + b"".join(first) if first else b""
    if second:
        found += long(-len(second)) + long(len(b"".join(second))) + b"".join(second)
    return found + long(0)


def encoded(event) -> bytes:
    return b"".join(
        (
            long("AB".index(event["kind"])),
            long(event["size"]),
            struct.pack("<d", event["share"]),
            bytes([event["is_big"]]),
            long(0) if event["text"] is None else long(1) + text(event["text"]),
            long(event["inner"]["n"]),
            blocks([long(number) for number in event["numbers"]]),
            blocks([text(key) + long(inner["n"]) for key, inner in event["more"].items()]),
        )
    )


def file_of(schema: object, content: bytes) -> bytes:
    return b"Avro-Binary\n" + json.dumps(schema).encode() + b"\n" + content


def read(content: bytes, size: int) -> list[Members]:
    return list(binary_events(content[at : at + size] for at in range(0, len(content), size)))


@given(st.lists(events, max_size=5), st.integers(1, 100))
def test_events_come_back_however_the_bytes_are_cut_into_chunks(said, size):
    content = file_of(SCHEMA, b"".join(encoded(event) for event in said))

    assert read(content, size) == said


@given(st.lists(events, min_size=1, max_size=3), st.data())
def test_what_comes_before_the_cut_is_read(said, data):
    parts = [encoded(event) for event in said]
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    ends = list(itertools.accumulate(len(part) for part in parts))
    found = []
    try:
        for event in binary_events(iter([file_of(SCHEMA, whole[:cut])])):
            found.append(event)  # noqa: PERF402  # those before the error count
    except Unreadable:
        assert cut not in (0, *ends)
    else:
        assert cut in (0, *ends)
    assert found == said[: sum(end <= cut for end in ends)]


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_any_bytes_are_events_or_unreadable(schema, content):
    try:
        list(binary_events(iter([b"Avro-Binary\n", schema, b"\n", content])))
    except Unreadable as error:
        reason = str(error)
    else:
        return
    assert reason


@given(st.binary(max_size=2000))
def test_any_bytes_behind_a_good_schema_are_events_or_unreadable(content):
    try:
        found = read(file_of(SCHEMA, content), 1000)
    except Unreadable:
        return
    assert all(set(event) == {field["name"] for field in SCHEMA["fields"]} for event in found)


def nested(levels: int) -> object:
    return {"type": "array", "items": nested(levels - 1)} if levels else "long"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]},
        {"type": "array", "items": "null"},
        {"type": "array", "items": {"type": "record", "name": "A", "fields": []}},
        {"type": "map", "values": "Nobody"},
        {"type": "fixed", "name": "F", "size": 0},
        nested(40),
        [],
        7,
        None,
    ],
)
def test_a_schema_made_to_hurt_is_refused(schema):
    """Of itself without end, or with values of no byte, of which a few bytes hold billions."""
    with pytest.raises(Unreadable):
        list(binary_events(iter([file_of(schema, long(10**12) * 3)])))
