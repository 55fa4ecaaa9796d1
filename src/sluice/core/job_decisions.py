"""Which jobs are taken, and when they go to the cluster: what admission and release decide."""

from __future__ import annotations

import math
from typing import Final

from sluice.core.checks import WrongDecision
from sluice.core.commands import Reject, Wake
from sluice.core.entries import JobEntry
from sluice.core.offers import Decisions
from sluice.core.protocols import Admit, Policies, Refuse
from sluice.core.reasons import ReasonCode
from sluice.core.state import ClusterState, Locations
from sluice.core.transitions import JobInput, JobState
from sluice.model.job import Job

_WAITING: Final = JobState.WAITING
_SETTLED_JOBS: Final = 32  # submissions after which indexes are brought up to date


class JobDecisions:
    """Asks the policies about jobs. decisions: where the commands for the driver are added."""

    def __init__(self, policies: Policies, state: ClusterState, decisions: Decisions) -> None:
        self._state = state
        self._decisions = decisions
        self._admission = policies.admission
        self._release_policy = policies.release
        self._releases_at_once = policies.release.is_on_arrival
        self.round_wake_s = -math.inf  # the last wake-up requested for a round
        self._unsettled = 0  # jobs submitted since the indexes were brought up to date

    def take(self, job: Job, locations: Locations, *, alike: bool, is_last: bool) -> None:
        """A job was submitted."""
        state = self._state
        state.is_closed = is_last
        if job.job_id in state.jobs:
            state.ignored["job already known"] += 1
            return
        entry = state.add_job(job, locations, alike=alike)
        for name in job.after:  # it is submitted when the last of these has ended
            before = state.jobs.get(name)
            if before is not None and before.has_ended:
                entry.submit_after(before.finished_at_s)
        if self._admission.round_at_s(state.now_s) is None:
            self._ask_admission(entry)
        else:
            entry.reason = ReasonCode.AWAITS_ROUND.value
            state.defer(entry)
        # A decision that comes after ten thousand submissions must not be the one that pays for
        # indexing them all: each submission pays for its own share.
        self._unsettled += 1
        if self._unsettled == _SETTLED_JOBS:
            self._unsettled = 0
            for update in state.index_updates:
                update()

    def withdraw(self, entry: JobEntry) -> None:
        """A job of which nothing has started leaves as if it had not come."""
        state = self._state
        state.end_job(entry, JobInput.KILLED)
        if state.ended is not None:
            state.ended.remove(entry)
        del state.jobs[entry.job_id]

    def decide(self) -> None:
        """Ask about deferred jobs and jobs to release."""
        state = self._state
        if state.deferred:
            self._ask_deferred()
        if state.waiting:
            answer = self._release_policy.release(state.waiting_jobs(), state, state.now_s)
            for entry in answer.order:
                self._release(entry)
            if answer.wake_at_s is not None:
                self._decisions.add(Wake(answer.wake_at_s))

    def _ask_deferred(self) -> None:
        """Ask about deferred jobs if a round is due, and request a wake-up for the next round."""
        state, admission = self._state, self._admission
        round_s = admission.round_at_s(state.now_s)
        if round_s is None or round_s <= state.now_s:
            for entry in list(state.deferred.values()):
                self._ask_admission(entry)
        if round_s is None or not state.deferred:
            return
        next_s = admission.round_at_s(state.now_s)
        if next_s is not None and next_s > state.now_s and next_s != self.round_wake_s:
            self.round_wake_s = next_s
            self._decisions.add(Wake(next_s))

    def _ask_admission(self, entry: JobEntry) -> None:
        state = self._state
        answer = self._admission.decide(entry.job, state)
        if isinstance(answer, Admit):
            state.admit(entry, answer.containers)
            entry.decided(state.now_s, "admitted", answer.reason)
            # What is reserved for a job counts from now on, so that it must be able to use it.
            if self._releases_at_once or answer.containers:
                self._release(entry)
            else:
                state.await_release(entry)
            return
        entry.verdict = answer.reason
        entry.reason = answer.reason.text()
        if isinstance(answer, Refuse):
            state.end_job(entry, JobInput.REFUSED)
            self._decisions.add(Reject(entry.job_id, answer.reason))
        else:
            state.defer(entry)
            entry.decided(state.now_s, "deferred", answer.reason)

    def _release(self, entry: JobEntry) -> None:
        state = self._state
        if entry.state is not _WAITING:
            raise WrongDecision(f"job {entry.job_id!r} was released but does not wait")
        state.release(entry)
        if not entry.phases:
            entry.move(JobInput.TASK_STARTED)
            entry.started_at_s = state.now_s
            state.end_job(entry, JobInput.ALL_DONE)
