"""Decompress in pieces of bounded size: gzip, zstd, lz4, Spark's lz4 blocks.

The compression of a file is detected by its first bytes, never by its name. A decoder returns at
most about PIECE_BYTES_MAX at once, so a bomb meets the caller's limits before it fills memory.
Several compressed streams in one file are read one after another.

Spark's own lz4 (`spark.eventLog.compression.codec=lz4`) is not an lz4 frame but the block stream of
lz4-java: a magic word, a method, two lengths and a checksum before each block. The checksum is not
verified: damage shows as a block that does not unpack, or as a line that cannot be read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

PIECE_BYTES_MAX = 32 * 1024 * 1024
_READ_BYTES = 256 * 1024
_ZSTD_WINDOW_BYTES_MAX = 128 * 1024 * 1024
# A zstd block of 4 bytes gives up to 128 KiB, and its decoder knows no bound: so feed it little.
_ZSTD_FED_BYTES = 1024

_LZ4_BLOCK_MAGIC = b"LZ4Block"
_REFUSED = {
    b"\x82SNAPPY\x00": "snappy",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
    b"ZV\x00": "lzf",
    b"ZV\x01": "lzf",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x02\x21\x4c\x18": "lz4 (the legacy frames)",
}
MAGIC_BYTES = 16


class Damaged(Exception):
    """Packed bytes that cannot be unpacked any further."""


class Stream(Protocol):
    """Where packed bytes come from."""

    def read(self, size: int, /) -> bytes: ...


def codec_of(magic: bytes) -> str:
    r"""What packed a file that begins so: "gzip", "zstd", "lz4", "lz4-block"; "" for plain text.

    >>> codec_of(b"LZ4Block\x25"), codec_of(b'{"Event"')
    ('lz4-block', '')
    """
    if magic.startswith(b"\x1f\x8b"):
        return "gzip"
    if magic.startswith((b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")):
        return "zstd" if magic[0] == 0x28 else "lz4"  # noqa: PLR2004  # first byte of zstd's magic
    return "lz4-block" if magic.startswith(_LZ4_BLOCK_MAGIC) else ""


def refused_codec(magic: bytes) -> str | None:
    """A codec that is known but not read; None if there is none of these."""
    return next((name for start, name in _REFUSED.items() if magic.startswith(start)), None)


def pieces(stream: Stream, codec: str) -> Iterator[bytes]:
    """The plain bytes. Raises Damaged, or OSError; what came before is good."""
    if not codec:
        return iter(lambda: stream.read(_READ_BYTES), b"")
    if codec == "gzip":
        return _unpacked(stream, _Gzip, _READ_BYTES)
    if codec == "zstd":
        return _unpacked(stream, _Zstd, _ZSTD_FED_BYTES)
    if codec == "lz4":
        return _unpacked(stream, _Lz4, _READ_BYTES)
    return _lz4_blocks(stream)


class _Decoder(Protocol):
    """One packed stream; `eof` once it is whole, and then `unused_data` is what follows it."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def feed(self, packed: bytes) -> Iterator[bytes]: ...


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def feed(self, packed: bytes) -> Iterator[bytes]:
        while packed and not self._inner.eof:
            try:
                yield self._inner.decompress(packed, _READ_BYTES * 4)
            except zlib.error as error:
                raise Damaged(str(error)) from error
            packed = self._inner.unconsumed_tail


class _Lz4:
    def __init__(self) -> None:
        from lz4.frame import LZ4FrameDecompressor

        self._inner: Any = LZ4FrameDecompressor()

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data or b"")

    def feed(self, packed: bytes) -> Iterator[bytes]:
        try:
            yield self._inner.decompress(packed, _READ_BYTES * 4)
            while not self._inner.eof and not self._inner.needs_input:
                yield self._inner.decompress(b"", _READ_BYTES * 4)
        except (RuntimeError, EOFError) as error:
            raise Damaged(str(error)) from error


class _Zstd:
    def __init__(self) -> None:
        from zstandard import ZstdDecompressor

        self._inner = ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX).decompressobj()

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def feed(self, packed: bytes) -> Iterator[bytes]:
        from zstandard import ZstdError

        try:
            yield self._inner.decompress(packed)
        except ZstdError as error:
            raise Damaged(str(error)) from error


def _unpacked(stream: Stream, begin: Callable[[], _Decoder], size: int) -> Iterator[bytes]:
    decoder: _Decoder | None = None
    while packed := stream.read(size):
        while packed:
            decoder = decoder or begin()
            yield from decoder.feed(packed)
            packed = b""
            if decoder.eof:
                packed, decoder = decoder.unused_data, None
    if decoder is not None:
        raise Damaged("the packed data end too early")


_LZ4_HEADER = struct.Struct("<8sBiiI")
_STORED, _PACKED = 0x10, 0x20


def _lz4_blocks(stream: Stream) -> Iterator[bytes]:
    """The stream of lz4-java: LZ4Block, method and level, packed and plain length, checksum."""
    while header := _exactly(stream, _LZ4_HEADER.size):
        magic, token, packed_bytes, plain_bytes, _ = _LZ4_HEADER.unpack(header)
        method = token & 0xF0
        if magic != _LZ4_BLOCK_MAGIC or method not in (_STORED, _PACKED):
            raise Damaged("no lz4 block where one should begin")
        if not (0 <= plain_bytes <= PIECE_BYTES_MAX and 0 <= packed_bytes <= PIECE_BYTES_MAX):
            raise Damaged("an lz4 block of an impossible length")
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
        raise Damaged(str(error)) from error
    return plain


def _exactly(stream: Stream, size: int) -> bytes:
    """So many bytes, or none at the very end."""
    found = stream.read(size) if size else b""
    while 0 < len(found) < size:
        more = stream.read(size - len(found))
        if not more:
            raise Damaged("the packed data end too early")
        found += more
    if size and not found and size != _LZ4_HEADER.size:
        raise Damaged("the packed data end too early")
    return found
