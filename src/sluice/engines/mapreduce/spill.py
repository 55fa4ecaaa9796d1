"""What a map task leaves behind: one file, with a segment for each reduce task and an index.

    segment 0 | segment 1 | ... | index as JSON | its length, 8 bytes | MAGIC

The index says [offset, length, records] for each segment. It stands at the end, so that a file
that was cut short, or is no such file at all, is seen for what it is before a byte is merged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

MAGIC = b"SLUICESP"
_TAIL_BYTES = 8 + len(MAGIC)


class Segment(NamedTuple):
    """Where the lines of one reduce task stand in a spill file."""

    offset: int
    length: int
    records: int


class SpillBroken(Exception):
    """A file that is not, or no longer, a whole spill file."""


def write_index(file: BinaryIO, segments: Sequence[Segment]) -> None:
    """Close a spill file whose segments have been written."""
    index = json.dumps(segments).encode()
    file.seek(0, os.SEEK_END)
    file.write(index + len(index).to_bytes(8, "little") + MAGIC)
    file.flush()


def read_index(file: BinaryIO) -> list[Segment]:
    """The segments of a spill file. Raises SpillBroken where it is not whole."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    if len(tail) < _TAIL_BYTES or not tail.endswith(MAGIC):
        raise SpillBroken("is cut short, or no map output")
    index_bytes = int.from_bytes(tail[:8], "little")
    index_at = size - _TAIL_BYTES - index_bytes
    if index_at < 0:
        raise SpillBroken("has a broken index")
    file.seek(index_at)
    segments = [Segment(*entry) for entry in json.loads(file.read(index_bytes))]
    if sum(segment.length for segment in segments) != index_at:
        raise SpillBroken("does not hold what its index says")
    return segments


def count_lines(path: Path) -> int:
    """Lines of a file; a last one without newline counts."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")
