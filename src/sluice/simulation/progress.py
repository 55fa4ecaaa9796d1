"""Progress reports of nodes: how far each running attempt is.

Reported only if the task policy asks for it: with each heartbeat of a node or, without heartbeats,
whenever the policy asked to be woken. An attempt reports if it has made progress since its last
report, as live ones do: an attempt that hangs is silent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sluice.core.entries import Attempt
from sluice.core.state import ClusterState
from sluice.model.ids import NodeId
from sluice.simulation.execution import Execution, OwnSpeed

Report = tuple[Attempt, float]  # its progress, 0 to 1


class ProgressReports:
    """The running attempts by node, with what they report."""

    def __init__(self, state: ClusterState, execution: Execution) -> None:
        self._execution = execution
        # The same, where attempts have their own speed: calls of it are direct.
        self._own_speed = execution if isinstance(execution, OwnSpeed) else None
        self._running: dict[NodeId, dict[Attempt, None]] = {}
        state.observe_attempts(self)

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

    def of_node(self, node_id: NodeId, now_s: float) -> list[Report]:
        """The reports of one node."""
        reports: list[Report] = []
        running: Iterable[Attempt] = self._running.get(node_id, ())
        for attempt in running:
            if not attempt.is_unreported:
                progress = self._progress(attempt, now_s)
                reported_at_s = attempt.progress_at_s
                # The first report is made in any case; before it the instant is not a number.
                if progress != attempt.progress or math.isnan(reported_at_s):
                    reports.append((attempt, progress))
        return reports

    def _progress(self, attempt: Attempt, now_s: float) -> float:
        if self._own_speed is not None:
            return self._own_speed.progress(attempt, now_s)
        return self._execution.progress(attempt, now_s)

    def of_all(self, now_s: float) -> list[Report]:
        """The reports of all nodes."""
        return [one for node_id in self._running for one in self.of_node(node_id, now_s)]
