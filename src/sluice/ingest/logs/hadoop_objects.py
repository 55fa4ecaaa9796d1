"""Files of JSON objects one after the other, as Rumen and SLS write them.

The objects are neither in a list nor one a line; most are printed over thousands of lines.
Each is found by counting its braces, line by line, so that one is held at a time. A bare list of
objects is read as well, for brackets and commas outside of objects mean nothing here.

An object that is damaged may have swallowed those after it. So it is cut where a line begins with a
brace, as the first line of an object does when all inner ones are indented, and what is whole among
the pieces counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from sluice.ingest.logs.hadoop_jobs import check_hope, is_hopeless
from sluice.ingest.logs.hadoop_values import Members, Unreadable, json_value
from sluice.ingest.logs.limits import MIB, Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Report
from sluice.ingest.positions import DEPTH_MAX

OBJECT_BYTES_MAX = 128 * MIB  # without indentation: one job of some hundred thousand tasks
INNER_MAX = 1_000_000  # objects in one; a task of Rumen's has about five
_OUTSIDE = "text outside of any object"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}]')
_OPENING, _CLOSING = b"{}"
_BETWEEN = b" \t\r,[]"
_BEGINNING = re.compile(rb"^(?=\{)", re.MULTILINE)

_Lines = Iterable[tuple[int, bytes]]


class _Blob(NamedTuple):
    """Text that begins with a brace; `problem` says why it does not end with that brace's twin."""

    line: int
    text: bytes
    problem: str = ""


def json_objects(path: Path, report: Report, limits: Limits) -> Iterator[tuple[int, Members]]:
    """Each object, with the line that it begins on. What is none is reported.

    Raises InvalidInput as `log_lines` does, and where there are too many pieces that are none.
    """
    for blob in _blobs(log_lines(path, report, limits), report):
        try:
            yield blob.line, _object(blob)
        except Unreadable as error:
            report.skip(blob.line, str(error))
            for line, value in _salvaged(blob, report, limits):
                yield line, value
                check_hope(path, report, line, limits)
        check_hope(path, report, blob.line, limits)


def _object(blob: _Blob) -> Members:
    if blob.problem:
        raise Unreadable(blob.problem)
    value = json_value(blob.text)
    assert isinstance(value, dict), "a text that begins with a brace is an object or no JSON"
    return value


def _salvaged(blob: _Blob, report: Report, limits: Limits) -> Iterator[tuple[int, Members]]:
    """The whole objects among the pieces of a damaged one; the first piece is the damaged part."""
    starts = (match.start() for match in _BEGINNING.finditer(blob.text, 1))
    line, before = blob.line, 0
    for start, end in pairwise(chain(starts, [len(blob.text)])):
        line += blob.text.count(b"\n", before, start)
        before = start
        if is_hopeless(report, line, limits):
            return
        numbered = enumerate(blob.text[start:end].split(b"\n"), start=line)
        for piece in _blobs(numbered, report):
            try:
                yield piece.line, _object(piece)
            except Unreadable as error:
                report.skip(piece.line, str(error))


def _blobs(lines: _Lines, report: Report) -> Iterator[_Blob]:
    held, is_lost = _Held(), False
    for number, line in lines:
        is_lost = is_lost and not line.startswith(b"{")
        if is_lost:
            continue
        yield from held.add(number, line, report)
        problem = held.problem
        if problem:
            yield held.taken(problem)
            is_lost = True
    if held.depth:
        yield held.taken("an object that does not end")


class _Held:
    """The beginning of an object whose end has not come yet."""

    def __init__(self) -> None:
        self.depth = 0
        self._openings = 0
        self._line = 0
        self._text = bytearray()

    @property
    def problem(self) -> str:
        """Why the object is not worth reading on; "" while it is."""
        if self.depth > DEPTH_MAX:
            return f"an object nested deeper than {DEPTH_MAX} levels"
        if self._openings > INNER_MAX:
            return f"an object of more than {INNER_MAX} others"
        return (
            f"an object of more than {OBJECT_BYTES_MAX} bytes"
            if len(self._text) > OBJECT_BYTES_MAX
            else ""
        )

    def add(self, number: int, line: bytes, report: Report) -> Iterator[_Blob]:
        """Objects that end on this line; the line's last part is held where one is still open."""
        openings, closings = line.count(b"{"), line.count(b"}")
        empty = line.count(b"{}")
        if closings - empty < self.depth and b'"' not in line:
            # Most lines with a brace, at a tenth of the cost.
            self._openings += openings
            self.depth += openings - closings
            self._hold(line)
        elif openings or closings:
            yield from self._add(number, line, report)
        elif self.depth:
            self._hold(line)
        elif line.strip(_BETWEEN):
            report.skip(number, _OUTSIDE)

    def _add(self, number: int, line: bytes, report: Report) -> Iterator[_Blob]:
        """Do what `add` does, brace by brace."""
        done, is_odd = 0, False
        for match in _TOKEN.finditer(line):
            token = line[match.start()]
            if token == _OPENING:
                if not self.depth:
                    is_odd = is_odd or bool(line[done : match.start()].strip(_BETWEEN))
                    done, self._line = match.start(), number
                self.depth += 1
                self._openings += 1
                if self.depth > DEPTH_MAX or self._openings > INNER_MAX:
                    break
            elif token == _CLOSING and self.depth:
                self.depth -= 1
                if not self.depth:
                    self._hold(line[done : match.end()])
                    done = match.end()
                    yield self.taken()
        if self.depth:
            self._hold(line[done:])
        elif is_odd or line[done:].strip(_BETWEEN):
            report.skip(number, _OUTSIDE)

    def _hold(self, part: bytes) -> None:
        # Indentation is half of most files; that there was some shows where objects begin.
        self._text += b" " + part.strip() if part[:1].isspace() else part
        self._text += b"\n"

    def taken(self, problem: str = "") -> _Blob:
        """Return what is held, which nothing is any more. problem: why it is no whole object."""
        blob = _Blob(self._line, bytes(self._text), problem)
        self._text.clear()
        self._openings = self.depth = 0
        return blob
