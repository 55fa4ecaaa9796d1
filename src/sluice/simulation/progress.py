"""Progress reports of nodes: how far each running attempt is.

Reported only if the task policy asks for it: with each heartbeat of a node or, without heartbeats,
whenever the policy asked to be woken. An attempt reports if it has made progress since its last
report, as live ones do: an attempt that hangs is silent.
"""

from __future__ import annotations

import math

from sluice.core.entries import Attempt
from sluice.core.events import AttemptKey
from sluice.core.state import ClusterState
from sluice.model.ids import NodeId
from sluice.simulation.execution import Execution

Report = tuple[Attempt, float]  # its progress, 0 to 1


class ProgressReports:
    """The running attempts by node. unreported: ended attempts that are not reported yet."""

    def __init__(
        self, state: ClusterState, execution: Execution, unreported: set[AttemptKey]
    ) -> None:
        self._execution = execution
        self._unreported = unreported
        self._running: dict[NodeId, dict[Attempt, None]] = {}
        state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        self._running.setdefault(attempt.node.node_id, {})[attempt] = None

    def progressed(self, attempt: Attempt) -> None:
        """As `AttemptObserver`; a report does not change what runs."""

    def ended(self, attempt: Attempt) -> None:
        """As `AttemptObserver`."""
        del self._running[attempt.node.node_id][attempt]

    def of_node(self, node_id: NodeId, now_s: float) -> list[Report]:
        """The report of one node."""
        reports: list[Report] = []
        running = self._running.get(node_id)
        if running is None:
            return reports
        unreported = self._unreported
        for attempt in running:
            if not unreported or attempt.key not in unreported:
                progress = self._execution.progress(attempt, now_s)
                reported_at_s = attempt.progress_at_s
                # The first report is made in any case; before it the instant is not a number.
                if progress != attempt.progress or math.isnan(reported_at_s):
                    reports.append((attempt, progress))
        return reports

    def of_all(self, now_s: float) -> list[Report]:
        """The reports of all nodes."""
        return [one for node_id in self._running for one in self.of_node(node_id, now_s)]
