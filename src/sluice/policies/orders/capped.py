"""The most that a pool may run at once, as a plan or the workload file gives it, in every order."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.core.entries import PhaseEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.order_decorator import OrderDecorator


class Capped(OrderDecorator):
    """Leaves out the phases of pools that are at their cap."""

    remembers = ()

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        return (phase for phase in self.inner.candidates(kind) if not _is_at_cap(phase))

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        if _is_at_cap(phase):
            kind = phase.kind
            cap = phase.job.pool.pool.slots_max(kind)
            return Reason(ReasonCode.POOL_AT_CAP, (("cap", cap), ("kind", kind.value)))
        return super().explain(phase, state, now_s)


def _is_at_cap(phase: PhaseEntry) -> bool:
    pool, kind = phase.job.pool, phase.kind
    cap = pool.pool.slots_max(kind)
    if cap == float("inf"):
        return False
    phases = (one for job in pool.jobs.values() for one in job.phases if one.kind is kind)
    return sum(one.running for one in phases) >= cap
