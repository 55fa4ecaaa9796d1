r"""Cutting files into byte ranges, and ranges back into whole lines.

The classic rule: a split owns the lines that START in its range. The reader of a range therefore
skips the line that an earlier range began, and reads on past its end to finish its own last line.
In other words, with `line_start(x)` the first line start at or after byte x, a split owns the
bytes from line_start(start) up to line_start(end). Neighbours share that point, so every byte is
owned exactly once, whatever the line ends are (only "\n" ends a line; a last line may lack it).

The lines fit together only if all splits see the same file. So a file is compared with the version
that was cut, both when it is opened and when the last byte has been read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from io import FileIO
from typing import IO, Any, Protocol

from sluice.engines.data_plane.ranged_file import RangedFile
from sluice.engines.data_plane.stores import FoundVersion, Store, is_url
from sluice.engines.mapreduce.fingerprints import FileChanged, InputVersion, check_input

BLOCK_BYTES = 1 << 20
SCAN_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Bytes `start` up to `end` of one file; an `end` of None is the end of the file.

    made_by: (phase position, task) that wrote the file, if it is not an input of the user's.
    version: the file as it was when it was cut; None for files that a task wrote.
    served: its name at the driver's data server, for a node that does not share the driver's disk.
    """

    path: str
    start: int
    end: int | None
    made_by: tuple[int, int] | None = None
    version: InputVersion | None = None
    served: str | None = None

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Split:
        """The split that `dataclasses.asdict` and JSON made `record` of."""
        made_by, version = record["made_by"], record.get("version")
        return cls(
            path=record["path"],
            start=record["start"],
            end=record["end"],
            made_by=made_by and (made_by[0], made_by[1]),
            version=version and InputVersion(*version),
            served=record.get("served"),
        )


def cut(file: InputVersion, split_bytes: int) -> Iterator[Split]:
    """The ranges of one file; none if it is empty.

    >>> file = InputVersion("a", size_bytes=10, mtime_ns=0, inode=1)
    >>> [(split.start, split.end) for split in cut(file, split_bytes=4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    for start in range(0, file.size_bytes, split_bytes):
        end = min(start + split_bytes, file.size_bytes)
        yield Split(path=file.path, start=start, end=end, version=file)


class SplitFile(Protocol):
    """The file of a split, wherever it is. All calls raise OSError."""

    def seek(self, position: int, /) -> int:
        """Go on from this byte."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""

    def version(self) -> os.stat_result | FoundVersion:
        """The version that the file has now."""


Open = Callable[[Split], AbstractContextManager[SplitFile]]


class FileHere(FileIO):
    """A file of this machine."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as `FileIO` does, which gives None for streams only."""
        return super().read(size) or b""

    def version(self) -> os.stat_result:
        return os.fstat(self.fileno())


def open_here(split: Split) -> AbstractContextManager[SplitFile]:
    """The file of a split that is on this machine, or at a URL. Raises OSError."""
    if is_url(split.path):
        store = Store(split.path)
        return nullcontext(RangedFile(store.read_range, store.version))
    return FileHere(split.path)


@contextmanager
def opened(split: Split, open_file: Open = open_here) -> Iterator[SplitFile]:
    """The file of a split, to be read to the split's end.

    open_file: opens it, wherever it is.
    Raises FileChanged if the file is not the version that was cut, before or after it was read.
    """
    with open_file(split) as file:
        _check(split, file)
        yield file
        _check(split, file)


def _check(split: Split, file: SplitFile) -> None:
    if split.version is not None:
        check_input(split.version, file.version())


def owned_range(file: SplitFile, start: int, end: int) -> tuple[int, int]:
    """First byte of the first line that starts in the range, and the end of the last such line."""
    # Looking for the first start stops at the range's end: a line that is longer than many splits
    # is then read by its owner and its direct successors only, not by all that it covers.
    first = _line_start(file, start, end)
    if first >= end:
        return end, end
    return first, _line_start(file, end, None)


def _line_start(file: SplitFile, offset: int, limit: int | None) -> int:
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


def blocks(split: Split, open_file: Open = open_here) -> Iterator[bytes]:
    """The bytes that the split owns, unchanged, in blocks of any size.

    Raises OSError if the file cannot be read, and FileChanged if it is not what it was.
    """
    with opened(split, open_file) as file:
        planned_end = file.version().st_size if split.end is None else split.end
        position, end = owned_range(file, split.start, planned_end)
        file.seek(position)
        while position < end:
            block = file.read(min(BLOCK_BYTES, end - position))
            if not block:
                _check(split, file)
                raise FileChanged(f"file {split.path!r} became shorter while it was read")
            position += len(block)
            yield block


def blocks_of(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a pipe in big blocks, until its end."""
    while block := stream.read(BLOCK_BYTES):
        yield block


def whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield the same bytes, cut after line ends only; the very last block may lack its newline.

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
