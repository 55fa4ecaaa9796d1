"""Decompress a log, whatever its name: gzip, bzip2, xz, zstd, lz4 and Spark's lz4 blocks.

The compression of a file is detected by its first bytes. What comes back is in pieces of bounded
size, so a decompression bomb meets the caller's limits before it fills memory.

Spark's own lz4 (`spark.eventLog.compression.codec=lz4`) is not an lz4 frame but the block stream of
lz4-java: a magic word, a method, two lengths and a checksum before each block. The checksum is not
verified: damage shows as a block that does not unpack, or as a line that cannot be read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Protocol

from sluice.ingest import decompression
from sluice.ingest.decompression import Codec, Damaged

_BLOCK_BYTES_MAX = 32 * 1024 * 1024
_READ_BYTES = 256 * 1024

_CODECS: dict[str, Callable[[], Codec]] = {
    "gzip": decompression.gzip,
    "bzip2": decompression.bzip2,
    "xz": decompression.xz,
    "lz4": decompression.lz4,
    "zstd": decompression.zstd,
}
_LZ4_BLOCK_MAGIC = b"LZ4Block"
_STARTS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x28\xb5\x2f\xfd": "zstd",
    _LZ4_BLOCK_MAGIC: "lz4-block",
}
_REFUSED = {
    b"\x82SNAPPY\x00": "snappy",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
    b"ZV\x00": "lzf",
    b"ZV\x01": "lzf",
    b"PK\x03\x04": "zip",
    b"\x02\x21\x4c\x18": "lz4 (the legacy frames)",
}
MAGIC_BYTES = 16


class Stream(Protocol):
    """Where packed bytes come from."""

    def read(self, size: int, /) -> bytes: ...


def codec_of(magic: bytes) -> str:
    r"""Return how a file that begins so is compressed: "gzip", "lz4-block", ...; "" for plain text.

    >>> codec_of(b"LZ4Block\x25"), codec_of(b'{"Event"')
    ('lz4-block', '')
    """
    return next((name for start, name in _STARTS.items() if magic.startswith(start)), "")


def refused_codec(magic: bytes) -> str | None:
    """A codec that is known but not read; None if there is none of these."""
    return next((name for start, name in _REFUSED.items() if magic.startswith(start)), None)


def pieces(stream: Stream, codec: str) -> Iterator[bytes]:
    """The plain bytes. Raises Damaged, or OSError; what came before is good."""
    if not codec:
        yield from iter(lambda: stream.read(_READ_BYTES), b"")
    elif codec == "lz4-block":
        yield from _lz4_blocks(stream)
    else:
        found = decompression.pieces(stream.read, _CODECS[codec]())
        yield from (piece.data for piece in found if piece.data)


_LZ4_HEADER = struct.Struct("<8sBiiI")
_STORED, _PACKED = 0x10, 0x20


def _lz4_blocks(stream: Stream) -> Iterator[bytes]:
    """The stream of lz4-java: LZ4Block, method and level, packed and plain length, checksum."""
    while header := _exactly(stream, _LZ4_HEADER.size):
        magic, token, packed_bytes, plain_bytes, _ = _LZ4_HEADER.unpack(header)
        method = token & 0xF0
        if magic != _LZ4_BLOCK_MAGIC or method not in (_STORED, _PACKED):
            raise Damaged("in a block", "no lz4 block where one should begin")
        if not (0 <= plain_bytes <= _BLOCK_BYTES_MAX and 0 <= packed_bytes <= _BLOCK_BYTES_MAX):
            raise Damaged("in a block", "an lz4 block of an impossible length")
        packed = _exactly(stream, packed_bytes)
        if method == _PACKED and plain_bytes:
            yield _lz4_block(packed, plain_bytes)
        else:
            yield packed


def _lz4_block(packed: bytes, plain_bytes: int) -> bytes:
    import lz4.block

    try:
        plain: bytes = lz4.block.decompress(packed, uncompressed_size=plain_bytes)
    except (lz4.block.LZ4BlockError, ValueError, MemoryError) as error:
        raise Damaged("in a block", str(error)) from error
    return plain


def _exactly(stream: Stream, size: int) -> bytes:
    """So many bytes, or none at the very end."""
    found = stream.read(size) if size else b""
    while 0 < len(found) < size:
        more = stream.read(size - len(found))
        if not more:
            raise Damaged("in a block", "the packed data end too early")
        found += more
    if size and not found and size != _LZ4_HEADER.size:
        raise Damaged("in a block", "the packed data end too early")
    return found
