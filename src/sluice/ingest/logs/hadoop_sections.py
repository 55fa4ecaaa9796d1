"""The histories in a file of Hadoop, each with the events of one job, and the runs made of them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote_plus

from sluice.ingest.logs.hadoop_configuration import JOB_NAME, configuration_of
from sluice.ingest.logs.hadoop_history import HANDLED, JobHistory, job_id_of
from sluice.ingest.logs.hadoop_jobs import HadoopJob, Timelines, past_run
from sluice.ingest.logs.hadoop_values import Members, Unreadable, text
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Report
from sluice.model.history import PastRun

_JOBS_MAX = 1000  # of one history; only one of them is real
_NAMED = re.compile(r"(job_\w+?_\d+)(?=\D|$)", re.ASCII)
_NAME_PARTS = 8  # id, submission, user, name, end, maps, reduces, status, and then some


class Sections:
    """The histories in a file: nearly always one, of one job.

    source: the format that its runs name.
    """

    def __init__(self, source: str, path: Path, report: Report, limits: Limits) -> None:
        self._source = source
        self._path = path
        self._report = report
        self._limits = limits
        self._timelines = Timelines(limits)
        self._jobs: dict[str, JobHistory] = {}
        self._runs: dict[str, PastRun] = {}

    def take(self, line: int, kind: str, fields: Members) -> None:
        """An event of a job. Raises Unreadable."""
        if kind not in HANDLED:
            raise Unreadable(f"an event of unknown type {kind[:80]!r}")
        self._job(job_id_of(fields), line).take(line, kind, fields)

    def _job(self, job_id: str, line: int) -> JobHistory:
        job = self._jobs.get(job_id)
        if job is None:
            if len(self._jobs) == _JOBS_MAX:
                raise Unreadable(f"an event of {job_id}, after those of {_JOBS_MAX} other jobs")
            job = self._jobs[job_id] = JobHistory(job_id, line)
        return job

    def close(self) -> None:
        """A history ends here: its job is the one of most events; those of others are damage."""
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
        self.close()
        return tuple(self._runs.values())

    def _hadoop_job(self, job: JobHistory) -> HadoopJob:
        configuration = self._configuration(job.job_id)
        given_name = configuration.pop(JOB_NAME, "")
        return HadoopJob(
            source=self._source,
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


def _name_in(file_name: str) -> str:
    """The job's name in the name of its history: job_1_2-submitted-user-NAME-..."""
    parts = file_name.split("-")
    return text(unquote_plus(parts[3])) if len(parts) >= _NAME_PARTS else ""
