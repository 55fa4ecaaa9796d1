"""The orders of long-term sharing (mlrf, ltrf, ltyarn, karma, decay) for any room.

The tree of queues and its counters are those of the policies of the same names (`ltyarn`); here
the tree only says whose turn it is. A job whose next task has no room is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import Key
from sluice.policies.ltyarn.accounts import (
    accounts_document,
    deciding_branch,
    turn_reason,
    wait_reason,
)
from sluice.policies.ltyarn.policy import QueueTreePolicy
from sluice.policies.ltyarn.rounds import ShareTree
from sluice.policies.ltyarn.saved_tree import restore_tree, saved_tree
from sluice.policies.ltyarn.tree import AppNode, QueueNode, ShareNode
from sluice.policies.memory import Memory
from sluice.policies.orders.candidate_order import CandidateOrder


class LongTermOrder(CandidateOrder):
    """The turns of a tree of queues. policy: whose rules hold in the tree."""

    def __init__(self, policy: QueueTreePolicy) -> None:
        super().__init__(policy.settings)
        self._policy = policy

    @property
    def name(self) -> str:  # type: ignore[override]  # one name for each object, not for the class
        """The name of the policy with these rules."""
        return self._policy.name

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self.tree = ShareTree(self._policy.rules(), state)
        self._reasons: dict[ShareNode, Reason] = {}
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
        return self._turns(self.tree.root, kind, self.state.now_s)

    def _turns(self, queue: QueueNode, kind: SlotKind, now_s: float) -> Iterator[PhaseEntry]:
        left_out: set[ShareNode] = set()
        while (child := queue.turns.first(now_s, left_out)) is not None:
            if isinstance(child, AppNode):
                for phase in queued_phases(child.job, kind):
                    if child.is_within_caps(phase):
                        yield phase
            else:
                assert isinstance(child, QueueNode)
                yield from self._turns(child, kind, now_s)
            left_out.add(child)

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
        app = self.tree.apps[phase.job_id]
        branch = deciding_branch(app)
        reason = self._reasons.get(branch)
        if reason is None:
            reason = self._reasons[branch] = turn_reason(branch, self.state.now_s)
        return reason

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        self.tree.decide(now_s)
        app = self.tree.apps.get(phase.job_id)
        found = None if app is None else wait_reason(app, now_s)
        return super().explain(phase, state, now_s) if found is None else found

    def report(self) -> Mapping[str, object]:
        return {"accounts": accounts_document(self.tree, self.state.now_s)}
