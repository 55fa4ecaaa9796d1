"""Frames and seals: what was sent is what arrives, or the connection breaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.cluster.wire import BrokenConnection, Frames, Seal, framed

BODIES = st.lists(st.binary(max_size=300), max_size=12)


def cut(data, sizes):
    """The data in pieces of these sizes, and the rest."""
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


def taken(frames):
    found = []
    while (frame := frames.take()) is not None:
        found.append(frame)
    return found


@given(BODIES, st.lists(st.integers(0, 100), max_size=40))
def test_frames_arrive_whole_however_the_stream_is_cut(bodies, sizes):
    frames, found = Frames(300), []
    for piece in cut(b"".join(map(framed, bodies)), sizes):
        frames.feed(piece)
        found += taken(frames)

    assert found == bodies


def test_a_frame_that_is_too_long_breaks_the_connection_before_it_is_read():
    frames = Frames(10)
    frames.feed(framed(bytes(10)) + b"\xff\xff\xff\xff")

    assert frames.take() == bytes(10)
    with pytest.raises(BrokenConnection, match="a frame of 4294967295 bytes; 10 is the most"):
        frames.take()


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=6), st.data())
def test_a_sealed_stream_is_read_as_it_was_written_or_not_at_all(bodies, data):
    writer, reader = Seal(b"key"), Seal(b"key")
    sent = [writer.sealed(body) for body in bodies]
    fault = data.draw(st.sampled_from(["none", "flip", "repeat", "drop", "swap"]))
    at = data.draw(st.integers(0, len(sent) - 1))
    received = list(sent)
    if fault == "flip":
        bit = data.draw(st.integers(0, 8 * len(sent[at]) - 1))
        changed = bytearray(sent[at])
        changed[bit // 8] ^= 1 << bit % 8
        received[at] = bytes(changed)
    elif fault == "repeat":
        received.insert(at, sent[at])
    elif fault == "drop":
        del received[at]
    elif fault == "swap":
        received[at], received[-1] = received[-1], received[at]
    opened: list[bytes] = []
    try:
        opened.extend(map(reader.opened, received))
    except BrokenConnection:
        assert received != sent

    assert opened == bodies[: len(opened)]
    if received == sent:
        assert opened == bodies


@pytest.mark.parametrize("frame", [b"", b"short", bytes(16), bytes(40)])
def test_nonsense_is_not_opened(frame):
    with pytest.raises(BrokenConnection, match="changed on the way"):
        Seal(b"key").opened(frame)


def test_a_frame_of_another_direction_fits_nowhere():
    with pytest.raises(BrokenConnection):
        Seal(b"to the driver").opened(Seal(b"to the node").sealed(b"kill"))
