"""The progress of a live run, for its watchers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sluice.core.entries import JobEntry
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.ids import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """One job: its tasks in all, done, and running now."""

    job_id: JobId
    state: JobState
    tasks: int
    tasks_done: int
    tasks_running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The run at an instant, seconds since its start; `jobs` are those released, not ended.

    jobs_uncommitted: jobs with all tasks done whose output could not be committed. They are not
    among `jobs_ended`.
    """

    at_s: float
    jobs_total: int
    jobs_ended: int
    jobs: tuple[JobProgress, ...]
    jobs_uncommitted: int = 0


class Watcher(Protocol):
    """Receives the progress and the messages of a run."""

    def on_progress(self, progress: Progress) -> None:
        """Called after a change, a few times a second at most, and at the end."""

    def on_message(self, message: str) -> None:
        """Called with one sentence for people, such as a refused job."""


class Unwatched:
    """A watcher that ignores everything."""

    def on_progress(self, progress: Progress) -> None: ...

    def on_message(self, message: str) -> None: ...


def progress_of(
    state: ClusterState, *, jobs_total: int, at_s: float, jobs_uncommitted: int = 0
) -> Progress:
    """The progress of the run. Costs one step per phase of the released jobs."""
    open_jobs = len(state.deferred) + len(state.waiting) + len(state.active)
    return Progress(
        at_s=at_s,
        jobs_total=jobs_total,
        jobs_ended=len(state.jobs) - open_jobs - jobs_uncommitted,
        jobs_uncommitted=jobs_uncommitted,
        jobs=tuple(_job_progress(entry) for entry in state.active.values()),
    )


def _job_progress(entry: JobEntry) -> JobProgress:
    return JobProgress(
        job_id=entry.job_id,
        state=entry.state,
        tasks=entry.job.tasks,
        tasks_done=sum(phase.done for phase in entry.phases),
        tasks_running=sum(phase.running for phase in entry.phases),
    )
