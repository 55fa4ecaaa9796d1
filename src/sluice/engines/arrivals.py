"""The jobs of a live run that are still to come: at their instants, or after other jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sluice.core.dependents import Dependents
from sluice.core.entries import JobEntry
from sluice.core.events import Event, JobKilled, JobSubmitted, JobWithdrawn
from sluice.core.state import ClusterState
from sluice.engines.driver_state import DriverState
from sluice.engines.work_source import WorkSource
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.store.journal import Journal


class Arrivals:
    """Submits the jobs of a run. Made when its journal has been replayed.

    A job that runs after others comes when their outputs are in their places, because it may read
    them; what it reads is laid out then, and journaled before it is submitted.
    Raises InvalidInput if a job that has come is not what it was.

    has_more: whether jobs may be added while others run.
    held: jobs that do not come until their user says so; see `change`.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        source: WorkSource,
        journal: Journal,
        driver_state: DriverState,
        *,
        has_more: bool = False,
        held: Iterable[JobId] = (),
    ) -> None:
        self._source = source
        self._journal = journal
        self._has_more = has_more
        self._held = set(held)
        self._due_when_free: dict[JobId, Job] = {}  # held jobs that could come otherwise
        state = driver_state.state
        for job in jobs:
            _check_unchanged(job, state)
        self._dependents = Dependents(jobs)
        to_come = [job for job in jobs if job.job_id not in state.jobs]
        self._due = [job for job in to_come if job not in self._dependents]
        self._stranded: list[tuple[Job, str]] = []
        self._is_known = state.jobs.__contains__
        settled = [entry for entry in state.jobs.values() if entry.has_ended]
        self.settled(entry for entry in settled if entry.job_id not in driver_state.unsettled)

    def __bool__(self) -> bool:
        """Whether a job comes whatever happens."""
        return bool(self._due or self._stranded)

    def add(self, jobs: Sequence[Job], held: Collection[JobId] = ()) -> None:
        """Jobs of one workload that were submitted now. held: those that wait for a user."""
        self._held.update(held)
        self._dependents.add(jobs)
        self._enqueue(job for job in jobs if job not in self._dependents)

    def kill(self, job_id: JobId, reason: str, now_s: float) -> list[Event]:
        """The events that cancel a job, whether it has come or not."""
        self._held.discard(job_id)
        # First: one that was changed at this instant is known, and leaves before it comes again.
        job = self._taken_out(job_id) or self._dependents.remove(job_id)
        if job is not None:
            return self._cancelled(job, reason, now_s)
        return [JobKilled(now_s, job_id, reason)] if self._is_known(job_id) else []

    def change(self, job: Job, now_s: float, *, is_held: bool) -> list[Event]:
        """A job that has started nothing gets other values, or is held, or is not held any more.

        It comes again, as the last of its line where order of arrival counts. Returns the event
        that takes the old one away.
        """
        (self._held.add if is_held else self._held.discard)(job.job_id)
        if self._dependents.replace(job):
            return []
        has_come = self._is_known(job.job_id)
        self._taken_out(job.job_id)
        self._enqueue([job])
        return [JobWithdrawn(now_s, job.job_id)] if has_come else []

    def _taken_out(self, job_id: JobId) -> Job | None:
        """A job that waits for its instant or its user, which it does no longer."""
        job = self._due_when_free.pop(job_id, None)
        if job is None:
            job = next((job for job in self._due if job.job_id == job_id), None)
            if job is not None:
                self._due.remove(job)
        return job

    def _enqueue(self, jobs: Iterable[Job]) -> None:
        """Jobs that wait for nothing but their instant. Stable, so that jobs of one instant come in
        the order in which they could.
        """
        self._due += jobs
        self._due.sort(key=lambda job: job.submitted_at_s)

    def settled(self, entries: Iterable[JobEntry]) -> None:
        """Jobs have ended, and their outputs are committed or removed."""
        entries = tuple(entries)
        ready = self._dependents.ready(entries)
        self._enqueue(job for job in ready if not self._is_known(job.job_id))
        stranded = self._dependents.stranded(entries)
        self._stranded += [(job, why) for job, why in stranded if not self._is_known(job.job_id)]

    def take(self, now_s: float) -> list[Event]:
        """The events of all jobs that come by now."""
        events: list[Event] = []
        while self._due and self._due[0].submitted_at_s <= now_s:
            job = self._due.pop(0)
            if job.job_id in self._held:
                self._due_when_free[job.job_id] = job
            else:
                events += self._submission(job, now_s)
        while self._stranded:
            job, why = self._stranded.pop(0)
            events += self._cancelled(job, why, now_s)
        return events

    def next_at_s(self) -> float | None:
        """When the next job comes; None if that depends on what happens."""
        if self._stranded:
            return 0.0
        return self._due[0].submitted_at_s if self._due else None

    def _submission(self, job: Job, now_s: float) -> list[Event]:
        try:
            laid_out = self._source.lay_out(job.job_id)
        except InvalidInput as error:
            return self._cancelled(job, str(error), now_s)
        if laid_out is not None:
            job, record = laid_out
            self._journal.laid_out(job.job_id, record)
        places = self._source.locations(job)
        return [JobSubmitted(now_s, job, places, is_last=self._is_last)]

    def _cancelled(self, job: Job, why: str, now_s: float) -> list[Event]:
        return [JobSubmitted(now_s, job, is_last=self._is_last), JobKilled(now_s, job.job_id, why)]

    @property
    def _is_last(self) -> bool:
        return not (self._has_more or self._due or self._stranded or self._dependents)


def _check_unchanged(job: Job, state: ClusterState) -> None:
    known = state.jobs.get(job.job_id)
    # The journal of an older release holds the values of environment variables.
    if known is not None and known.job.without_env_values() != job.without_env_values():
        raise InvalidInput(
            "the job, or its input, is not what it was when the run started",
            where=f"job {job.job_id!r}",
            hint="put it back to resume, or run without --resume to start again",
        )
