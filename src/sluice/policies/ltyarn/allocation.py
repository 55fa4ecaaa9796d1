"""Which task starts next on a node (Resource Allocator, algorithm 10 repaired; section 5.2).

From the root down each queue picks a child. If the next task of the chosen application does not
fit, then under `wait` nothing starts until something is released, and under `skip` the application
is left out of this pass. A task that was passed over three times gets a reservation: on each node
that is large enough, others start only next to the units that it needs.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.offers import Offer
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.ltyarn.accounts import deciding_branch, turn_reason
from sluice.policies.ltyarn.rounds import ShareTree
from sluice.policies.ltyarn.tree import TINY, AppNode, QueueNode, ShareNode
from sluice.policies.rooms.slot_counts import early_tasks

PASSES_MAX: Final = 3

_CONTAINER: Final = SlotKind.CONTAINER


class Turn(NamedTuple):
    """A phase of which a task may start now, why, and the resources that it reserves."""

    phase: PhaseEntry
    reason: Reason
    reserve: Resources | None


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
        self._spare = math.inf  # units of the node that no reservation holds
        self._skipped: list[AppNode] = []
        self._phase: PhaseEntry | None = None  # of the application that was chosen last
        self._reasons: dict[ShareNode, Reason] = {}  # of this instant, by deciding branch
        self.units_on: dict[NodeEntry, float] = {}
        self._on: dict[NodeEntry, dict[Attempt, None]] = {}  # running attempts

    def begin_instant(self) -> None:
        """The counters have changed since the last decision."""
        self._reasons.clear()

    def fill(self, offer: Offer) -> None:
        """Start what the turns give until the node is full."""
        node, now_s = offer.node, offer.now_s
        free = node.free
        while free[_CONTAINER]:
            turn = self.next_for(node, now_s)
            if turn is None:
                return
            offer.start(turn.phase, _CONTAINER, turn.reason, 1, None, turn.reserve)

    def next_for(self, node: NodeEntry, now_s: float) -> Turn | None:
        """The task that starts next on the node, if any."""
        self._is_blocked = False
        self._spare = math.inf
        if self._skipped:
            self._skipped = []
        app = self._descend(self._tree.root, node, now_s)
        if app is None:
            return None
        app.passed_over = 0
        for skipped in self._skipped:
            skipped.passed_over += 1
            if skipped.passed_over == PASSES_MAX:
                skipped.reserves_from_s = now_s
        phase = self._phase
        assert phase is not None
        reserve = phase.phase.demand.work if self._is_dominant else None
        return Turn(phase, self._reason(app, now_s), reserve)

    def _descend(self, queue: QueueNode, node: NodeEntry, now_s: float) -> AppNode | None:
        turns = queue.turns
        child = turns.first(now_s)
        left_out: set[ShareNode] = set()
        while child is not None:
            if isinstance(child, AppNode):
                app = child if self._may_start(child, node) else None
            else:
                assert isinstance(child, QueueNode)
                app = self._descend(child, node, now_s)
            if app is not None:
                return app
            if self._is_blocked:
                return None
            left_out.add(child)
            child = turns.first(now_s, left_out)
        return None

    def _may_start(self, app: AppNode, node: NodeEntry) -> bool:
        phase = self.phase_of(app)
        if phase is None or not app.is_within_caps(phase):
            return False
        if self._fits(phase, node):
            if phase.phase.units > self._spare + TINY:
                return False
            self._phase = phase
            return True
        self._skipped.append(app)
        if self._waits:
            self._is_blocked = True
        elif app.passed_over >= PASSES_MAX:
            self._reserve(app, phase, node)
        return False

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

    def _reason(self, app: AppNode, now_s: float) -> Reason:
        """Starts at one instant change what is owed only from then on."""
        branch = deciding_branch(app)
        reason = self._reasons.get(branch)
        if reason is None:
            reason = self._reasons[branch] = turn_reason(branch, now_s)
        return reason

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
