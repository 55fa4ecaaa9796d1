"""A slot of either kind for a job that runs less than admission has promised to it."""

from __future__ import annotations

from typing import Final

from sluice.core.entries import PoolEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.cases import Case, CaseStart
from sluice.policies.dynamicmr.node_offer import NodeOffer, other
from sluice.policies.orders.candidate_order import owed_jobs

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_OWN: Final = Reason(ReasonCode.OWN_CONTAINER)


class PromisedSlot(Case):
    """Before all other cases: what is promised is kept, whatever the loads say about lending."""

    def __init__(self) -> None:
        super().__init__("promise", ("promised", _MAP), goes_beyond_line=True)
        self._state: ClusterState | None = None

    def attach(self, state: ClusterState) -> None:
        """Called once before the first event."""
        self._state = state

    def has_slot(self, turn: NodeOffer) -> bool:
        is_idle = turn.has_idle(_MAP, _MAP) or turn.has_idle(_REDUCE, _REDUCE)
        return is_idle and self._state is not None and bool(self._state.promises)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        assert self._state is not None, "it has a slot only once it is attached"
        for job in owed_jobs(self._state):
            if pool is not None and job.pool is not pool:
                continue
            for phase in job.phases:
                if phase.is_queued and phase.kind is not SlotKind.CONTAINER:
                    own = phase.kind
                    slot_kind = own if turn.has_idle(own, own) else other(own)
                    return CaseStart(phase, slot_kind, _OWN)
        return None
