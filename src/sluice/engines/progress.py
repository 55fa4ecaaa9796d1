"""The progress of a live run, for its watchers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.ids import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgress:
    """One phase: its tasks in all, and how many are done, counting the parts of running ones."""

    tasks: int
    done: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """One job: its tasks in all, done, and running now.

    fraction: share of its work that is done, running tasks included; None if not estimated.
    """

    job_id: JobId
    state: JobState
    tasks: int
    tasks_done: int
    tasks_running: int
    phases: tuple[PhaseProgress, ...] = ()
    fraction: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The run at an instant, seconds since its start; `jobs` are those released, not ended.

    jobs_uncommitted: jobs with all tasks done whose output could not be committed. They are not
    among `jobs_ended`.  ended: the ids of jobs that have ended in any way.
    fraction: share of the work of all jobs that is done.  left_s: expected seconds to the end.
    Both are None if not estimated.
    """

    at_s: float
    jobs_total: int
    jobs_ended: int
    jobs: tuple[JobProgress, ...]
    jobs_uncommitted: int = 0
    ended: frozenset[JobId] = frozenset()
    fraction: float | None = None
    left_s: float | None = None


@runtime_checkable
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
    """The progress of the run. Costs one step per job, released phase and running attempt."""
    started = _started(state)
    open_jobs = len(state.deferred) + len(state.waiting) + len(state.active)
    return Progress(
        at_s=at_s,
        jobs_total=jobs_total,
        jobs_ended=len(state.jobs) - open_jobs - jobs_uncommitted,
        jobs_uncommitted=jobs_uncommitted,
        jobs=tuple(_job_progress(entry, started) for entry in state.active.values()),
        ended=frozenset(job_id for job_id, entry in state.jobs.items() if entry.has_ended),
    )


def _started(state: ClusterState) -> Mapping[PhaseEntry, float]:
    """By phase, the parts of its running tasks that are done. Of two copies the further counts."""
    furthest: dict[tuple[PhaseEntry, int], float] = {}
    for attempt in state.running.values():
        task = attempt.phase, attempt.key.task
        if not attempt.is_moot:
            furthest[task] = max(attempt.progress, furthest.get(task, 0.0))
    started: dict[PhaseEntry, float] = {}
    for (phase, _), progress in furthest.items():
        started[phase] = started.get(phase, 0.0) + progress
    return started


def _job_progress(entry: JobEntry, started: Mapping[PhaseEntry, float]) -> JobProgress:
    return JobProgress(
        job_id=entry.job_id,
        state=entry.state,
        tasks=entry.job.tasks,
        tasks_done=sum(phase.done for phase in entry.phases),
        tasks_running=sum(phase.running for phase in entry.phases),
        phases=tuple(
            PhaseProgress(tasks=phase.tasks, done=phase.done + started.get(phase, 0.0))
            for phase in entry.phases
        ),
    )
