"""Compression of map output on its way, block by block, with lz4 or zstd.

lz4 is asked for by default: one core compresses faster than a network of 1 Gbit/s takes the bytes.
It is left out between processes of one machine, and for bytes that hardly shrink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

CODECS = ("lz4", "zstd")
SAMPLE_BYTES = 1 << 16
SHARE_MAX = 0.8  # of the sample that is left, if compression pays
ZSTD_LEVEL = 1


def pays(codec: str, sample: bytes) -> bool:
    """Whether a segment that begins with `sample` shrinks enough.

    >>> pays("lz4", b"word" * 1000), pays("zstd", b""), pays("lz4", bytes(range(256)))
    (True, False, False)
    """
    shrunk = sum(map(len, compressed(codec, [sample]))) if sample else 0
    return shrunk < SHARE_MAX * len(sample)


def compressed(codec: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Compressed pieces of the blocks, none empty."""
    begin, compress, finish = _compressor(codec)
    pieces = [begin]
    for block in blocks:
        pieces.append(compress(block))
        joined = b"".join(pieces)
        pieces.clear()
        if joined:
            yield joined
    yield b"".join([*pieces, finish()])


def _compressor(codec: str) -> tuple[bytes, Callable[[bytes], bytes], Callable[[], bytes]]:
    if codec == "lz4":
        import lz4.frame

        frame = lz4.frame.LZ4FrameCompressor()
        return frame.begin(), frame.compress, frame.flush
    import zstandard

    stream = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj()
    return b"", stream.compress, stream.flush


def decompressor(codec: str | None) -> Callable[[bytes], bytes]:
    """Return what makes the plain bytes of each piece that arrives; None is for plain bytes.

    Raises ValueError for an unknown codec. The function raises RuntimeError or ZstdError for
    bytes that are damaged.

    >>> plain = decompressor("zstd")
    >>> b"".join(plain(piece) for piece in compressed("zstd", [b"ab", b"c"]))
    b'abc'
    """
    if codec is None:
        return bytes
    if codec == "lz4":
        import lz4.frame

        return lz4.frame.LZ4FrameDecompressor().decompress  # type: ignore[no-any-return]  # no types
    if codec == "zstd":
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj().decompress
    raise ValueError(f"a data server sent the unknown encoding {codec!r}")
