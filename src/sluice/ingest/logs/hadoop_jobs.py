"""One job of a Hadoop history in any of its forms, and the run made of it.

Instants of a run count from its submission. If that is missing, or if a task started before
it by the clock of another machine, they count from the earliest known instant, and the run's
notes say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sluice.ingest.logs.hadoop_attempts import Attempt, phases_of
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Report
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopJob:
    """A job as recorded. Instants in milliseconds of the epoch, None if missing.

    names: what to call its profile by, the best first; empty ones do not count.
    succeeded: None where the log ends before the job does.
    failed: attempts that failed, by kind.  remote_maps: as the job counted them.
    """

    source: str
    job_id: str
    names: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    failed: Mapping[str, int]
    succeeded: bool | None
    submitted_ms: int | None = None
    launched_ms: int | None = None
    finished_ms: int | None = None
    queue: str = ""
    remote_maps: int | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def past_run(job: HadoopJob) -> PastRun:
    """The run of a job."""
    origin_ms, clock_notes = _origin_ms(job)
    profile = next((name for name in job.names if name), "")
    notes = [*job.notes, *clock_notes]
    if not profile:
        notes.append("The log has no job name: the profile is named after the id.")
    if job.succeeded is None:
        notes.append("It ends before the job does: the run does not count as successful.")
    return PastRun(
        run_id=job.job_id,
        profile=profile or job.job_id,
        source=job.source,
        phases=phases_of(job.attempts, job.failed, origin_ms, job.remote_maps),
        succeeded=bool(job.succeeded),
        submitted_at_s=None if job.submitted_ms is None else origin_ms / 1000,
        elapsed_s=_elapsed_s(job, origin_ms),
        queue=job.queue or None,
        configuration=job.configuration,
        notes=tuple(notes),
    )


def _origin_ms(job: HadoopJob) -> tuple[int, list[str]]:
    """Return what the run's instants count from, and what is to be said of it."""
    starts_ms = [attempt.started_ms for attempt in job.attempts]
    if job.submitted_ms is None:
        fields = [*starts_ms, *([] if job.launched_ms is None else [job.launched_ms])]
        note = "The log has no submission time: times count from its first event."
        return min(fields, default=0), [note]
    first_ms = min(starts_ms, default=job.submitted_ms)
    if first_ms < job.submitted_ms:
        behind_s = (job.submitted_ms - first_ms) / 1000
        note = f"A task started {behind_s} s before the submission: instants count from there."
        return first_ms, [note]
    return job.submitted_ms, []


def _elapsed_s(job: HadoopJob, origin_ms: int) -> float | None:
    """Submission to end of the job; None if one is missing, or they contradict."""
    if job.submitted_ms is None or job.finished_ms is None or job.finished_ms < origin_ms:
        return None
    return (job.finished_ms - origin_ms) / 1000


class Timelines:
    """Room for the tasks of a log one by one; a run that finds no more keeps its averages only."""

    def __init__(self, limits: Limits) -> None:
        self._most = self._left = limits.timeline_tasks_max

    def fitted(self, run: PastRun) -> PastRun:
        """The run, without its tasks where they are too many."""
        tasks = sum(len(phase.timeline) for phase in run.phases)
        if tasks <= self._left:
            self._left -= tasks
            return run
        note = f"The log has more than {self._most} tasks: here averages and maxima are kept only."
        phases = tuple(replace(phase, timeline=()) for phase in run.phases)
        return replace(run, phases=phases, notes=(*run.notes, note))


def is_hopeless(report: Report, line: int, limits: Limits) -> bool:
    """Whether so much was skipped, up to a line, that reading on is of no use."""
    return report.skipped_count > max(limits.skipped_max, line // 2)


def check_hope(path: Path, report: Report, line: int, limits: Limits) -> None:
    """Raise InvalidInput where it is hopeless; for pieces of lines, and what has no lines."""
    if is_hopeless(report, line, limits):
        raise InvalidInput(
            f"{report.skipped_count} pieces of it cannot be used",
            where=str(path),
            hint="give a log that is less damaged, or name its format",
        )
