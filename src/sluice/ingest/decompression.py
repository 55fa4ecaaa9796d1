"""Decompress a stream in pieces of bounded size: gzip, bzip2, xz, lz4 and zstd.

Several compressed streams in one file follow each other as one, as `cat a.gz b.gz > c.gz` makes
them. A decoder returns about PIECE_BYTES at once, so a decompression bomb meets the caller's limits
before it fills memory.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

PIECE_BYTES = 1 << 20
ZSTD_WINDOW_BYTES_MAX = 128 << 20  # of `zstd --long`
_READ_BYTES = 256 << 10
# 4 bytes of zstd can give 128 KiB and its decoder has no limit, so it gets little at a time.
_ZSTD_FED_BYTES = 512
GZIP = b"\x1f\x8b"  # the first bytes of its files


class Damaged(Exception):
    """Compressed bytes that cannot be decompressed any further.

    where: "near byte 512", counted in compressed bytes.
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")


class Piece(NamedTuple):
    """Decompressed bytes, and how many compressed bytes were used up since the last piece."""

    data: bytes
    read_bytes: int


class _Decoder(Protocol):
    """One compressed stream: `eof` at its end, and then `unused_data` follows it."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def feed(self, packed: bytes) -> Iterator[bytes]:
        """The decompressed bytes of `packed`, in pieces of bounded size."""


class Codec(NamedTuple):
    """A way to decompress.

    begin: makes the decoder of one stream.  fed_bytes: how much a decoder gets at once.
    errors: what it raises for damaged data.  is_padded: zeros may follow a stream.
    """

    name: str
    begin: Callable[[], _Decoder]
    fed_bytes: int
    errors: tuple[type[Exception], ...]
    is_padded: bool = False


def pieces(read: Callable[[int], bytes], codec: Codec) -> Iterator[Piece]:
    """The pieces of all compressed streams of a file; some are empty.

    `read` returns up to so many bytes, none at the end. Raises Damaged; what came before is good.
    """
    decoder: _Decoder | None = None
    offset = 0
    while packed := read(_READ_BYTES):
        for start in range(0, len(packed), codec.fed_bytes):
            fed = packed[start : start + codec.fed_bytes]
            size = len(fed)
            while fed:
                if decoder is None:
                    fed = fed.lstrip(b"\0") if codec.is_padded else fed
                    if not fed:
                        break
                    decoder = codec.begin()
                try:
                    for data in decoder.feed(fed):
                        yield Piece(data, 0)
                except codec.errors as error:
                    raise Damaged(f"near byte {offset}", str(error)) from error
                fed = b""
                if decoder.eof:
                    fed, decoder = decoder.unused_data, None
            offset += size
            yield Piece(b"", size)
    if decoder is not None:
        raise Damaged(f"at byte {offset}", "the file is cut off")


# --- the codecs -----------------------------------------------------------------------------------
# Each is a function, because lz4 and zstd are loaded only when a file needs them.


def gzip() -> Codec:
    """RFC 1952."""
    return Codec("gzip", _Gzip, _READ_BYTES, (zlib.error,), is_padded=True)


def bzip2() -> Codec:
    """The format of bzip2."""
    return Codec("bzip2", lambda: _Standard(bz2.BZ2Decompressor()), _READ_BYTES, (OSError,))


def xz() -> Codec:
    """The format of xz."""

    def begin() -> _Decoder:
        return _Standard(lzma.LZMADecompressor(lzma.FORMAT_XZ))

    return Codec("xz", begin, _READ_BYTES, (lzma.LZMAError,), is_padded=True)


def lz4() -> Codec:
    """Frames of lz4."""
    from lz4.frame import LZ4FrameDecompressor

    def begin() -> _Decoder:
        return _Standard(LZ4FrameDecompressor())

    return Codec("lz4", begin, _READ_BYTES, (RuntimeError, EOFError))


def zstd() -> Codec:
    """RFC 8878."""
    from zstandard import ZstdError

    return Codec("zstd", _Zstd, _ZSTD_FED_BYTES, (ZstdError,))


class _Standard:
    """A decoder with the interface of `bz2.BZ2Decompressor`, which lzma and lz4 have too."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401  # five classes, no common base
        self._inner = inner

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data or b"")

    def feed(self, packed: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(packed, PIECE_BYTES)
        while not self._inner.eof and not self._inner.needs_input:
            yield self._inner.decompress(b"", PIECE_BYTES)


class _Gzip(_Standard):
    def __init__(self) -> None:
        super().__init__(zlib.decompressobj(wbits=zlib.MAX_WBITS | 16))

    def feed(self, packed: bytes) -> Iterator[bytes]:
        while packed and not self._inner.eof:
            yield self._inner.decompress(packed, PIECE_BYTES)
            packed = self._inner.unconsumed_tail


class _Zstd(_Standard):
    def __init__(self) -> None:
        from zstandard import ZstdDecompressor

        super().__init__(ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX).decompressobj())

    def feed(self, packed: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(packed)
