"""The output of a map task: one file, with a segment for each reduce task and an index.

    segment 0 | segment 1 | ... | index as JSON | its CRC32, 4 bytes | its length, 8 bytes | MAGIC

The index holds [offset, length, records, crc32] for each segment. It is at the end of the file, so
that a file that was cut short, or is not a spill file, is refused before a byte is merged. The
checksums find bytes that changed on the disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

MAGIC = b"SLUICES2"
_TAIL_BYTES = 12 + len(MAGIC)
_BLOCK_BYTES = 1 << 20


class Segment(NamedTuple):
    """The place of one reduce task's lines in a spill file, and their CRC32."""

    offset: int
    length: int
    records: int
    crc: int = 0


class SpillBroken(Exception):
    """A file that is not a whole, unchanged spill file."""


def write_index(file: BinaryIO, segments: Sequence[Segment]) -> None:
    """Complete a spill file whose segments have been written."""
    index = json.dumps(segments).encode()
    file.seek(0, os.SEEK_END)
    file.write(index + crc32(index).to_bytes(4, "little") + len(index).to_bytes(8, "little"))
    file.write(MAGIC)
    file.flush()


def read_index(file: BinaryIO) -> list[Segment]:
    """The segments of a spill file. Raises SpillBroken if it is not whole."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    if len(tail) < _TAIL_BYTES or not tail.endswith(MAGIC):
        raise SpillBroken("it is cut short, or is not map output")
    index_at = size - _TAIL_BYTES - int.from_bytes(tail[4:12], "little")
    if index_at < 0:
        raise SpillBroken("its index is damaged")
    file.seek(index_at)
    index = file.read(size - _TAIL_BYTES - index_at)
    if crc32(index) != int.from_bytes(tail[:4], "little"):
        raise SpillBroken("its index is damaged")
    segments = [Segment(*entry) for entry in json.loads(index)]
    if sum(segment.length for segment in segments) != index_at:
        raise SpillBroken("it does not have the length that its index gives")
    return segments


class Lines(NamedTuple):
    """Number of lines of a file, and the CRC32 of its bytes."""

    total: int
    crc: int


def checked_lines(path: Path) -> Lines:
    """Lines and CRC32 of a file; a last line without newline counts."""
    lines, crc, last = 0, 0, b"\n"
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            lines += block.count(b"\n")
            crc = crc32(block, crc)
            last = block[-1:]
    return Lines(lines + (last != b"\n"), crc)


def file_crc(path: Path) -> int:
    """The CRC32 of a file."""
    crc = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            crc = crc32(block, crc)
    return crc
