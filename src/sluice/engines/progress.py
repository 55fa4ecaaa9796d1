"""How far a live run is, for whoever watches."""

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
    """The run at an instant, seconds since its start; `jobs` are those released, not ended."""

    at_s: float
    jobs_total: int
    jobs_ended: int
    jobs: tuple[JobProgress, ...]


class Watcher(Protocol):
    """Is told how a run goes."""

    def on_progress(self, progress: Progress) -> None:
        """Something has moved; told a few times a second at most, and at the end."""

    def on_message(self, message: str) -> None:
        """One sentence for people, such as a job that was turned away."""


class Unwatched:
    """Tells nobody."""

    def on_progress(self, progress: Progress) -> None: ...

    def on_message(self, message: str) -> None: ...


def progress_of(state: ClusterState, *, jobs_total: int, at_s: float) -> Progress:
    """How far the run is. Costs one step per phase of the released jobs."""
    open_jobs = len(state.deferred) + len(state.waiting) + len(state.active)
    return Progress(
        at_s=at_s,
        jobs_total=jobs_total,
        jobs_ended=len(state.jobs) - open_jobs,
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
