"""On which nodes a slot may be lent: those that have free what the borrower demands.

A task in a slot of its own kind starts whatever the node has left, because the slots of a node were
chosen for it. A lent slot is one more task than that: where the node is used up, it slows down all
others there and gains nothing. Tasks without demands borrow anywhere, and nodes without limits lend
to all. On a node that runs nothing, every task may borrow, so that no task waits for ever.
"""

from __future__ import annotations

from typing import Final

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_ROUNDING: Final = 1 + 1e-9  # what sums of demands may be above the capacity


class Loanable(AttemptIndex):
    """The demands of running tasks by node, and whether one more task may borrow a slot there.

    is_asked: the slot that is filled now would be lent. In slots of their own kind all tasks fit.
    """

    def __init__(self) -> None:
        self.is_asked = False
        # By the index of a node on which something runs: how many attempts, and what they demand.
        self._running: dict[int, int] = {}
        self._used: dict[int, list[float]] = {}
        self._is_attached = False

    def attach(self, state: ClusterState) -> None:
        """Called before the first event, by everything that the room is a part of."""
        if not self._is_attached:
            self._is_attached = True
            state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        index = attempt.node.index
        self._running[index] = self._running.get(index, 0) + 1
        self._add(index, attempt, attempt.tasks)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        index = attempt.node.index
        self._running[index] -= 1
        if self._running[index]:
            self._add(index, attempt, -attempt.tasks)
        else:  # no rounding is left over
            del self._used[index], self._running[index]

    def _add(self, index: int, attempt: Attempt, tasks: int) -> None:
        demand = attempt.phase.phase.demand.work.amounts()
        used = self._used.get(index)
        if used is None:
            used = self._used[index] = [0.0] * len(demand)
        for at, amount in enumerate(demand):
            used[at] += tasks * amount

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task of the phase may take the slot that is filled now."""
        return not self.is_asked or self._may_borrow(phase, node)

    def _may_borrow(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether the node has free what a task of the phase demands, or runs nothing."""
        used = self._used.get(node.index)
        if used is None:
            return True
        demand, capacity = phase.phase.demand.work.amounts(), node.node.capacity.amounts()
        if not any(demand) or not any(capacity):
            return True
        for taken, more, most in zip(used, demand, capacity, strict=False):
            if taken + more > most * _ROUNDING:
                return False
        return True

    def explain(self, phase: PhaseEntry, state: ClusterState) -> Reason | None:
        """Why a task that could borrow a slot does not; None if no slot is free to be lent."""
        lent = _REDUCE if phase.kind is _MAP else _MAP
        nodes = [node for node in state.nodes.values() if node.is_up and node.free[lent]]
        if not nodes or any(self._may_borrow(phase, node) for node in nodes):
            return None
        numbers = (
            ("slots", state.slots[phase.kind]),
            ("kind", phase.kind.value),
            ("other", lent.value),
        )
        return Reason(ReasonCode.LOANS_DO_NOT_FIT, numbers)
