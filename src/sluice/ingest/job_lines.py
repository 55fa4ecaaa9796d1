"""Jobs as one line each: name, maps, reduces, length of a map, length of a reduce.

The format of the simulators that job orders are studied with. Fields are parted by blanks, tabs or
commas; blank lines and lines that begin with `#` are skipped, and so is a first line that only
names the fields. Lengths are in seconds; that of a phase without tasks is not looked at. There is
no cluster in such a file. Source: ordering spec, section 2.

A line becomes what the workload file would say in its place, and is held to the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sluice.ingest.positions import NotationError, Place

_FIELDS = ("name", "m", "r", "tm", "tr")
_PARTED = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WHOLE = re.compile(r"[-+]?\d{1,30}")
# Special characters of YAML. A job whose name starts with one needs a workload file.
_YAML_STARTS = ("{", "[", "#", "%", "---", "- ", "? ", '"', "'", "&", "*", "!", "|", ">")
_SHOWN_MAX = 40  # characters of a line


class JobLines(NamedTuple):
    """The workload's plain value, and the line of each job."""

    value: object
    lines: tuple[int, ...]


def are_job_lines(text: str) -> bool:
    """Whether the first line that says something has five fields, or a number as its second."""
    for _, line in _numbered_lines(text):
        if ": " in line or line.endswith(":") or line.startswith(_YAML_STARTS) or ";" in line:
            return False
        fields = _PARTED.split(line)
        return len(fields) == len(_FIELDS) or (len(fields) > 1 and _is_number(fields[1]))
    return False


def read_job_lines(text: str) -> JobLines:
    """The jobs. Raises NotationError for a line without five fields."""
    jobs: list[dict[str, object]] = []
    lines: list[int] = []
    for number, line in _numbered_lines(text):
        fields = _PARTED.split(line)
        if not lines and not jobs and tuple(field.lower() for field in fields) == _FIELDS:
            continue
        if len(fields) != len(_FIELDS):
            shown = line if len(line) <= _SHOWN_MAX else f"{line[:_SHOWN_MAX]}..."
            raise NotationError(
                f"it has {len(fields)} fields: {shown!r}",
                place=Place(number, 1),
                hint="give five in each line: name, maps, reduces, length of a map, of a reduce",
            )
        jobs.append(_job(fields))
        lines.append(number)
    return JobLines({"version": 1, "jobs": jobs}, tuple(lines))


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines, without blanks around them and without those that say nothing."""
    start, number = 0, 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        line = text[start:end].strip()
        if line and not line.startswith("#"):
            yield number, line
        start = end + 1


def _is_number(field: str) -> bool:
    return _NUMBER.fullmatch(field) is not None


def _job(fields: list[str]) -> dict[str, object]:
    name, maps, reduces, map_s, reduce_s = fields
    return {"id": name, "maps": _phase(maps, map_s), "reduces": _phase(reduces, reduce_s)}


def _phase(tasks: str, length_s: str) -> dict[str, object]:
    count = int(tasks) if _WHOLE.fullmatch(tasks) else _value(tasks)
    return {"tasks": 0} if count == 0 else {"tasks": count, "avg_s": _value(length_s)}


def _value(field: str) -> object:
    """A number where it is one; any other text is refused by the shape of a job."""
    return float(field) if _is_number(field) else field
