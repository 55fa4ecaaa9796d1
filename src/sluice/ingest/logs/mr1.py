"""Hadoop's job histories as text, of Hadoop 0.20, 0.21 and 1.x.

A line is a record: `MapAttempt TASKID="task_.." START_TIME="1240335965100" .`, in which quotes,
dots and equal signs of values have a backslash before them. A value may hold line breaks (the error
of an attempt), so that a record ends with ` .`, and not with its first line. A job is spread over
several records, each with what was new.

Records become the events of later Hadoops (`jhist`), and are counted as those are. Attempts that
set a job up or clean up behind it are left out. The configuration next to a history is read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.hadoop_jobs import check_hope
from sluice.ingest.logs.hadoop_sections import Sections
from sluice.ingest.logs.hadoop_values import Unreadable
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report, nothing_in_lines

FORMAT = "mr1"
Options = NoOptions

_PAIR: Final = re.compile(r'([A-Z_]{1,40})="((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_COUNTER: Final = re.compile(r"\[\((\w{1,80})\)\((?:[^()\\]|\\.)*\)\((\d{1,19})\)\]")
_RECORDS: Final = frozenset({"Meta", "Job", "Task", "MapAttempt", "ReduceAttempt"})
_BEGINNING: Final = re.compile(rb'(?:Meta|Job|Task|MapAttempt|ReduceAttempt) [A-Z_]+="')
_ENDS: Final = {"SUCCESS": "FINISHED", "FAILED": "FAILED", "KILLED": "KILLED"}
_KINDS: Final = {"MapAttempt": "MAP", "ReduceAttempt": "REDUCE"}
_AROUND: Final = frozenset({"SETUP", "CLEANUP"})  # attempts before and after the work
_RECORD_MAX: Final = 1 << 20  # characters of a record over all its lines

_Pairs = Mapping[str, str]
_Event = tuple[str, dict[str, Any]]


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A file whose first line is a record with an id of a job or a version."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    return bool(_BEGINNING.match(first)) and (b'Meta VERSION="' in first or b'ID="' in first)


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The job of a history, or those of several that were joined into one file.

    Raises InvalidInput where there is none.
    """
    sections = Sections(FORMAT, path, report, limits)
    has_ends = False  # the first versions had neither a Meta record nor ends
    for line, record in _records(path, report, limits):
        try:
            kind, pairs = _parsed(record, has_ends=has_ends)
            if kind == "Meta":
                has_ends = True
                sections.close()
                continue
            for event, fields in _events(kind, pairs):
                sections.take(line, event, fields)
        except Unreadable as error:
            report.skip(line, str(error))
            check_hope(path, report, line, limits)
    runs = sections.runs()
    if not runs:
        raise nothing_in_lines(
            path,
            report,
            "record of a MapReduce job",
            hint="give a history as the JobTracker of Hadoop 1 wrote it",
        )
    return Contents(runs=runs)


def _records(path: Path, report: Report, limits: Limits) -> Iterator[tuple[int, str]]:
    """Each record with the number of its first line."""
    held: list[str] = []
    first = size = 0
    for number, content in log_lines(path, report, limits):
        line = content.decode("utf-8", "backslashreplace").rstrip("\r")
        if _BEGINNING.match(content) and held:
            yield first, "\n".join(held)
            held, size = [], 0
        if not held:
            first = number
        size += len(line) + 1
        if size > _RECORD_MAX:
            report.skip(first, f"a record of more than {_RECORD_MAX} characters")
            held, size = [], 0
            continue
        held.append(line)
        if line.endswith(" ."):
            yield first, "\n".join(held)
            held, size = [], 0
    if held:
        yield first, "\n".join(held)


def _parsed(record: str, *, has_ends: bool) -> tuple[str, _Pairs]:
    """The kind of a record, and its values. Raises Unreadable where it is cut or damaged."""
    kind, _, rest = record.partition(" ")
    if kind not in _RECORDS:
        raise Unreadable(f"a record of unknown kind {kind[:80]!r}")
    if has_ends and kind != "Meta" and not rest.endswith(" ."):
        raise Unreadable("a record without its end")
    pairs = {key: _ESCAPED.sub(r"\1", value) for key, value in _PAIR.findall(rest)}
    if _PAIR.sub("", rest).strip(" ."):
        raise Unreadable('a record with something other than KEY="value" in it')
    return kind, pairs


def _events(kind: str, pairs: _Pairs) -> Iterator[_Event]:
    """Yield what a record says, as events of later Hadoops."""
    if kind == "Job":
        yield from _of_job(pairs)
    elif kind == "Task":
        if "SPLITS" in pairs and pairs.get("TASK_TYPE") == "MAP":
            yield (
                "TASK_STARTED",
                {"taskid": pairs.get("TASKID"), "splitLocations": pairs["SPLITS"]},
            )
    elif pairs.get("TASK_TYPE") not in _AROUND:
        yield from _of_attempt(_KINDS[kind], pairs)


def _of_job(pairs: _Pairs) -> Iterator[_Event]:
    status = pairs.get("JOB_STATUS", "")
    job = {
        "jobid": pairs.get("JOBID"),
        "jobName": pairs.get("JOBNAME"),
        "jobQueueName": pairs.get("JOB_QUEUE"),
        "submitTime": pairs.get("SUBMIT_TIME"),
        "launchTime": pairs.get("LAUNCH_TIME"),
        "finishTime": pairs.get("FINISH_TIME"),
        "totalCounters": _counters(pairs.get("COUNTERS", "")),
    }
    yield ("JOB_SUBMITTED", job)
    if "FINISH_TIME" in pairs:
        yield (f"JOB_{_ENDS.get(status, 'FAILED')}", job)


def _of_attempt(kind: str, pairs: _Pairs) -> Iterator[_Event]:
    attempt = {"attemptId": pairs.get("TASK_ATTEMPT_ID")}
    if "START_TIME" in pairs:
        started = {"startTime": pairs["START_TIME"], "trackerName": _host(pairs)}
        yield (f"{kind}_ATTEMPT_STARTED", attempt | started)
    if "FINISH_TIME" in pairs:
        status = pairs.get("TASK_STATUS", "")
        if status not in _ENDS:
            raise Unreadable(f"an attempt that ends with {status[:40]!r}")
        ended = {
            "finishTime": pairs["FINISH_TIME"],
            "shuffleFinishTime": pairs.get("SHUFFLE_FINISHED"),
            "hostname": pairs.get("HOSTNAME", "").rpartition("/")[2],
            "counters": _counters(pairs.get("COUNTERS", "")),
        }
        yield (f"{kind}_ATTEMPT_{_ENDS[status]}", attempt | ended)


def _host(pairs: _Pairs) -> str:
    """The machine of a tracker, which is `tracker_HOST:localhost/127.0.0.1:40541`."""
    return pairs.get("TRACKER_NAME", "").removeprefix("tracker_").partition(":")[0]


def _counters(written: str) -> dict[str, Any]:
    """Counters as later Hadoops give them.

    >>> _counters("{(g)(G)[(SPILLED_RECORDS)(Spilled Records)(12)]}")["groups"][0]["counts"]
    [{'name': 'SPILLED_RECORDS', 'value': 12}]
    """
    counts = [{"name": name, "value": int(value)} for name, value in _COUNTER.findall(written)]
    return {"groups": [{"counts": counts}]}
