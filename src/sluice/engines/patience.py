"""When a run is given up: nothing runs, nothing is due, and nothing has happened for long."""

from __future__ import annotations

from typing import NoReturn

from sluice.core.entries import JobEntry
from sluice.core.events import Event, NodeLost
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.scheduler import Scheduler
from sluice.model.errors import EngineUnavailable, Infeasible


class Patience:
    """Patience of one run. patience_s: how long nothing may happen."""

    def __init__(self, scheduler: Scheduler, patience_s: float) -> None:
        self._scheduler = scheduler
        self._state = scheduler.state
        self._patience_s = patience_s
        self._moved_at_s = 0.0  # when something happened last
        self._loss = ""  # why a node was lost last

    def moved(self, now_s: float) -> None:
        """Something has happened."""
        self._moved_at_s = now_s

    def hear(self, batch: list[Event]) -> None:
        """Note what has happened."""
        for event in batch:
            if isinstance(event, NodeLost):
                self._loss = f" ({event.node_id!r}: {event.reason})"

    def check(self, now_s: float, *, is_something_due: bool) -> None:
        """Raise EngineUnavailable without nodes, or Infeasible, where waiting is in vain."""
        if self._state.running or is_something_due:
            return
        if now_s - self._moved_at_s >= self._patience_s:
            self._give_up()

    def _give_up(self) -> NoReturn:
        if not any(node.is_up for node in self._state.nodes.values()):
            raise EngineUnavailable(
                f"no node is up{self._loss}. Fix the cluster, then continue with --resume."
            )
        stuck = next(entry for entry in self._state.jobs.values() if not entry.has_ended)
        raise Infeasible(f"job {stuck.job_id!r} can never go on: {self._why(stuck)}.")

    def _why(self, entry: JobEntry) -> str:
        for phase in entry.phases:
            if phase.is_queued:
                tasks = self._scheduler.policies.tasks
                return tasks.explain(phase, self._state, self._state.now_s).text()
        return entry.reason or Reason(ReasonCode.NOT_RELEASED).text()
