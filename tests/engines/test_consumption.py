"""Progress is input that was consumed: not what was read ahead, and nothing else that was read.

Bytes that wait in the pipe, a line that is still worked on, and files that an interpreter reads as
it starts do not count.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.mapreduce.consumption import (
    ConsumedLines,
    PipedBytes,
    lines_of,
    pipe_inode,
    written_bytes,
)

PATIENCE_S = 60.0
# Takes that many bytes when it is shown to by a line on another pipe, and says so.
READER = """
import os, sys
for line in open(int(sys.argv[1])):
    os.read(0, int(line))
    print(flush=True)
"""


@given(st.lists(st.lists(st.binary(max_size=5), min_size=1), max_size=5))
def test_lines_come_out_as_they_are_and_the_one_that_is_worked_on_is_not_consumed(contents):
    blocks = [b"".join(b.replace(b"\n", b"") + b"\n" for b in block) for block in contents]
    meter = ConsumedLines()
    seen, consumed = [], []
    for line in meter.lines(blocks, lines_of):
        consumed.append(meter.consumed_bytes)
        seen.append(line)

    assert b"".join(blocks) == b"".join(seen)
    assert float(sum(map(len, blocks))) == meter.consumed_bytes
    assert consumed == sorted(consumed)
    if seen:
        assert 0.0 == consumed[0]
        assert consumed[-1] < meter.consumed_bytes


def reader_of(pipe_fd, orders_fd):
    return subprocess.Popen(
        [sys.executable, "-c", READER, str(orders_fd)],
        stdin=pipe_fd, stdout=subprocess.PIPE, pass_fds=[orders_fd],
    )  # fmt: skip


def test_bytes_that_wait_in_the_pipe_are_not_consumed():
    """Nor are those of the interpreter, which reads a hundred times as many when it starts."""
    (orders, order), (pipe, write) = os.pipe(), os.pipe()
    process = reader_of(pipe, orders)
    with os.fdopen(write, "wb", 0) as out, os.fdopen(order, "wb", 0) as say:
        inode = pipe_inode(out)
        os.close(pipe)
        os.close(orders)
        out.write(b"x" * 1000)
        meter = PipedBytes(process, inode, lambda: 1000)
        found = [meter.consumed_bytes]
        for size in (100, 300):
            say.write(b"%d\n" % size)
            assert process.stdout.readline()
            found.append(meter.consumed_bytes)
    process.communicate(timeout=PATIENCE_S)

    assert [0, 100, 400] == found
    assert 400 == meter.consumed_bytes, "it has ended, and keeps what it had"


def test_another_pipe_at_the_place_of_the_first_is_not_measured():
    (orders, order), (pipe, write) = os.pipe(), os.pipe()
    process = reader_of(pipe, orders)
    meter = PipedBytes(process, 1, lambda: 1000)
    found = meter.consumed_bytes
    for descriptor in (orders, order, pipe, write):
        os.close(descriptor)
    process.communicate(timeout=PATIENCE_S)

    assert 0 == found


def test_what_a_process_has_written_is_all_when_it_has_ended(tmp_path):
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=out)
        process.stdin.write(b"x" * 500)
        process.stdin.flush()
        until_s = time.monotonic() + PATIENCE_S
        while (found := written_bytes(process, 1000)) < 500 and time.monotonic() < until_s:
            time.sleep(0.01)
        process.communicate(timeout=PATIENCE_S)

    assert 500 == found
    assert 1000 == written_bytes(process, 1000)


@pytest.mark.parametrize("stream", [None, "closed", "file"])
def test_only_a_pipe_has_the_inode_of_a_pipe(stream, tmp_path):
    if stream is not None:
        stream = (tmp_path / "file").open("wb")
    with stream or Path(os.devnull).open() as file:
        assert pipe_inode(stream) is None
    assert pipe_inode(file) is None
