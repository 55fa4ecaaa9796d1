"""When the jobs of a cluster that goes on are forgotten: a while after their outputs are settled.

They are forgotten in groups, because the core then looks at all that is queued and runs, and the
event is a batch of its own where nothing else happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sluice.core.entries import JobEntry
from sluice.core.events import Event, JobsForgotten
from sluice.engines.driver_state import DriverState
from sluice.engines.intake import Intake
from sluice.engines.work_source import WorkSource
from sluice.model.ids import JobId

FORGET_S = 600.0  # service spec, section 4.1
_GROUP_SHARE = 0.1  # of the time that a job is kept, between two groups


class Retention:
    """The jobs that are over. Made when the journal has been replayed.

    forget_s: how long a job is kept; seconds since its output was committed or removed.
    """

    def __init__(
        self, driver_state: DriverState, source: WorkSource, intake: Intake | None, forget_s: float
    ) -> None:
        self._driver_state = driver_state
        self._state = driver_state.state
        self._source = source
        self._intake = intake
        self._forget_s = forget_s
        self._next_s = 0.0
        now_s = self._state.now_s
        over = (
            (min(now_s, entry.finished_at_s), job_id)  # in this order NaN is now
            for job_id, entry in self._state.jobs.items()
            if entry.has_ended and job_id not in driver_state.unsettled
        )
        self._over: deque[tuple[float, JobId]] = deque(sorted(over))

    def settled(self, entries: Iterable[JobEntry], now_s: float) -> None:
        """The outputs of these jobs are committed or removed."""
        self._over.extend((now_s, entry.job_id) for entry in entries)

    def take(self, now_s: float) -> list[Event]:
        """The event that forgets what is due, if it is time for a group."""
        until_s = now_s - self._forget_s
        if now_s < self._next_s or not self._over or self._over[0][0] > until_s:
            return []
        self._next_s = now_s + _GROUP_SHARE * self._forget_s
        busy = {key.job_id for key in self._state.running}
        tasks = self._driver_state.scheduler.policies.tasks
        busy.update(entry.job_id for entry in tasks.unfinished_jobs())
        due: list[JobId] = []
        while self._over and self._over[0][0] <= until_s:
            _, job_id = self._over.popleft()
            if job_id in busy:  # a copy of a task that is done, or its master, is still to be ended
                self._over.append((now_s, job_id))
            else:
                due.append(job_id)
        return [JobsForgotten(now_s, tuple(due))] if due else []

    def let_go(self) -> set[JobId]:
        """Jobs that have left the state since the last call are forgotten by all; returns them."""
        gone, self._driver_state.forgotten = self._driver_state.forgotten, set()
        if gone:
            self._source.forget(gone)
            if self._intake is not None:
                self._intake.forget(gone)
        return gone
