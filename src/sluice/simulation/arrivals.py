"""When jobs come: at their instants, and those that run after others when these are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter

from sluice.core.dependents import Dependents
from sluice.core.state import ClusterState
from sluice.model.job import Job
from sluice.simulation.agenda import SUBMISSION_RANK, Agenda


class Arrivals:
    """The jobs that have not come yet.

    left: how many.  cancel: called at an instant with a job that comes and never runs, and why.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        agenda: Agenda,
        state: ClusterState,
        cancel: Callable[[Job, str, float], None],
    ) -> None:
        jobs = tuple(jobs)
        self.left = len(jobs)
        self._agenda = agenda
        self._cancel = cancel
        self._dependents = Dependents(jobs)
        self._ended = state.ended = [] if self._dependents else None
        state.to_come = {job.job_id: job.after for job in jobs}
        state.drivers = {job.job_id: job for job in jobs if job.driver_s}
        # The scheduler sees a job when its driver program asks for the first tasks.
        coming = [
            (job.submitted_at_s + job.driver_s, job) for job in jobs if job not in self._dependents
        ]
        coming.sort(key=itemgetter(0))  # at one instant they stay in the order of the workload
        for at_s, job in coming:
            agenda.add_known(at_s, SUBMISSION_RANK, job)

    def enqueue(self, now_s: float) -> None:
        """An instant is over: jobs that waited for those that ended in it come, or never run.

        Called only where jobs have ended since, and some wait for others.
        """
        assert self._ended is not None
        for job in self._dependents.ready(self._ended):
            at_s = max(job.submitted_at_s, now_s) + job.driver_s
            self._agenda.add(at_s, SUBMISSION_RANK, job)
        for job, reason in self._dependents.stranded(self._ended):
            self._agenda.add(now_s, SUBMISSION_RANK, partial(self._cancel, job, reason))
        self._ended.clear()
