"""Lines cut for the reduces, and put back together after the sort."""

import io
from zlib import crc32

from hypothesis import event, given
from hypothesis import strategies as st

from sluice.engines.mapreduce.partition import Partitioner, partitions
from sluice.engines.mapreduce.splits import whole_lines

LINES = st.lists(
    st.one_of(st.binary(max_size=6), st.sampled_from([b"a\t1", b"0", b"\t", b"12\t0"])).map(
        lambda line: line.replace(b"\n", b"")
    ),
    max_size=30,
)


class Kept(io.BytesIO):
    """Still readable after it was closed."""

    def close(self):
        self.content = self.getvalue()


@given(LINES, st.integers(1, 13), st.integers(1, 40), st.integers(1, 40), st.booleans())
def test_each_line_comes_back_in_the_partition_of_its_key(
    lines, reduces, write_bytes, read_bytes, ended
):
    """However the bytes are cut on their way in and out."""
    if not ended and lines and not lines[-1]:
        lines = [*lines, b"end"]
    went = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    sink = Kept()
    partitioner = Partitioner(reduces, sink)
    for start in range(0, len(went), write_bytes):
        partitioner.write(went[start : start + write_bytes])
    partitioner.close()
    ordered = b"".join(line + b"\n" for line in sorted(sink.content.split(b"\n")[:-1]))
    chunks = (ordered[at : at + read_bytes] for at in range(0, len(ordered), read_bytes))
    came = {number: b"".join(run) for number, run in partitions(whole_lines(chunks), reduces)}

    expected: dict[int, list[bytes]] = {}
    for line in lines:
        number = crc32(line.partition(b"\t")[0]) % reduces
        expected.setdefault(number, []).append(line)
    assert {number: sorted(run.split(b"\n")[:-1]) for number, run in came.items()} == {
        number: sorted(run) for number, run in expected.items()
    }
    assert list(came) == sorted(came)
    event(f"partitions with lines: {len(came)}")
