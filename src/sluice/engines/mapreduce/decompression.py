"""Read compressed input files: gzip, bzip2, xz, zstd and lz4, chosen by the suffix of the name.

A compressed file is one split, because its lines can only be found from its start. It is unpacked
as a stream, in blocks of bounded size. Damage is a PermanentFailure that names the file and the
offset: every attempt would meet it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sluice.engines.mapreduce import splits
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.splits import BLOCK_BYTES, Open, Split, open_here
from sluice.ingest import decompression
from sluice.ingest.decompression import Codec, Damaged
from sluice.ingest.decompression import Piece as Block

_CODECS: dict[str, Callable[[], Codec]] = {
    ".gz": decompression.gzip,
    ".bz2": decompression.bzip2,
    ".xz": decompression.xz,
    ".lz4": decompression.lz4,
    ".zst": decompression.zstd,
    ".zstd": decompression.zstd,
}


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


def blocks(split: Split, open_file: Open = open_here) -> Iterator[Block]:
    """The bytes of a split, decompressed if its file is compressed.

    Raises OSError if the file cannot be read, FileChanged if it is not the version that was cut,
    and PermanentFailure if it is damaged.
    """
    # Only input files of the user may be compressed; a task writes plain part files.
    codec = None if split.made_by else codec_of(split.path)
    if codec is None:
        yield from (Block(data, len(data)) for data in splits.blocks(split, open_file))
        return
    with splits.opened(split, open_file) as file:
        try:
            yield from _gathered(decompression.pieces(file.read, codec))
        except Damaged as error:
            raise PermanentFailure(
                f"cannot read {split.path!r} as {codec.name}: damaged {error}"
            ) from error


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
