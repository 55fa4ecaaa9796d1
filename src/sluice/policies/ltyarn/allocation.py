"""Which task starts next on a node (Resource Allocator, algorithm 10 repaired; section 5.2).

From the root down each queue picks a child. If the next task of the chosen application does not
fit, then under `wait` nothing starts until something is released, and under `skip` the application
is left out of this pass; a task that was passed over three times is waited for.
"""

from __future__ import annotations

from typing import NamedTuple

from sluice.core.entries import NodeEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind
from sluice.policies.ltyarn.rounds import ShareTree
from sluice.policies.ltyarn.tree import AppNode, QueueNode, ShareNode

PASSES_MAX = 3

_CONTAINER = SlotKind.CONTAINER
_TINY = 1e-9  # sums of units are rounded


class Turn(NamedTuple):
    """An application and the phase of which a task may start now."""

    app: AppNode
    phase: PhaseEntry


class Allocation:
    """Chooses tasks for nodes."""

    def __init__(
        self, tree: ShareTree, state: ClusterState, *, waits: bool, is_dominant: bool
    ) -> None:
        self._tree = tree
        self._state = state
        self._waits = waits
        self._is_dominant = is_dominant
        self._is_blocked = False
        self._skipped: list[AppNode] = []
        self.units_on: dict[NodeEntry, float] = {}

    def next_for(self, node: NodeEntry, now_s: float) -> Turn | None:
        """The task that starts next on the node, if any."""
        self._is_blocked = False
        self._skipped = []
        turn = self._descend(self._tree.root, node, now_s)
        if turn is not None:
            turn.app.passed_over = 0
            for app in self._skipped:
                app.passed_over += 1
        return turn

    def _descend(self, queue: QueueNode, node: NodeEntry, now_s: float) -> Turn | None:
        left_out: set[ShareNode] = set()
        while not self._is_blocked:
            child = queue.turns.first(now_s, left_out)
            if child is None:
                return None
            turn = (
                self._descend(child, node, now_s)
                if isinstance(child, QueueNode)
                else self._turn_of(child, node)
            )
            if turn is not None:
                return turn
            left_out.add(child)
        return None

    def _turn_of(self, app: ShareNode, node: NodeEntry) -> Turn | None:
        assert isinstance(app, AppNode)
        phase = self.phase_of(app)
        if phase is None or not self._is_allowed(app, phase):
            return None
        if self._fits(phase, node):
            return Turn(app, phase)
        self._skipped.append(app)
        self._is_blocked = self._waits or app.passed_over >= PASSES_MAX
        return None

    def phase_of(self, app: AppNode) -> PhaseEntry | None:
        """The first phase with a task that may start.

        Tasks that read from phases that are not done hold at most half of the containers: else
        they could hold what the tasks that they wait for need.
        """
        for phase in app.job.phases:
            if phase.is_queued and (phase.has_inputs or self._may_start_early()):
                return phase
        return None

    def _may_start_early(self) -> bool:
        early = sum(
            phase.running
            for job in self._state.active.values()
            for phase in job.phases
            if phase.running and not phase.has_inputs
        )
        return early < self._state.slots[_CONTAINER] // 2

    def _is_allowed(self, app: AppNode, phase: PhaseEntry) -> bool:
        """Whether no queue above would exceed its maximum share."""
        units = phase.phase.units
        return all(
            queue.share_max is None or queue.units + units <= queue.share_max + _TINY
            for queue in app.line()
            if isinstance(queue, QueueNode)
        )

    def _fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        if self._is_dominant:
            return node.fits(phase.phase.demand.work)
        used = self.units_on.get(node, 0.0)
        return used + phase.phase.units <= node.free.containers.total + _TINY

    def count(self, node: NodeEntry, units: float) -> None:
        """Units on a node have changed."""
        left = self.units_on.get(node, 0.0) + units
        self.units_on[node] = left if left > _TINY else 0.0
