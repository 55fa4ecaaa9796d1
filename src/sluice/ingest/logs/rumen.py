"""Rumen's traces of MapReduce jobs: one JSON object a job, one after the other.

Rumen mines them from job histories, and GridMix and SLS replay them. A job holds its map tasks, its
reduce tasks and others (setup, cleanup), a task its attempts. What an attempt did not count is -1.

Rumen keeps less than the history does. The bytes that maps put out are those before combining and
compressing (`mapOutputBytes`), because Rumen does not record what they stored for the reduces. A
job's settings are in it only if Rumen was configured to keep them (`jobProperties`).

Rumen's folder fills a trace by repeating jobs under their ids at later instants: an object with the
id of another is one more job, `<id>#2`. With the same submission too it is skipped as a copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sluice.ingest.logs.hadoop_attempts import (
    MAP,
    REDUCE,
    Attempt,
    Work,
    fetched_ms_within,
    host_of,
)
from sluice.ingest.logs.hadoop_configuration import kept_settings
from sluice.ingest.logs.hadoop_jobs import HadoopJob, Timelines, past_run
from sluice.ingest.logs.hadoop_objects import json_objects
from sluice.ingest.logs.hadoop_values import Members, amount, instant_ms, items, members, text
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, NoOptions, Report, nothing_in_lines
from sluice.model.history import PastRun

FORMAT = "rumen"
Options = NoOptions

_MARKS = (b'"mapTasks"', b'"reduceTasks"', b'"attemptID"', b'"jobID"', b'"taskID"')
_TASKS = (("mapTasks", MAP), ("reduceTasks", REDUCE))
_COUNTS = (
    "hdfsBytesRead",
    "hdfsBytesWritten",
    "mapInputBytes",
    "mapInputRecords",
    "mapOutputBytes",
    "mapOutputRecords",
    "reduceInputRecords",
    "reduceOutputRecords",
    "reduceShuffleBytes",
    "spilledRecords",
)
_WELL = frozenset({"SUCCESS", "SUCCEEDED"})
_NO_STORED_BYTES = (
    "Rumen does not record what maps stored for the reduces:"
    " shuffle_write_bytes is what they put out, before combining and compressing."
)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A file with a job in Rumen's form: its id, and tasks in lists."""
    return head.lstrip()[:1] in (b"{", b"[") and sum(mark in head for mark in _MARKS) > 1


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The jobs of a trace. Raises InvalidInput where there is none."""
    runs: dict[str, PastRun] = {}
    submissions: dict[str, set[int | None]] = {}
    timelines = Timelines(limits)
    for line, job in json_objects(path, report, limits):
        job_id = text(job.get("jobID"))
        if not job_id or not any(key in job for key, _ in _TASKS):
            report.skip(line, "an object that is not a job: it has no jobID, or no list of tasks")
            continue
        submitted = submissions.setdefault(job_id, set())
        submitted_ms = instant_ms(job.get("submitTime"))
        if submitted_ms in submitted:
            report.skip(line, f"job {job_id} is given twice")
            continue
        submitted.add(submitted_ms)
        name = job_id if len(submitted) == 1 else f"{job_id}#{len(submitted)}"
        runs[name] = timelines.fitted(past_run(_hadoop_job(job, name, line, report)))
    if not runs:
        raise nothing_in_lines(
            path, report, "Rumen job", hint="give a trace that Rumen has written"
        )
    return Contents(runs=tuple(runs.values()), notes=(_NO_STORED_BYTES,))


def _hadoop_job(job: Members, job_id: str, line: int, report: Report) -> HadoopJob:
    attempts: list[Attempt] = []
    failed = Counter[str]()
    for key, kind in _TASKS:
        for index, task in enumerate(items(job.get(key))):
            hosts = _hosts(members(task)) if kind == MAP else frozenset()
            for number, attempt in enumerate(items(members(task).get("attempts"))):
                fields = members(attempt)
                outcome = text(fields.get("result")).upper()
                if outcome in _WELL:
                    place = _Place(kind, index, number, job_id, line, hosts)
                    attempts += _attempt(fields, place, report)
                elif outcome == "FAILED":
                    failed[kind] += 1
    outcome = text(job.get("outcome")).upper()
    return HadoopJob(
        source=FORMAT,
        job_id=job_id,
        names=(text(job.get("jobName")),),
        attempts=tuple(attempts),
        failed=failed,
        succeeded=outcome in _WELL if outcome else None,
        submitted_ms=instant_ms(job.get("submitTime")),
        launched_ms=instant_ms(job.get("launchTime")),
        finished_ms=instant_ms(job.get("finishTime")),
        queue=text(job.get("queue")),
        configuration=kept_settings(members(job.get("jobProperties")).items()),
    )


class _Place(NamedTuple):
    kind: str
    task: int
    number: int
    job_id: str
    line: int
    hosts: frozenset[str]  # of the input; empty if it has none


def _hosts(task: Members) -> frozenset[str]:
    """Nodes that hold the input of a map; the last of the layers of a place is the node."""
    layers = [
        items(members(place).get("layers")) for place in items(task.get("preferredLocations"))
    ]
    return frozenset(host_of(text(each[-1])) for each in layers if each) - {""}


def _fetched_ms(fields: Members, kind: str, started_ms: int, finished_ms: int) -> int | None:
    if kind == MAP:
        return None
    return fetched_ms_within(instant_ms(fields.get("shuffleFinished")), started_ms, finished_ms)


def _work(fields: Members, kind: str) -> Work:
    """Return what an attempt counted.

    The maps' input is that from HDFS, or else that of all records.
    """
    counts = {name: count for name in _COUNTS if (count := amount(fields.get(name))) is not None}
    usage = members(fields.get("resourceUsageMetrics"))
    cpu_ms, rss_bytes = usage.get("cumulativeCpuUsage"), usage.get("physicalMemoryUsage")
    is_map = kind == MAP
    return Work(
        input_bytes=counts.get("hdfsBytesRead", counts.get("mapInputBytes", 0)),
        output_bytes=counts.get("hdfsBytesWritten", 0),
        shuffle_read_bytes=0 if is_map else counts.get("reduceShuffleBytes", 0),
        shuffle_write_bytes=counts.get("mapOutputBytes", 0) if is_map else 0,
        input_records=counts.get(f"{kind}InputRecords", 0),
        output_records=counts.get(f"{kind}OutputRecords", 0),
        cpu_ms=amount(cpu_ms),
        rss_bytes=amount(rss_bytes),
        spilled_records=counts.get("spilledRecords"),
    )


def _attempt(fields: Members, place: _Place, report: Report) -> Iterator[Attempt]:
    started_ms = instant_ms(fields.get("startTime"))
    finished_ms = instant_ms(fields.get("finishTime"))
    if started_ms is None or finished_ms is None or finished_ms < started_ms:
        name = text(fields.get("attemptID")) or f"of {place.kind} {place.task}"
        report.skip(
            place.line, f"job {place.job_id}, attempt {name}: it has no start, or no end after it"
        )
        return
    node = text(fields.get("hostName"))
    yield Attempt(
        kind=place.kind,
        task=place.task,
        number=place.number,
        started_ms=started_ms,
        finished_ms=finished_ms,
        fetched_ms=_fetched_ms(fields, place.kind, started_ms, finished_ms),
        node=node,
        work=_work(fields, place.kind),
        is_remote=host_of(node) not in place.hosts if node and place.hosts else None,
    )
