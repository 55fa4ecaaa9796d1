r"""Cutting files into byte ranges, and ranges back into whole lines.

The classic rule: a split owns the lines that START in its range. The reader of a range therefore
skips the line that an earlier range began, and reads on past its end to finish its own last line.
Said symmetrically, with `line_start(x)` the first line start at or after byte x, a split owns the
bytes from line_start(start) up to line_start(end); neighbours share that point, so every byte is
owned exactly once, whatever the line ends are (only "\n" ends a line; a last line may lack it).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

BLOCK_BYTES = 1 << 20
SCAN_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Bytes `start` up to `end` of one file; an `end` of None is where the file ends.

    made_by: (phase position, task) that wrote the file, where it is no input of the user's.
    """

    path: str
    start: int
    end: int | None
    made_by: tuple[int, int] | None = None

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Split:
        """The split that `dataclasses.asdict` and JSON made `record` of."""
        made_by = record["made_by"]
        return cls(**{**record, "made_by": made_by and (made_by[0], made_by[1])})


def cut(path: str, length_bytes: int, split_bytes: int) -> Iterator[Split]:
    """The ranges of one file; none where it is empty.

    >>> [(split.start, split.end) for split in cut("a", length_bytes=10, split_bytes=4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    for start in range(0, length_bytes, split_bytes):
        yield Split(path=path, start=start, end=min(start + split_bytes, length_bytes))


def owned_range(file: FileIO, start: int, end: int) -> tuple[int, int]:
    """First byte of the first line that starts in the range, and the end of the last such line."""
    # Looking for the first start stops at the range's end: a line that is longer than many splits
    # is then read by its owner and its direct successors only, not by all that it covers.
    first = _line_start(file, start, end)
    if first >= end:
        return end, end
    return first, _line_start(file, end, None)


def _line_start(file: FileIO, offset: int, limit: int | None) -> int:
    """The first line start at or after `offset`; `limit` or the file's end if none is before it."""
    if offset == 0:
        return 0
    position = offset - 1
    file.seek(position)
    while limit is None or position < limit:
        block = file.read(SCAN_BYTES)
        if not block:
            return position
        newline = block.find(b"\n")
        if newline >= 0:
            return position + newline + 1
        position += len(block)
    return position


def blocks(split: Split) -> Iterator[bytes]:
    """The bytes that the split owns, exactly as they stand, in blocks of any cut.

    Raises OSError where the file cannot be read.
    """
    with Path(split.path).open("rb", buffering=0) as file:
        planned_end = os.fstat(file.fileno()).st_size if split.end is None else split.end
        position, end = owned_range(file, split.start, planned_end)
        file.seek(position)
        while position < end:
            block = os.read(file.fileno(), min(BLOCK_BYTES, end - position))
            if not block:
                return
            position += len(block)
            yield block


def whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    r"""The same bytes, cut after line ends only; the very last block may lack its newline.

    >>> list(whole_lines(iter([b"a\nb", b"c", b"\nd"])))
    [b'a\n', b'bc\n', b'd']
    """
    started: list[bytes] = []
    for chunk in chunks:
        cut_at = chunk.rfind(b"\n") + 1
        if not cut_at:
            started.append(chunk)
            continue
        yield b"".join((*started, chunk[:cut_at]))
        started = [chunk[cut_at:]] if cut_at < len(chunk) else []
    if started:
        yield b"".join(started)
