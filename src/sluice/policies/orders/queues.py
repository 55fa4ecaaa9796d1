"""The order of a tree of queues with guarantees and maximums, for any room.

The tree is that of the policy `queue-tree`, with its user limits and its preemption.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import Key
from sluice.policies.memory import Memory
from sluice.policies.orders.candidate_order import CandidateOrder
from sluice.policies.queue_tree.policy import CapacityQueues


class QueueOrder(CandidateOrder):
    """Jobs in the turns of their queues."""

    name = "queues"
    Settings = CapacityQueues.Settings

    def __init__(self, settings: Any = None) -> None:  # noqa: ANN401  # those of `queue-tree`
        super().__init__(settings)
        self._queues = CapacityQueues(settings)

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._queues.attach(state)

    def saved(self) -> Memory | None:
        return self._queues.saved()

    def restored(self, saved: Memory, state: ClusterState) -> None:
        self._queues.restored(saved, state)

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        for job in self._queues.jobs_in_turn():
            yield from queued_phases(job, kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return self._queues.place_of(job)

    def start_reason(self, phase: PhaseEntry) -> Reason:
        return self._queues.start_reason(phase.job)

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        return self._queues.kills(state, now_s)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return self._queues.wake_at_s(state, now_s)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        return False

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return self._queues.explain(phase, state, now_s)

    def report(self) -> Mapping[str, object]:
        return self._queues.report()
