"""Cutting files into splits, and the lines that each split owns."""

from hypothesis import event, example, given
from hypothesis import strategies as st

from sluice.engines.mapreduce import splits
from sluice.engines.mapreduce.fingerprints import InputVersion
from sluice.engines.mapreduce.splits import blocks, cut, whole_lines

LINES = st.lists(
    st.one_of(
        st.binary(max_size=5), st.sampled_from([b"", b"\r", b"\0\xff", b"long " * 9]), st.just(b"x")
    ),
    max_size=12,
)


@given(LINES, st.booleans(), st.integers(1, 70), st.integers(1, 9))
@example([b"a", b"b"], True, 2, 1)
def test_every_line_is_owned_by_exactly_the_split_that_it_starts_in(
    tmp_path_factory, lines, ended, split_bytes, scan_bytes
):
    """The classic rule, for any bytes, line ends and split sizes."""
    content = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    path = tmp_path_factory.mktemp("splits") / "file"
    path.write_bytes(content)
    splits.SCAN_BYTES, splits.BLOCK_BYTES = scan_bytes, scan_bytes
    try:
        ranges = list(cut(InputVersion.of(str(path), path.stat()), split_bytes))
        read = [b"".join(blocks(split)) for split in ranges]
    finally:
        splits.SCAN_BYTES, splits.BLOCK_BYTES = 1 << 16, 1 << 20

    assert read == [owned(content, split.start, split.end) for split in ranges]
    assert b"".join(read) == content
    event(f"some split owns nothing: {b'' in read}")


def owned(content, start, end):
    """The same rule, applied line by line."""
    position, mine = 0, []
    for line in lines_of(content):
        if start <= position < end:
            mine.append(line)
        position += len(line)
    return b"".join(mine)


def lines_of(content):
    """Lines with their ends, where only a newline ends one."""
    return [line + b"\n" for line in content.split(b"\n")[:-1]] + [content.rpartition(b"\n")[2]]


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"\1", b"\n")), max_size=9))
def test_whole_lines_are_the_same_bytes_cut_after_newlines(chunks):
    """Python code works on whole lines; no byte may get lost on the way there."""
    pieces = list(whole_lines(iter(chunks)))

    assert b"".join(pieces) == b"".join(chunks)
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])


def test_a_split_without_end_is_the_whole_file(tmp_path):
    """The sizes of files between steps are not known when the task is laid out."""
    path = tmp_path / "part"
    path.write_bytes(b"a\nb\nc")

    assert b"".join(blocks(splits.Split(path=str(path), start=0, end=None))) == b"a\nb\nc"
