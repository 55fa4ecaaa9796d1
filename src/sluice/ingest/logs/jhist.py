"""Hadoop's job histories (`.jhist`), of Hadoop 0.23, 2.x and 3.x.

A history holds the events of one job: a line that names its encoding, one with the schema, then one
event after the other, as JSON lines (`Avro-Json`) or, by default since Hadoop 3, in Avro's binary
encoding (`Avro-Binary`). The versions differ in fields of events that are not read here, and in
the types that JSON writes around values that may be missing: `{"string": "default"}`.

Where a `job_.._conf.xml` is next to the history, as in Hadoop's own folders, the settings that
bear on speed are taken from it. A job that failed is a run without success; a phase of it in which
no attempt ended well is left out. Messages number lines, or the events of a binary history.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sluice.ingest.logs.hadoop_avro import HEADER, binary_events
from sluice.ingest.logs.hadoop_history import IGNORED
from sluice.ingest.logs.hadoop_jobs import check_hope
from sluice.ingest.logs.hadoop_sections import Sections
from sluice.ingest.logs.hadoop_values import Members, Unreadable, json_value, members, text
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_chunks, log_head, log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report, nothing_in_lines

FORMAT = "jhist"
Options = NoOptions

_MARK = b"org.apache.hadoop.mapreduce.jobhistory"
_HEADERS = (b"Avro-Json", HEADER)

Numbered = tuple[int, Members | None]


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A file with the header of a history, or, where that was cut off, with its events."""
    return head.startswith(_HEADERS) or (_MARK in head and b'"event"' in head)


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The job of a history, or those of several that were joined into one file.

    Raises InvalidInput where there is none.
    """
    sections = Sections(FORMAT, path, report, limits)
    for line, value in _values(path, report, limits):
        try:
            _take(sections, line, value)
        except Unreadable as error:
            report.skip(line, str(error))
            check_hope(path, report, line, limits)
    runs = sections.runs()
    if not runs:
        raise nothing_in_lines(
            path, report, "event of a MapReduce job", hint="give a .jhist file as Hadoop has it"
        )
    return Contents(runs=runs)


def _values(path: Path, report: Report, limits: Limits) -> Iterator[Numbered]:
    """Events, and None wherever a header begins a new history."""
    if log_head(path).startswith(HEADER):
        yield from _binary_values(path, report, limits)
        return
    for number, line in log_lines(path, report, limits):
        stripped = line.strip()
        if stripped.startswith(_HEADERS):
            yield number, None
        elif stripped:
            try:
                yield number, members(json_value(stripped))
            except Unreadable as error:
                report.skip(number, str(error))


def _binary_values(path: Path, report: Report, limits: Limits) -> Iterator[Numbered]:
    number = 0
    try:
        chunks = log_chunks(path, report, limits)
        for number, value in enumerate(binary_events(chunks), start=1):
            yield number, value
    except Unreadable as error:
        report.skip(number + 1, f"{error}: all from here on is left out")


def _take(sections: Sections, line: int, value: Members | None) -> None:
    """An event, or None where a new history begins. Raises Unreadable."""
    if value is None:
        sections.close()
        return
    kind = text(value.get("type"))
    if kind != "record" and kind not in IGNORED:
        sections.take(line, kind, _fields(value))


def _fields(value: Members) -> Members:
    """The fields of an event. JSON wraps them in the name of the type; the binary form does not."""
    event = members(value.get("event"))
    if not event:
        raise Unreadable("an event without content")
    return event
