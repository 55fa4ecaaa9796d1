"""Jobs that are submitted when other jobs are done, in a simulation and live.

A driver keeps such a job until the last of the jobs that it names is done; then it submits it. If
one of them ends otherwise, the job can never start: it is submitted and cancelled at once, so that
the record says what became of it, and its own dependents end the same way.
"""

from __future__ import annotations

from collections.abc import Iterable

from sluice.core.entries import JobEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import JobState
from sluice.model.ids import JobId
from sluice.model.job import Job

_ENDED = {JobState.FAILED: "failed", JobState.KILLED: "was killed", JobState.REFUSED: "was refused"}


class Dependents:
    """The jobs of a workload that wait for other jobs of it; names of no job count as done."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs: dict[JobId, Job] = {}
        self._left: dict[JobId, set[JobId]] = {}  # of each job, those that are not done
        self._waiting_for: dict[JobId, list[JobId]] = {}
        self.add(jobs)

    def add(self, jobs: Iterable[Job]) -> None:
        """A workload more, whose jobs may wait for others of it."""
        jobs = tuple(jobs)
        waiting = [job for job in jobs if job.after]
        known = {job.job_id for job in jobs} if waiting else set[JobId]()
        for job in waiting:
            left = known.intersection(job.after)
            if left:
                self._jobs[job.job_id] = job
                self._left[job.job_id] = left
                for name in sorted(left):
                    self._waiting_for.setdefault(name, []).append(job.job_id)

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: Job) -> bool:
        return job.job_id in self._jobs

    def remove(self, job_id: JobId) -> Job | None:
        """A job that waits no longer, because it is cancelled; None if it does not wait."""
        self._left.pop(job_id, None)
        return self._jobs.pop(job_id, None)

    def replace(self, job: Job) -> bool:
        """A job that waits gets other values; returns whether it waits here."""
        if job.job_id not in self._jobs:
            return False
        self._jobs[job.job_id] = job
        return True

    def ready(self, ended: Iterable[JobEntry]) -> list[Job]:
        """The jobs that waited for the done ones among these alone: they can be submitted now."""
        found = []
        for entry in ended:
            if entry.state is not JobState.DONE:
                continue
            for name in self._waiting_for.pop(entry.job_id, ()):
                left = self._left.get(name)
                if left is None:
                    continue  # it was cancelled
                left.discard(entry.job_id)
                if not left:
                    del self._left[name]
                    found.append(self._jobs.pop(name))
        return found

    def stranded(self, ended: Iterable[JobEntry]) -> list[tuple[Job, str]]:
        """The jobs that waited for one of these that did not end well, and why they never run."""
        found: list[tuple[Job, str]] = []
        for entry in ended:
            if entry.state is JobState.DONE:
                continue
            facts = (("job", str(entry.job_id)), ("ended", _ENDED[entry.state]))
            reason = Reason(ReasonCode.JOB_BEFORE_ENDED, facts).text()
            jobs = [self.remove(name) for name in self._waiting_for.pop(entry.job_id, ())]
            found += [(job, reason) for job in jobs if job is not None]
        return found
