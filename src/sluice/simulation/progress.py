"""Progress reports of nodes: how far each running attempt is.

Reported only if the task policy asks for it: with each heartbeat of a node or, without heartbeats,
whenever the policy asked to be woken. An attempt reports if it has made progress since its last
report, as live ones do: an attempt that hangs is silent.
"""

from __future__ import annotations

from sluice.core.entries import Attempt, NodeEntry
from sluice.core.indexes.number_table import NumberTable
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.scheduler import Scheduler
from sluice.simulation.attempt_work import work_of
from sluice.simulation.execution import Execution, OwnSpeed


class ProgressReports(AttemptIndex):
    """Reports what runs. by_node: nodes report, each for itself."""

    def __init__(self, scheduler: Scheduler, execution: Execution, *, by_node: bool) -> None:
        self._scheduler = scheduler
        self._running = scheduler.state.running
        self._execution = execution
        # The same, where attempts have their own speed: calls of it are direct.
        self._own_speed = execution if isinstance(execution, OwnSpeed) else None
        # By index of the node, in the order of their launch, with some that have ended.
        self._launched: NumberTable[list[Attempt]] = NumberTable()
        if by_node:
            scheduler.state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        node = attempt.node
        launched = self._launched.get(node.index)
        if launched is None:
            launched = []
            self._launched.put(node.index, launched)
        launched.append(attempt)

    def report_node(self, node: NodeEntry, now_s: float) -> None:
        """Report what runs on a node."""
        launched = self._launched.get(node.index)
        if launched is None:
            return
        changed: list[Attempt] = []
        ended = 0
        for attempt in launched:
            if attempt.has_ended:
                ended += 1
            elif self._has_news(attempt, now_s):
                changed.append(attempt)
        if 2 * ended > len(launched):
            self._launched.put(node.index, [one for one in launched if not one.has_ended])
        if changed:
            self._scheduler.report_progress(changed, now_s)

    def report_all(self, now_s: float) -> None:
        """Report what runs on all nodes."""
        changed: list[Attempt] = []
        attempt = self._running.first
        while attempt is not None:
            if self._has_news(attempt, now_s):
                changed.append(attempt)
            attempt = attempt.after
        if changed:
            self._scheduler.report_progress(changed, now_s)

    def _has_news(self, attempt: Attempt, now_s: float) -> bool:
        """Find the progress of an attempt; whether it has changed and is still to be reported."""
        if work_of(attempt).is_unreported:
            return False
        if self._own_speed is not None:
            progress = self._own_speed.progress(attempt, now_s)
        else:
            progress = self._execution.progress(attempt, now_s)
        reported_at_s = attempt.progress_at_s
        # The first report is made in any case; before it the instant is not a number.
        if progress == attempt.progress and reported_at_s == reported_at_s:  # noqa: PLR0124  # NaN
            return False
        attempt.progress, attempt.progress_at_s = progress, now_s
        return True
