"""The jobs that are released and have not ended, of the cluster or of one pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from mypy_extensions import i64

from sluice.core.transitions import JOB_TRANSITIONS, JobInput, JobState
from sluice.model.ids import JobId

_TRANSITIONS: Final = JOB_TRANSITIONS  # imported names are looked up at each use
_DEFERRED: Final = JobState.DEFERRED  # a look-up on the Enum itself takes 0.1 us
_WAITING: Final = JobState.WAITING
_QUEUED: Final = JobState.QUEUED
_RUNNING: Final = JobState.RUNNING
_DONE: Final = JobState.DONE
_ADMITTED: Final = JobInput.ADMITTED
_RELEASED: Final = JobInput.RELEASED
_TASK_STARTED: Final = JobInput.TASK_STARTED
_ALL_DONE: Final = JobInput.ALL_DONE
_WASTE_MIN: Final = 64


class QueuedJob:
    """A job by its id and its state."""

    __slots__ = ("job_id", "state")

    def __init__(self, job_id: JobId) -> None:
        self.job_id = job_id
        self.state = _DEFERRED

    @property
    def has_ended(self) -> bool:
        state = self.state  # the look-up in a set takes longer than these
        return (
            state is not _RUNNING
            and state is not _QUEUED
            and state is not _WAITING
            and state is not _DEFERRED
        )

    @property
    def is_unstarted(self) -> bool:
        """Whether nothing of it has started and it has not ended."""
        return self.state is not _RUNNING and not self.has_ended

    def move(self, was: JobInput) -> None:
        """Change the state by the transition table; KeyError if the table has no such row."""
        state = self.state
        # The way of most jobs, as the table says, without a hash.
        if was is _ADMITTED and state is _DEFERRED:
            self.state = _WAITING
        elif was is _RELEASED and state is _WAITING:
            self.state = _QUEUED
        elif was is _TASK_STARTED and state is _QUEUED:
            self.state = _RUNNING
        elif was is _ALL_DONE and state is _RUNNING:
            self.state = _DONE
        else:
            self.state = _TRANSITIONS[was][state]


J = TypeVar("J", bound=QueuedJob)


class ReleasedJobs(Generic[J]):
    """Reads like a dictionary from the id of a job to the job, in the order of release.

    Jobs join and leave without a hash: a list, in which one that has ended stays until it comes to
    the front or there are many of them. A question by id, which is rare, walks through the list.

    count: jobs that have not ended.
    """

    __slots__ = ("_gone", "_line", "count")

    def __init__(self) -> None:
        self._line: list[J] = []
        self._gone: i64 = 0  # so many at the front have ended
        self.count: i64 = 0

    def add(self, job: J) -> None:
        """A job has been released."""
        self._line.append(job)
        self.count += 1

    def leave(self) -> None:
        """A job has ended; its state says which."""
        self.count -= 1
        self.first()
        waste = len(self._line) - self.count
        if waste > _WASTE_MIN and waste > 2 * self.count:
            self.compact()

    def compact(self) -> None:
        """Let go of the jobs that have ended."""
        self._line = self.values()
        self._gone = 0

    def first(self) -> J | None:
        """The job that was released first."""
        line, gone = self._line, self._gone
        while gone < len(line):
            job = line[gone]
            if not job.has_ended:
                self._gone = gone
                return job
            gone += 1
        self._gone = gone
        return None

    def values(self) -> list[J]:
        """The jobs as they are now."""
        return [job for job in self._line[self._gone :] if not job.has_ended]

    def get(self, job_id: JobId) -> J | None:
        """The job of that id, if it is one of them."""
        for job in self.values():
            if job.job_id == job_id:
                return job
        return None

    def __getitem__(self, job_id: JobId) -> J:
        job = self.get(job_id)
        if job is None:
            raise KeyError(job_id)
        return job

    def items(self) -> list[tuple[JobId, J]]:
        """Pairs of a job's id and the job."""
        return [(job.job_id, job) for job in self.values()]

    def __contains__(self, job_id: object) -> bool:
        return any(job.job_id == job_id for job in self.values())

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[JobId]:
        return iter([job.job_id for job in self.values()])
