"""Jobs that are over leave the state, so that a cluster that never ends needs no more memory.

A forgotten job is out of the jobs, the queues and the record of attempts, and the policies let go
of what they keep of it. The totals of the record stay, and so do pools, with the accounts that
policies keep of them: the decisions on all other jobs are what they would have been. So a name of a
pool costs memory, once, and a job does not. Neither does a rented node that was given back: its
record goes at the same time.

What the record and the nodes hold of forgotten jobs is swept out when it may be half of it. So
forgetting a job costs what its own attempts cost, however many there are of others.
"""

from __future__ import annotations

from typing import Final

from sluice.core.entries import JobEntry
from sluice.core.events import JobsForgotten
from sluice.core.protocols import AdmissionPolicy, TaskPolicy
from sluice.core.state import ClusterState

_ROWS_MIN: Final = 4096  # with all that is known of them, about 4 MB


class Forgetting:
    """Takes jobs that are over out of the state. The policies let go of them too."""

    def __init__(self, state: ClusterState, tasks: TaskPolicy, admission: AdmissionPolicy) -> None:
        self._state = state
        self._tasks = tasks
        self._admission = admission
        self._sweep_at = _ROWS_MIN  # rows of the record

    def forget(self, event: JobsForgotten) -> None:
        """Take out the jobs of the event, but for those that are not over."""
        state = self._state
        busy = {attempt.phase.job for attempt in state.running.values()}
        busy.update(self._tasks.unfinished_jobs())
        gone: list[JobEntry] = []
        for job_id in event.job_ids:
            entry = state.jobs.get(job_id)
            if entry is None or not entry.has_ended or entry in busy:
                state.ignored["job unknown, or not over"] += 1
                continue
            del state.jobs[job_id]
            gone.append(entry)
            state.closed.forget(entry.phases)
        if not gone:
            return
        state.active.compact()
        for backlog in state.backlogs.values():
            backlog.compact()
        for pool in dict.fromkeys(entry.pool for entry in gone):
            pool.compact()
        self._tasks.forget(gone)
        self._admission.forget(gone)
        state.machines.forget()
        for entry in gone:
            # A job and its phases hold each other. The collector of cycles may never search what a
            # live driver has had for a while; see `short_collections`.
            entry.phases = ()
        if len(state.closed) >= self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        """Give back the memory of attempts. The next time is when as many more have ended."""
        log = self._state.closed
        for node in self._state.nodes.values():
            node.keep_done([row for row in node.done if log.phase_of(row) is not None])
        self._sweep_at = len(log) + max(_ROWS_MIN, log.sweep())
