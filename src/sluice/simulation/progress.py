"""Progress reports of nodes: how far each running attempt is.

Reported only if the task policy asks for it: with each heartbeat of a node or, without heartbeats,
whenever the policy asked to be woken. An attempt reports if it has made progress since its last
report, as live ones do: an attempt that hangs is silent.
"""

from __future__ import annotations

from collections.abc import Iterable

from sluice.core.entries import Attempt
from sluice.core.events import TaskProgress
from sluice.core.observers import ProgressObserver
from sluice.core.scheduler import Scheduler
from sluice.model.ids import NodeId
from sluice.simulation.execution import Execution, OwnSpeed


class ProgressReports(ProgressObserver):
    """The running attempts by node. through_events: reports are events, as of live engines."""

    def __init__(self, scheduler: Scheduler, execution: Execution, *, through_events: bool) -> None:
        self._scheduler = scheduler
        self._through_events = through_events
        self._execution = execution
        # The same, where attempts have their own speed: calls of it are direct.
        self._own_speed = execution if isinstance(execution, OwnSpeed) else None
        self._running: dict[NodeId, dict[Attempt, None]] = {}
        scheduler.state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        node_id = attempt.node.node_id
        running = self._running.get(node_id)
        if running is None:
            running = self._running[node_id] = {}
        running[attempt] = None

    def ended(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        del self._running[attempt.node.node_id][attempt]

    def report_node(self, node_id: NodeId, now_s: float) -> None:
        """Report what runs on a node."""
        running: Iterable[Attempt] = self._running.get(node_id, ())
        for attempt in running:
            if not attempt.is_unreported:
                progress = self._progress(attempt, now_s)
                reported_at_s = attempt.progress_at_s
                # The first report is made in any case; before it the instant is not a number.
                if progress != attempt.progress or reported_at_s != reported_at_s:  # noqa: PLR0124  # NaN
                    self._report(attempt, progress, now_s)

    def report_all(self, now_s: float) -> None:
        """Report what runs on all nodes."""
        for node_id in self._running:
            self.report_node(node_id, now_s)

    def _progress(self, attempt: Attempt, now_s: float) -> float:
        if self._own_speed is not None:
            return self._own_speed.progress(attempt, now_s)
        return self._execution.progress(attempt, now_s)

    def _report(self, attempt: Attempt, progress: float, now_s: float) -> None:
        if self._through_events:
            self._scheduler.handle(TaskProgress(now_s, attempt.key, progress))
        else:
            self._scheduler.report_progress(attempt, now_s, progress)
