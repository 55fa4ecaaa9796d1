"""A log to lines or bytes: unpacked on the way, bounded, and as far as it can be read.

A log that was cut off or damaged gives what comes before the damage, which is reported. One that
goes beyond a limit is refused, because half a log gives wrong averages, and a bomb
should not be paid for. Lines that are too long are skipped without being held.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sluice.ingest.decompression import Damaged
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Report
from sluice.ingest.logs.unpacking import MAGIC_BYTES, codec_of, pieces, refused_codec
from sluice.model.errors import InvalidInput, unreadable

__all__ = ["DEFAULT_LIMITS", "Limits", "log_bytes", "log_chunks", "log_head", "log_lines"]

DEFAULT_LIMITS = Limits()
HEAD_BYTES = 64 * 1024
_SPLIT_BYTES = 128 * 1024
_UTF8_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00")


def log_lines(
    path: Path, report: Report, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[int, bytes]]:
    """Each line that is not empty, with its number, from 1; never more of it held than a line.

    report: receives lines that are too long, and an early end.
    Raises InvalidInput where the file cannot be read or goes beyond a limit.
    """
    number, held = 1, _Held(limits.line_bytes_max)
    for chunk in log_chunks(path, report, limits):
        for piece in _slices(chunk, min(_SPLIT_BYTES, limits.line_bytes_max)):
            first, *others = piece.split(b"\n")
            held.add(first)
            if not others:
                continue
            if held.bytes and held.is_whole(number, report):
                yield number, held.line()
            last = others.pop()
            if any(others):
                yield from (one for one in enumerate(others, start=number + 1) if one[1])
            number += len(others) + 1
            if number > limits.lines_max:
                raise _beyond(path, f"more than {limits.lines_max} lines")
            if report.skipped_count > max(limits.skipped_max, number // 2):
                raise _hopeless(path, report)
            held = _Held(limits.line_bytes_max)
            held.add(last)
    if held.bytes and held.is_whole(number, report):
        yield number, held.line()


def _slices(chunk: bytes, size: int) -> Iterator[bytes]:
    """A little at a time: splitting what is all line ends costs eight times its size."""
    return (chunk[start : start + size] for start in range(0, len(chunk), size))


class _Held:
    """Parts of a line whose end has not come yet; none once they are too many."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._parts: list[bytes] = []
        self.bytes = 0

    def add(self, part: bytes) -> None:
        self.bytes += len(part)
        if self.bytes <= self._bytes_max:
            self._parts.append(part)
        else:
            self._parts.clear()

    def is_whole(self, number: int, report: Report) -> bool:
        if self.bytes > self._bytes_max:
            report.skip(number, f"a line of {self.bytes} bytes, more than {self._bytes_max}")
        return self.bytes <= self._bytes_max

    def line(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


def log_bytes(path: Path, report: Report, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The whole log, for formats that are one value. Raises as `log_lines`, at whole_bytes_max."""
    found, found_bytes = [], 0
    for chunk in log_chunks(path, report, limits):
        found_bytes += len(chunk)
        if found_bytes > limits.whole_bytes_max:
            raise _beyond(path, f"more than {limits.whole_bytes_max} bytes")
        found.append(chunk)
    return b"".join(found)


def log_chunks(path: Path, report: Report, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The unpacked bytes, some hundred thousand at a time. Raises as `log_lines`."""
    unpacked = 0
    with _opened(path) as stream:
        magic = stream.read(MAGIC_BYTES)
        codec = _codec(path, magic)
        counted = _Counted(stream, magic)
        try:
            for chunk in pieces(counted, codec):
                piece = chunk.removeprefix(_UTF8_MARK) if unpacked == 0 else chunk
                if unpacked == 0 and piece.startswith(_WIDE_MARKS):
                    raise _no_text(path)
                unpacked += len(chunk)
                _check_bytes(path, limits, unpacked, counted.bytes, is_packed=bool(codec))
                if piece:
                    yield piece
        except Damaged as error:
            report.skip(0, f"{codec} is cut off or damaged after {unpacked} bytes: {error}")
        except OSError as error:
            report.skip(0, f"reading failed after {unpacked} bytes: {error.strerror}")


def log_head(path: Path) -> bytes:
    """The first HEAD_BYTES or so, unpacked; what cannot be unpacked is left out."""
    found = b""
    for chunk in log_chunks(path, Report()):
        found += chunk
        if len(found) >= HEAD_BYTES:
            break
    return found[:HEAD_BYTES]


class _Counted:
    """A stream whose first bytes were looked at, and that counts what is taken from it."""

    def __init__(self, stream: BinaryIO, seen: bytes) -> None:
        self._stream = stream
        self._seen = seen
        self.bytes = 0

    def read(self, size: int, /) -> bytes:
        if self._seen:
            found, self._seen = self._seen[:size], self._seen[size:]
        else:
            found = self._stream.read(size)
        self.bytes += len(found)
        return found


def _opened(path: Path) -> BinaryIO:
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput("not a file", where=str(path), hint="name a log file")
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _codec(path: Path, magic: bytes) -> str:
    refused = refused_codec(magic)
    if refused is not None:
        raise InvalidInput(
            f"it is packed with {refused}, which is not read",
            where=str(path),
            hint="unpack it, or pack it with gzip, bzip2, xz, zstd or lz4; Spark writes zstd with"
            " spark.eventLog.compression.codec=zstd",
        )
    return codec_of(magic)


def _check_bytes(path: Path, limits: Limits, plain: int, packed: int, *, is_packed: bool) -> None:
    if plain > limits.bytes_max:
        raise _beyond(path, f"more than {limits.bytes_max} bytes")
    if is_packed and plain > max(limits.ratio_free_bytes, limits.ratio_max * packed):
        raise _beyond(path, f"{plain} bytes packed into {packed}, as only a bomb does")


def _beyond(path: Path, what: str) -> InvalidInput:
    return InvalidInput(f"it holds {what}", where=str(path), hint="cut it into smaller logs")


def _hopeless(path: Path, report: Report) -> InvalidInput:
    first = report.skipped[0]
    return InvalidInput(
        f"most of it cannot be read (line {first.line}: {first.why})",
        where=str(path),
        hint="check that it is a log of this format",
    )


def _no_text(path: Path) -> InvalidInput:
    return InvalidInput(
        "not UTF-8 text", where=str(path), hint="convert it, as with `iconv -t utf-8`"
    )
