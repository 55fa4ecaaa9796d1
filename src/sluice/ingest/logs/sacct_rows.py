"""Rows of `sacct`, whichever way it prints them: `-P`, `-p`, columns of fixed width, or `--json`.

Fixed columns are cut where the line of dashes under their names says. The objects of `--json`
(Slurm 21.08 and later) become rows of the same columns: their numbers are plain ones, or from
Slurm 23.02 on `{"set": true, "infinite": false, "number": 60}`. Source: sacct(1), and the schemas
dbv0.0.37 to v0.0.41 of Slurm's REST API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_head, log_lines
from sluice.ingest.logs.report import Report
from sluice.ingest.logs.slurm_values import SEPARATORS, json_number
from sluice.ingest.logs.whole_json import listed, mapping, whole_json
from sluice.model.errors import InvalidInput

HINT: Final = (
    "give what `sacct --parsable2 --format=JobID,JobName,User,Partition,Submit,Start,"
    "Elapsed,Timelimit,AllocCPUS,State` prints"
)
_RULE = re.compile(rb"\s*-+(?: +-+)+\s*")
_JSON_KEYS: Final = (b'"submission"', b'"tres"', b'"state"')

_Row = dict[str, str]


def is_account(head: bytes) -> bool:
    """Whether a file begins with a job's id and its state, as names of columns or as an object."""
    if head.lstrip()[:1] == b"{":
        return all(key in head for key in _JSON_KEYS)
    lines = [line for line in head.split(b"\n")[:10] if line.strip()]
    if not lines:
        return False
    separator = _separator(lines[0])
    if separator is None and not (len(lines) > 1 and _RULE.fullmatch(lines[1])):
        return False
    names = lines[0].decode("utf-8-sig", "replace").split(separator)
    stripped = {name.strip() for name in names}
    return "State" in stripped and not stripped.isdisjoint({"JobID", "JobIDRaw"})


def account_rows(path: Path, report: Report, limits: Limits) -> Iterator[tuple[int, _Row]]:
    """The cells of each row by the names of their columns, with the number of the line.

    report: receives rows with more or fewer cells than there are columns.
    Raises InvalidInput where a column is missing.
    """
    if log_head(path).lstrip()[:1] == b"{":
        yield from _objects(path, report, limits)
        return
    names: list[str] = []
    header, separator = b"", None
    cuts: list[slice] = []
    for position, line in log_lines(path, report, limits):
        if not header:
            header, separator = line, _separator(line)
            names = [
                cell.strip() for cell in header.decode("utf-8-sig", "replace").split(separator)
            ]
            _check(path, names)
            continue
        if separator is None and not cuts and _RULE.fullmatch(line):
            cuts = [slice(*found.span()) for found in re.finditer("-+", line.decode())]
            names = _cut(header.decode("utf-8", "replace"), cuts)
            _check(path, names)
            continue
        text = line.decode("utf-8", "backslashreplace").strip("\r")
        cells = text.split(separator) if separator else _cut(text, cuts)
        if len(cells) == len(names):
            found = {name: cell.strip() for name, cell in zip(names, cells, strict=True) if name}
            found.setdefault("JobID", found.get("JobIDRaw", ""))
            yield position, found
        else:
            report.skip(position, f"{len(cells)} cells, not {len(names)}")


def _separator(header: bytes) -> str | None:
    return next((one for one in SEPARATORS if one.encode() in header), None)


def _cut(text: str, cuts: Sequence[slice]) -> list[str]:
    return [text[cut].strip() for cut in cuts]


def _check(path: Path, names: Sequence[str]) -> None:
    """Raises InvalidInput where a column that is needed is missing."""
    if "JobIDRaw" in names:
        names = ["JobID", *names]
    missing = [name for name in ("JobID", "State", "Submit", "Start") if name not in names]
    if missing:
        raise InvalidInput(f"its first line has no column {missing[0]}", where=str(path), hint=HINT)


# --- JSON -----------------------------------------------------------------------------------------


def _objects(path: Path, report: Report, limits: Limits) -> Iterator[tuple[int, _Row]]:
    document = whole_json(path, report, limits)
    for number, job in enumerate(_list(document, "jobs"), start=1):
        if isinstance(job, dict):
            yield from ((number, row) for row in _rows_of(job))
        else:
            report.skip(number, "a job is not an object")


def _rows_of(job: Mapping[str, Any]) -> Iterator[_Row]:
    """The row of a job, then those of its steps, which have its memory."""
    times, job_id = _object(job, "time"), _id(job)
    started_at_s = json_number(times.get("start"))
    yield {
        "JobID": job_id,
        "JobName": _text(job.get("name")),
        "User": _text(job.get("user")) or _text(_object(job, "association").get("user")),
        "Account": _text(job.get("account")),
        "Partition": _text(job.get("partition")),
        "State": _state(_object(job, "state").get("current")),
        "Submit": _whole(times.get("submission")),
        "Start": _whole(times.get("start")) if started_at_s else "",
        "ElapsedRaw": _whole(times.get("elapsed")),
        "TimelimitRaw": _whole(times.get("limit")),
        "AllocCPUS": _count(_list(_object(job, "tres"), "allocated"), "cpu"),
    }
    for step in _list(job, "steps"):
        requested = _object(_object(step, "tres"), "requested")
        yield {"JobID": f"{job_id}.step", "MaxRSS": _count(_list(requested, "max"), "mem")}


def _id(job: Mapping[str, Any]) -> str:
    array, parts = _object(job, "array"), _object(job, "het")
    array_id, task = json_number(array.get("job_id")), json_number(array.get("task_id"))
    if array_id and task is not None:
        return f"{array_id:.0f}_{task:.0f}"
    whole_id, offset = json_number(parts.get("job_id")), json_number(parts.get("job_offset"))
    if whole_id and offset is not None:
        return f"{whole_id:.0f}+{offset:.0f}"
    return _whole(job.get("job_id"))


def _state(current: object) -> str:
    first = current[0] if isinstance(current, list) and current else current
    return _text(first)


def _count(resources: Sequence[object], kind: str) -> str:
    """How much of a kind a list of resources holds; 0 for a job that never had any."""
    found = (one for one in resources if isinstance(one, dict) and one.get("type") == kind)
    return _whole(next((one.get("count") for one in found), 0))


def _whole(value: object) -> str:
    number = json_number(value)
    return "" if number is None else f"{number:.0f}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(holder: object, key: str) -> Mapping[str, Any]:
    return mapping(mapping(holder).get(key))


def _list(holder: object, key: str) -> Sequence[object]:
    return listed(mapping(holder).get(key))
