"""JSON lines between processes, however they are cut on the way."""

import math
import os
import socket
import time

from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.agent.channel import SOON_S, Channel, parsed

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.lists(st.dictionaries(st.text(), values, max_size=3), max_size=5), st.integers(1, 50))
def test_messages_arrive_whole_and_in_order_however_they_are_cut(messages, chunk_bytes):
    raw_read_fd, raw_write_fd = os.pipe()
    sender = Channel(None, raw_write_fd)
    for message in messages:
        sender.send(message)
    wire = bytes(sender._unsent)
    receiver = Channel(raw_read_fd, None)
    arrived = []
    for start in range(0, len(wire), chunk_bytes):
        os.write(raw_write_fd, wire[start : start + chunk_bytes])
        arrived += [parsed(line) for line in receiver.lines()]
    sender.close()

    assert arrived == messages
    assert receiver.lines() == []
    assert receiver.is_at_end
    receiver.close()


def test_what_a_slow_reader_does_not_take_waits_and_loses_nothing():
    read_fd, write_fd = os.pipe()
    sender, receiver = Channel(None, write_fd), Channel(read_fd, None)
    for number in range(2000):
        sender.send({"number": number, "padding": "x" * 100})
    sender.flush()
    assert sender.has_unsent  # more than a pipe holds
    arrived: list[int] = []
    while len(arrived) < 2000:
        arrived += [parsed(line)["number"] for line in receiver.lines()]
        sender.flush()

    assert arrived == list(range(2000))
    sender.close()
    receiver.close()


def test_a_message_that_may_wait_travels_with_the_next_one_or_by_itself_soon():
    read_fd, write_fd = os.pipe()
    sender, receiver = Channel(None, write_fd), Channel(read_fd, None)
    has_unsent = []
    for number, send in enumerate((sender.send_soon, sender.send, sender.send_soon)):
        send({"number": number})
        has_unsent.append(sender.has_unsent)
    assert has_unsent == [False, True, True]  # the last waits no longer than what it follows
    sender.flush()
    assert [parsed(line)["number"] for line in receiver.lines()] == [0, 1, 2]
    assert sender.due_at_s == math.inf

    sender.send_soon({"number": 3})
    time.sleep(SOON_S)
    assert sender.has_unsent
    sender.flush()
    assert [parsed(line)["number"] for line in receiver.lines()] == [3]
    sender.close()
    receiver.close()


def test_sending_to_nobody_is_no_error():
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    sender = Channel(None, write_fd)
    sender.send({"any": "thing"})
    sender.flush()

    assert not sender.has_unsent
    sender.close()


def test_a_line_that_is_no_message_is_an_empty_one():
    assert [{}, {}, {}] == [parsed(line) for line in (b"", b"no json", b"[1]")]


def test_the_reset_of_a_socket_is_its_end():
    here, there = socket.socketpair()
    here.send(b"never read")
    there.close()
    receiver = Channel(here.detach(), None)

    assert receiver.lines() == []
    assert receiver.is_at_end
    receiver.close()
