"""Containers that admission has promised to a job are kept for it, in every order.

Jobs below their promise come first, by running tasks / promise. Others start only while containers
are free that no job is still owed. No running task is ended to keep a promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.indexes.job_ranking import queued_phases
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import Key
from sluice.policies.orders.order_decorator import OrderDecorator
from sluice.policies.rooms.slot_counts import owed_jobs

_OWN: Final = Reason(ReasonCode.OWN_CONTAINER)


def is_reserved(state: ClusterState) -> bool:
    """Whether all containers are promised, or kept for jobs that wait for rented VMs."""
    return bool(state.promises or state.machines.kept_free) and state.spare_containers() <= 0


def reserved_reason(state: ClusterState) -> Reason:
    """Why a job without a promise waits then. What is kept free is for one job at least."""
    return Reason(ReasonCode.CONTAINERS_PROMISED, (("jobs", len(state.promises) or 1),))


class Promised(OrderDecorator):
    """Those who are owed containers first; the others within what is left."""

    remembers = ()

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        if not (self.state.promises or self.state.machines.kept_free):
            yield from self.inner.candidates(kind)
            return
        for job in owed_jobs(self.state):
            yield from queued_phases(job, kind)
        if self.state.spare_containers() <= 0:
            return
        for phase in self.inner.candidates(kind):
            if not phase.job.is_owed:
                yield phase

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        if not super().could_use(slot_kind, state):
            return False
        return not is_reserved(state) or any(
            queued_phases(job, slot_kind) for job in owed_jobs(state)
        )

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        if job.is_owed:
            return (0, (job.running / job.promised, job.release_seq))
        return (1, super().job_place(job, kind))

    def may_copy(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        # A copy takes a container, too, and no other job may be owed it.
        is_free = phase.job.is_owed or not is_reserved(self.state)
        return is_free and super().may_copy(phase, node)

    def start_reason(self, phase: PhaseEntry) -> Reason:
        return _OWN if phase.job.is_owed else super().start_reason(phase)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        if not phase.job.is_owed and is_reserved(state):
            return reserved_reason(state)
        return super().explain(phase, state, now_s)
