"""Logs to lines: unpacked by content, bounded, and as far as they can be read."""

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.lz4_blocks import lz4_block_stream

from sluice.ingest.decompression import Damaged
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes, log_head, log_lines
from sluice.ingest.logs.report import SKIPPED_MAX, Report
from sluice.ingest.logs.unpacking import pieces
from sluice.model.errors import InvalidInput

PLAIN = b"".join(b"line %d of a log\n" % number for number in range(2000))


PACKED = {
    "plain": PLAIN,
    "gzip": gzip.compress(PLAIN),
    "bzip2": bz2.compress(PLAIN),
    "xz": lzma.compress(PLAIN, preset=0),
    "zstd": zstandard.compress(PLAIN),
    "lz4": lz4.frame.compress(PLAIN),
    "lz4-block": lz4_block_stream(PLAIN),
}


COMPRESSED = sorted(PACKED.keys() - {"plain"})


def read(path: Path, content: bytes, **limits: int) -> tuple[list[tuple[int, bytes]], Report]:
    path.write_bytes(content)
    report = Report()
    return list(log_lines(path, report, Limits(**limits))), report


@pytest.mark.parametrize("codec", PACKED)
def test_lines_are_the_same_however_they_are_packed(codec, tmp_path):
    """The first bytes show the codec; the name does not matter."""
    lines, report = read(tmp_path / "log.lzf", PACKED[codec])

    assert lines == list(enumerate(PLAIN.splitlines(), start=1))
    assert report.skipped == ()


@pytest.mark.parametrize("codec", PACKED)
def test_streams_that_follow_each_other_are_one_log(codec, tmp_path):
    """Appended members of gzip, frames of zstd and lz4, Spark's lz4 after its end mark."""
    lines, report = read(tmp_path / "log", PACKED[codec] * 2)

    assert (len(lines), report.skipped) == (4000, ())


@pytest.mark.parametrize("codec", COMPRESSED)
def test_what_comes_before_the_cut_counts(codec, tmp_path):
    """A log that is still written, or whose disk was full."""
    whole = PACKED[codec] * 20
    lines, report = read(tmp_path / "log", whole[: len(whole) - 30])

    assert len(lines) >= 19 * 2000
    assert "cut off or damaged" in report.skipped[0].why


@pytest.mark.parametrize("codec", COMPRESSED)
@given(seed=st.integers(0, 2**32 - 1), at=st.floats(0, 1))
def test_damaged_packing_gives_lines_or_a_report(codec, seed, at):
    """Whatever the bytes say, decoders raise nothing but Damaged."""
    content = bytearray(PACKED[codec])
    place = int(at * (len(content) - 1))
    content[place] ^= 1 + seed % 255

    found, stream = b"", io.BytesIO(bytes(content))
    try:
        for piece in pieces(stream, codec):
            found += piece
    except Damaged:
        return
    assert len(found) <= 2 * len(PLAIN)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"\x82SNAPPY\x00\x00\x00\x00\x01", "snappy"),
        (b"ZV\x01\x71\xa2", "lzf"),
        (b"PK\x03\x04", "zip"),
    ],
)
def test_a_codec_that_is_not_read_is_refused_by_its_name(content, name, tmp_path):
    """So that the user knows what to unpack it with."""
    with pytest.raises(InvalidInput, match=f"packed with {name}"):
        read(tmp_path / "log", content)


def test_a_bomb_is_refused(tmp_path):
    """Megabytes out of a few kilobytes are nobody's log."""
    with pytest.raises(InvalidInput, match="as only a bomb does"):
        read(tmp_path / "log", zstandard.compress(b"x" + b"\n" * 60_000_000))


def test_a_log_beyond_a_limit_is_refused(tmp_path):
    """Averages over half a log would be wrong, and nobody would see it."""
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        read(tmp_path / "log", PLAIN, bytes_max=1000)
    with pytest.raises(InvalidInput, match="more than 10 lines"):
        read(tmp_path / "log", PLAIN, lines_max=10)
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        log_bytes(tmp_path / "log", Report(), Limits(whole_bytes_max=1000))


@given(st.lists(st.integers(0, 300), max_size=30), st.integers(1, 200))
def test_long_lines_are_skipped_and_shown_and_nothing_else(tmp_path_factory, lengths, longest):
    """At every limit, with and without an end of the last line, numbers stay true."""
    lines = [b"x" * length for length in lengths]
    path = tmp_path_factory.mktemp("lines") / "log"
    found, report = read(path, b"\n".join(lines), line_bytes_max=longest, skipped_max=10**6)

    assert found == [
        (number, line) for number, line in enumerate(lines, 1) if 0 < len(line) <= longest
    ]
    assert [one.line for one in report.skipped] == [
        number for number, line in enumerate(lines, 1) if len(line) > longest
    ]


def test_a_file_that_is_no_text_is_refused(tmp_path):
    """UTF-16 has a zero in every other byte, and no line of it would be understood."""
    for encoding in ("utf-16", "utf-16-be", "utf-32"):
        with pytest.raises(InvalidInput, match="not UTF-8 text"):
            read(tmp_path / "log", PLAIN.decode().encode(encoding))


def test_a_mark_of_utf_8_is_no_part_of_the_first_line(tmp_path):
    assert read(tmp_path / "log", b"\xef\xbb\xbfa\nb")[0] == [(1, b"a"), (2, b"b")]


def test_what_is_no_file_is_refused(tmp_path):
    """Neither a folder nor a device is read as a log: the latter might never end."""
    for path in (tmp_path, Path("/dev/zero"), tmp_path / "none", Path("a\0b")):
        with pytest.raises(InvalidInput):
            list(log_lines(path, Report()))


def test_the_head_is_unpacked_and_bounded(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(b"x" * 10**6))

    assert log_head(path) == b"x" * 65536


def test_a_file_that_is_mostly_unreadable_is_given_up(tmp_path):
    """The importer skips line after line; a million complaints help nobody."""
    path, report = tmp_path / "log", Report()
    path.write_bytes(b"?\n" * 10**6)
    lines = log_lines(path, report, Limits(skipped_max=100))
    with pytest.raises(InvalidInput, match=r"most of it cannot be read \(line 1: no"):
        _skip_all(lines, report)

    assert report.skipped_count < 10**5


def test_a_report_keeps_the_first_and_counts_all():
    report = Report()
    for number in range(SKIPPED_MAX + 5):
        report.part("b").skip(number, "bad\n\x1b[31m")

    assert (len(report.skipped), report.skipped_count) == (SKIPPED_MAX, SKIPPED_MAX + 5)
    assert report.skipped[0].why == r"b: bad\n\x1b[31m"


def _skip_all(lines: Iterator[tuple[int, bytes]], report: Report) -> None:
    for number, _ in lines:
        report.skip(number, "no")
