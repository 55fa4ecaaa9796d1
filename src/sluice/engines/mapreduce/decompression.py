"""Read compressed input files: gzip, bzip2, xz, zstd and lz4, chosen by the suffix of the name.

A compressed file is one split, because its lines can only be found from its start. It is unpacked
as a stream, in blocks of bounded size. Several compressed streams in one file follow each other as
one, as `cat a.gz b.gz > c.gz` makes them. Damage is a PermanentFailure that names the file and the
offset: every attempt would meet it.
"""

from __future__ import annotations

import bz2
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sluice.engines.mapreduce import splits
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.splits import BLOCK_BYTES, Split

ZSTD_WINDOW_BYTES_MAX = 128 << 20  # of `zstd --long`
_READ_BYTES = 256 << 10
# 4 bytes of zstd can give 128 KiB and its decoder has no limit, so it gets little at a time.
_ZSTD_FED_BYTES = 512


class Block(NamedTuple):
    """Some bytes of lines, and how many bytes of the file they took."""

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
    errors: what it raises for damaged data.
    """

    name: str
    begin: Callable[[], _Decoder]
    fed_bytes: int
    errors: tuple[type[Exception], ...]


def codec_of(path: str) -> Codec | None:
    """The codec of a file by the suffix of its name; None for a file of plain lines.

    >>> codec_of("a/b.txt.GZ").name, codec_of("gz")
    ('gzip', None)
    """
    find = _CODECS.get(Path(path).suffix.lower())
    return find() if find is not None else None


def is_compressed(path: str) -> bool:
    """Whether the file is read as one split."""
    return Path(path).suffix.lower() in _CODECS


def blocks(split: Split) -> Iterator[Block]:
    """The bytes of a split, decompressed if its file is compressed.

    Raises OSError if the file cannot be read, FileChanged if it is not the version that was cut,
    and PermanentFailure if it is damaged.
    """
    # Only input files of the user may be compressed; a task writes plain part files.
    codec = None if split.made_by else codec_of(split.path)
    if codec is None:
        yield from (Block(data, len(data)) for data in splits.blocks(split))
        return
    with splits.opened(split) as file:
        yield from _gathered(_unpacked(file, codec, split.path))


def _gathered(pieces: Iterator[Block]) -> Iterator[Block]:
    """The pieces in blocks of a useful size, none empty; together they took all of the file."""
    ready: Block | None = None  # held back, for the bytes of the file that follow the last data
    kept: list[bytes] = []
    kept_bytes = read_bytes = 0
    for piece in pieces:
        kept.append(piece.data)
        kept_bytes += len(piece.data)
        read_bytes += piece.read_bytes
        if kept_bytes >= BLOCK_BYTES:
            if ready is not None:
                yield ready
            ready = Block(b"".join(kept), read_bytes)
            kept, kept_bytes, read_bytes = [], 0, 0
    if ready is not None:
        yield ready if kept_bytes else Block(ready.data, ready.read_bytes + read_bytes)
    if kept_bytes:
        yield Block(b"".join(kept), read_bytes)


def _unpacked(file: FileIO, codec: Codec, path: str) -> Iterator[Block]:
    """The pieces of all streams of a file."""
    decoder: _Decoder | None = None
    offset = 0
    while packed := os.read(file.fileno(), _READ_BYTES):
        for start in range(0, len(packed), codec.fed_bytes):
            fed = packed[start : start + codec.fed_bytes]
            size = len(fed)
            while fed:
                if decoder is None:
                    fed = fed.lstrip(b"\0") if codec.name in _PADDED else fed
                    if not fed:
                        break
                    decoder = codec.begin()
                try:
                    for data in decoder.feed(fed):
                        yield Block(data, 0)
                except codec.errors as error:
                    raise _damaged(path, codec, f"near byte {offset}", str(error)) from error
                fed = b""
                if decoder.eof:
                    fed, decoder = decoder.unused_data, None
            offset += size
            yield Block(b"", size)
    if decoder is not None:
        raise _damaged(path, codec, f"at byte {offset}", "the file is cut off")


def _damaged(path: str, codec: Codec, where: str, why: str) -> PermanentFailure:
    return PermanentFailure(f"cannot read {path!r} as {codec.name}: damaged {where}: {why}")


# --- the codecs -----------------------------------------------------------------------------------


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
            yield self._inner.decompress(packed, BLOCK_BYTES)
            packed = self._inner.unconsumed_tail


class _Standard:
    """A decoder with the interface of `bz2.BZ2Decompressor`, which lzma and lz4 have too."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401  # three classes, no common base
        self._inner = inner

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data or b"")

    def feed(self, packed: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(packed, BLOCK_BYTES)
        while not self._inner.eof and not self._inner.needs_input:
            yield self._inner.decompress(b"", BLOCK_BYTES)


class _Zstd:
    def __init__(self) -> None:
        from zstandard import ZstdDecompressor

        self._inner = ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX).decompressobj()

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def feed(self, packed: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(packed)


def _gzip() -> Codec:
    return Codec("gzip", _Gzip, _READ_BYTES, (zlib.error,))


def _bzip2() -> Codec:
    return Codec("bzip2", lambda: _Standard(bz2.BZ2Decompressor()), _READ_BYTES, (OSError,))


def _xz() -> Codec:
    def begin() -> _Decoder:
        return _Standard(lzma.LZMADecompressor(lzma.FORMAT_XZ))

    return Codec("xz", begin, _READ_BYTES, (lzma.LZMAError,))


def _lz4() -> Codec:
    from lz4.frame import LZ4FrameDecompressor

    def begin() -> _Decoder:
        return _Standard(LZ4FrameDecompressor())

    return Codec("lz4", begin, _READ_BYTES, (RuntimeError, EOFError))


def _zstd() -> Codec:
    from zstandard import ZstdError

    return Codec("zstd", _Zstd, _ZSTD_FED_BYTES, (ZstdError,))


_CODECS: dict[str, Callable[[], Codec]] = {
    ".gz": _gzip,
    ".bz2": _bzip2,
    ".xz": _xz,
    ".lz4": _lz4,
    ".zst": _zstd,
    ".zstd": _zstd,
}
_PADDED = {"gzip", "xz"}  # zeros may follow a stream
