"""The orders of long-term sharing (mlrf, ltrf, ltyarn, karma, decay) for any room.

The tree only says whose turn it is. A job whose next task has no room is passed over here; the
policies of the same names (`ltyarn`) have a room of their own around this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key
from sluice.policies.ltyarn.accounts import (
    accounts_document,
    deciding_branch,
    turn_reason,
    wait_reason,
)
from sluice.policies.ltyarn.rounds import ShareTree
from sluice.policies.ltyarn.rules import ShareRules
from sluice.policies.ltyarn.saved_tree import restore_tree, saved_tree
from sluice.policies.ltyarn.tree import AppNode, QueueNode, ShareNode
from sluice.policies.memory import Memory


class LongTermOrder(JobOrder):
    """The turns of a tree of queues. name: of the policy with these rules."""

    def __init__(self, name: str, rules: ShareRules) -> None:
        super().__init__()
        self._name = name
        self._rules = rules

    @property
    def name(self) -> str:  # type: ignore[override]  # one name for each object, not for the class
        """The name of the policy with these rules."""
        return self._name

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self.tree = ShareTree(self._rules, state)
        self._reasons: dict[ShareNode, Reason] = {}  # of this instant, by deciding branch
        state.observe(self.tree)
        state.observe_attempts(self.tree)

    def saved(self) -> Memory:
        return saved_tree(self.tree)

    def restored(self, saved: Memory, state: ClusterState) -> None:
        restore_tree(self.tree, saved, state)

    @property
    def follows_queues(self) -> bool:
        return True

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self.tree.forget(jobs)

    def queues_changed(self, state: ClusterState) -> None:
        self.tree.take_up_queues()

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        # Nothing is killed. It is the first call at each instant, before any task is started.
        self.tree.decide(now_s)
        self._reasons.clear()
        return ()

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        for app in self.apps_in_turn(self.state.now_s):
            for phase in queued_phases(app.job, kind):
                if app.is_within_caps(phase):
                    yield phase

    def apps_in_turn(self, now_s: float) -> Iterator[AppNode]:
        """The applications with a task to start: from the root down each queue picks a child."""
        return _turns(self.tree.root, now_s)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        """The keys of its queues from the root down, then its own."""
        app = self.tree.apps.get(job.job_id)
        if app is None:
            return ((9,), (job.seq,))
        now_s = self.state.now_s
        keys = [
            node.parent.turns.key_of(node, now_s) or (9, node.index)
            for node in reversed(app.path)
            if isinstance(node.parent, QueueNode)
        ]
        return (*keys, (job.seq,))

    def start_reason(self, phase: PhaseEntry) -> Reason:
        # Starts at one instant change what is owed only from then on.
        app = self.tree.apps[phase.job_id]
        branch = deciding_branch(app)
        reason = self._reasons.get(branch)
        if reason is None:
            reason = self._reasons[branch] = turn_reason(branch, self.state.now_s)
        return reason

    def turn_wait(self, phase: PhaseEntry, now_s: float) -> Reason | None:
        """Why it is not the phase's turn; None if it is."""
        self.tree.decide(now_s)
        app = self.tree.apps.get(phase.job_id)
        return None if app is None else wait_reason(app, now_s)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return self.turn_wait(phase, now_s) or super().explain(phase, state, now_s)

    def report(self) -> Mapping[str, object]:
        return {"accounts": accounts_document(self.tree, self.state.now_s)}


def _turns(queue: QueueNode, now_s: float) -> Iterator[AppNode]:
    left_out: set[ShareNode] = set()
    while (child := queue.turns.first(now_s, left_out)) is not None:
        if isinstance(child, AppNode):
            yield child
        else:
            assert isinstance(child, QueueNode)
            yield from _turns(child, now_s)
        left_out.add(child)
