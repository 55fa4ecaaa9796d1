"""Which task starts next on a node (Resource Allocator, algorithm 10 repaired; section 5.2).

Applications come in the turns of the tree. If the next task of the first one does not fit, then
under `wait` nothing starts until something is released, and under `skip` the application is left
out of this pass. A task that was passed over three times gets a reservation: on each node
that is large enough, others start only next to the units that it needs.
"""

from __future__ import annotations

import math
from typing import Final

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.offers import Offer
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.ltyarn.tree import TINY, AppNode
from sluice.policies.orders.long_term import LongTermOrder
from sluice.policies.rooms.slot_counts import early_tasks

PASSES_MAX: Final = 3

_CONTAINER: Final = SlotKind.CONTAINER


class Allocation:
    """Chooses tasks for nodes."""

    def __init__(
        self, order: LongTermOrder, state: ClusterState, *, waits: bool, is_dominant: bool
    ) -> None:
        self._order = order
        self._state = state
        self._waits = waits
        self._is_dominant = is_dominant
        self._is_blocked = False
        self._spare = math.inf  # units of the node that no reservation holds
        self._skipped: list[AppNode] = []
        self.units_on: dict[NodeEntry, float] = {}
        self._on: dict[NodeEntry, dict[Attempt, None]] = {}  # running attempts

    def fill(self, offer: Offer) -> None:
        """Start what the turns give until the node is full."""
        node, order = offer.node, self._order
        while node.free[_CONTAINER]:
            phase = self.next_for(node, offer.now_s)
            if phase is None:
                return
            reserve = phase.phase.demand.work if self._is_dominant else None
            offer.start(phase, _CONTAINER, order.start_reason(phase), 1, None, reserve)

    def next_for(self, node: NodeEntry, now_s: float) -> PhaseEntry | None:
        """The phase of the task that starts next on the node, if any."""
        self._is_blocked = False
        self._spare = math.inf
        self._skipped = []
        for app in self._order.apps_in_turn(now_s):
            phase = self._startable(app, node)
            if phase is not None:
                app.passed_over = 0
                for skipped in self._skipped:
                    skipped.passed_over += 1
                    if skipped.passed_over == PASSES_MAX:
                        skipped.reserves_from_s = now_s
                return phase
            if self._is_blocked:
                return None
        return None

    def _startable(self, app: AppNode, node: NodeEntry) -> PhaseEntry | None:
        """The phase of an application of which a task may start on the node now."""
        phase = self.phase_of(app)
        if phase is None or not app.is_within_caps(phase):
            return None
        if self._fits(phase, node):
            return None if phase.phase.units > self._spare + TINY else phase
        self._skipped.append(app)
        if self._waits:
            self._is_blocked = True
        elif app.passed_over >= PASSES_MAX:
            self._reserve(app, phase, node)
        return None

    def _reserve(self, app: AppNode, phase: PhaseEntry, node: NodeEntry) -> None:
        """Leave the units for a task that was passed over too often.

        It starts at the latest when all tasks end that ran before. So others may take what the node
        has beyond its need, as long as those that started since then stay within that.
        """
        if self._is_dominant:
            self._is_blocked = True  # a need of several resources leaves no single spare amount
            return
        beyond = node.all_units(_CONTAINER) - phase.phase.units
        if beyond < 0:
            return  # the node can never run it
        later = sum(
            attempt.tasks * attempt.phase.phase.units
            for attempt in self._on.get(node, ())
            if attempt.started_at_s >= app.reserves_from_s
        )
        self._spare = min(self._spare, beyond - later)
        self._is_blocked = self._spare < TINY

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
        return early_tasks(self._state) < self._state.slots[_CONTAINER] // 2

    def _fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        if self._is_dominant:
            return node.fits(phase.phase.demand.work)
        used = self.units_on.get(node, 0.0)
        return used + phase.phase.units <= node.all_units(_CONTAINER) + TINY

    def most_free(self) -> float:
        """Units that are free on the node that has the most of them."""
        up = [node for node in self._state.nodes.values() if node.is_up]
        free = (node.all_units(_CONTAINER) - self.units_on.get(node, 0.0) for node in up)
        return max(free, default=0.0)

    # --- what happens -----------------------------------------------------------------------------

    def began(self, attempt: Attempt) -> None:
        """Its units are on the node."""
        self._on.setdefault(attempt.node, {})[attempt] = None
        self._count(attempt.node, attempt.tasks * attempt.phase.phase.units)

    def ended(self, attempt: Attempt) -> None:
        """Its units are free again."""
        self._on[attempt.node].pop(attempt, None)
        self._count(attempt.node, -attempt.tasks * attempt.phase.phase.units)

    def _count(self, node: NodeEntry, units: float) -> None:
        left = self.units_on.get(node, 0.0) + units
        self.units_on[node] = left if left > TINY else 0.0
