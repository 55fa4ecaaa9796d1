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

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_plus

from sluice.ingest.logs.hadoop_avro import HEADER, binary_events
from sluice.ingest.logs.hadoop_configuration import JOB_NAME, configuration_of
from sluice.ingest.logs.hadoop_history import HANDLED, IGNORED, JobHistory, job_id_of
from sluice.ingest.logs.hadoop_jobs import HadoopJob, Timelines, check_hope, nothing_found, past_run
from sluice.ingest.logs.hadoop_values import Members, Unreadable, json_value, members, text
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_chunks, log_head, log_lines
from sluice.ingest.logs.report import Contents, NoOptions, Report
from sluice.model.history import PastRun

FORMAT = "jhist"
Options = NoOptions

_MARK = b"org.apache.hadoop.mapreduce.jobhistory"
_HEADERS = (b"Avro-Json", HEADER)
_JOBS_MAX = 1000  # of one history; only one of them is real
_NAMED = re.compile(r"(job_\w+?_\d+)(?=\D|$)", re.ASCII)
_NAME_PARTS = 8  # id, submission, user, name, end, maps, reduces, status, and then some

Numbered = tuple[int, Members | None]


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A file with the header of a history, or, where that was cut off, with its events."""
    return head.startswith(_HEADERS) or (_MARK in head and b'"event"' in head)


def read(path: Path, report: Report, options: NoOptions, limits: Limits) -> Contents:  # noqa: ARG001  # there is nothing to choose
    """The job of a history, or those of several that were joined into one file.

    Raises InvalidInput where there is none.
    """
    sections = _Sections(path, report, limits)
    for line, value in _values(path, report, limits):
        try:
            sections.take(line, value)
        except Unreadable as error:
            report.skip(line, str(error))
            check_hope(path, report, line, limits)
    runs = sections.runs()
    if not runs:
        raise nothing_found(
            path,
            report,
            what="event of a MapReduce job",
            hint="give a .jhist file as Hadoop has it",
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


class _Sections:
    """The histories in a file: nearly always one, of one job."""

    def __init__(self, path: Path, report: Report, limits: Limits) -> None:
        self._path = path
        self._report = report
        self._limits = limits
        self._timelines = Timelines(limits)
        self._jobs: dict[str, JobHistory] = {}
        self._runs: dict[str, PastRun] = {}

    def take(self, line: int, value: Members | None) -> None:
        """An event, or None where a new history begins. Raises Unreadable."""
        if value is None:
            self._close()
            return
        kind = text(value.get("type"))
        if kind == "record" or kind in IGNORED:
            return
        if kind not in HANDLED:
            raise Unreadable(f"an event of unknown type {kind[:80]!r}")
        fields = _fields(value)
        self._job(job_id_of(fields), line).take(line, kind, fields)

    def _job(self, job_id: str, line: int) -> JobHistory:
        job = self._jobs.get(job_id)
        if job is None:
            if len(self._jobs) == _JOBS_MAX:
                raise Unreadable(f"an event of {job_id}, after those of {_JOBS_MAX} other jobs")
            job = self._jobs[job_id] = JobHistory(job_id, line)
        return job

    def _close(self) -> None:
        """The job of most events; events of other jobs are damage."""
        jobs = [job for job in self._jobs.values() if job.events]
        jobs.sort(key=lambda job: (-job.events, job.job_id not in self._path.name, job.line))
        for job in jobs[1:]:
            why = f"{job.events} events of {job.job_id}, in the history of {jobs[0].job_id}"
            self._report.skip(job.line, why)
        for job in jobs[:1]:
            if job.job_id in self._runs:
                self._report.skip(job.line, f"{job.job_id} is given twice")
            else:
                self._runs[job.job_id] = self._timelines.fitted(past_run(self._hadoop_job(job)))
        self._jobs = {}

    def runs(self) -> tuple[PastRun, ...]:
        """The runs of all events."""
        self._close()
        return tuple(self._runs.values())

    def _hadoop_job(self, job: JobHistory) -> HadoopJob:
        configuration = self._configuration(job.job_id)
        given_name = configuration.pop(JOB_NAME, "")
        return HadoopJob(
            source=FORMAT,
            job_id=job.job_id,
            names=(job.name, given_name, _name_in(self._path.name)),
            attempts=job.attempts(self._report),
            failed=job.failed(),
            succeeded=job.succeeded,
            submitted_ms=job.submitted_ms,
            launched_ms=job.launched_ms,
            finished_ms=job.finished_ms,
            queue=job.queue,
            remote_maps=job.remote_maps,
            configuration=configuration,
        )

    def _configuration(self, job_id: str) -> dict[str, str]:
        named = _NAMED.match(self._path.name)
        for name in dict.fromkeys((job_id, named[1] if named else job_id)):
            configuration = self._path.with_name(f"{name}_conf.xml")
            if configuration.is_file():
                return configuration_of(
                    configuration, self._report.part(configuration.name), self._limits
                )
        return {}


def _fields(value: Members) -> Members:
    """The fields of an event. JSON wraps them in the name of the type; the binary form does not."""
    event = members(value.get("event"))
    if not event:
        raise Unreadable("an event without content")
    return event


def _name_in(file_name: str) -> str:
    """The job's name in the name of its history: job_1_2-submitted-user-NAME-..."""
    parts = file_name.split("-")
    return text(unquote_plus(parts[3])) if len(parts) >= _NAME_PARTS else ""
