"""Compressed input is read as the plain text that it holds, or refused with file and offset."""

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from sluice.engines.mapreduce.decompression import blocks, is_compressed
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.splits import Split

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lambda text: lzma.compress(text, preset=0),
    ".zst": zstandard.compress,
    ".zstd": lambda text: zstandard.ZstdCompressor(write_checksum=True).compress(text),
    ".lz4": lambda text: lz4.frame.compress(text, content_checksum=True),
}
TEXT = b"".join(b"line %d of a text\n" % number for number in range(50_000))
suffixes = pytest.mark.parametrize("suffix", PACK)


def read(path):
    """(the plain bytes, the bytes of the file that they took)."""
    found = list(blocks(Split(path=str(path), start=0, end=path.stat().st_size)))
    assert all(block.data for block in found)
    return b"".join(block.data for block in found), sum(block.read_bytes for block in found)


@suffixes
def test_a_compressed_file_is_its_text_and_counts_its_own_bytes(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACK[suffix](TEXT))

    assert is_compressed(str(path))
    assert read(path) == (TEXT, path.stat().st_size)


@suffixes
@given(parts=st.lists(st.binary(max_size=200), min_size=1, max_size=5))
def test_several_streams_in_one_file_follow_each_other(tmp_path_factory, suffix, parts):
    path = tmp_path_factory.mktemp("streams") / f"text{suffix}"
    path.write_bytes(b"".join(map(PACK[suffix], parts)))

    assert read(path)[0] == b"".join(parts)


@suffixes
@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_file_that_is_cut_off_names_itself_and_the_offset(tmp_path, suffix, share):
    whole = PACK[suffix](TEXT)
    size = max(1, int(len(whole) * share))
    path = tmp_path / f"text{suffix}"
    path.write_bytes(whole[:size])

    with pytest.raises(PermanentFailure, match=f"text{suffix}' as .* at byte {size}: .*cut off"):
        read(path)


@suffixes
def test_a_damaged_file_is_never_read_as_whole(tmp_path, suffix):
    whole = bytearray(PACK[suffix](TEXT))
    middle = len(whole) // 2
    whole[middle : middle + 8] = bytes(byte ^ 0xFF for byte in whole[middle : middle + 8])
    path = tmp_path / f"text{suffix}"
    path.write_bytes(whole)

    try:
        assert read(path)[0] != TEXT  # without a checksum damage may go unseen
        assert suffix == ".zst"
    except PermanentFailure as failure:
        assert f"text{suffix}" in str(failure)  # noqa: PT017  # either is right


@suffixes
def test_text_under_a_compressed_name_is_refused(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(b"only text\n")

    with pytest.raises(PermanentFailure, match=r"damaged near byte 0|cut off"):
        read(path)


@suffixes
def test_bytes_after_the_last_stream_are_refused(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACK[suffix](b"a\n") + b"something else that follows")

    with pytest.raises(PermanentFailure, match=f"text{suffix}"):
        read(path)


def test_zeros_after_a_gzip_stream_are_padding(tmp_path):
    path = tmp_path / "tape.gz"
    path.write_bytes(gzip.compress(b"a\n") + bytes(512))

    assert read(path) == (b"a\n", path.stat().st_size)


def test_skippable_frames_of_zstd_and_lz4_are_skipped(tmp_path):
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00none"
    for suffix in (".zst", ".lz4"):
        path = tmp_path / f"text{suffix}"
        path.write_bytes(skipped + PACK[suffix](b"a\n") + skipped)

        assert read(path)[0] == b"a\n"


@pytest.mark.in_turn(2)
@pytest.mark.slow
@suffixes
def test_memory_is_bounded_whatever_a_file_unpacks_to(tmp_path, suffix):
    path = tmp_path / f"bomb{suffix}"
    path.write_bytes(PACK[suffix](bytes(128 << 20)))

    tracemalloc.start()
    size = sum(len(b.data) for b in blocks(Split(path=str(path), start=0, end=None)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert size == 128 << 20
    assert peak < 80 << 20
