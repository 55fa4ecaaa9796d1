"""FIFO: jobs in the order of their release; a free slot goes to the first that can use it.

Source: ordering spec, section 3 (the exact model at heartbeat 0) and dynamicmr spec, section 5.1
(FIFO variant: the nearest task is taken at once; at most one remote map per heartbeat, which
has no meaning where a freed slot is refilled at once).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sluice.core.commands import Locality
from sluice.core.entries import NodeEntry, PhaseEntry
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind

_new: Final = tuple.__new__
_FIRST: Final = Reason(ReasonCode.FIRST_IN_LINE)
_TYPED: Final = (SlotKind.MAP, SlotKind.REDUCE)


class Fifo:
    """First released, first served, in typed slots."""

    name = "fifo"

    def __init__(self, *, by_heartbeat: bool = False) -> None:
        self._by_heartbeat = by_heartbeat

    @classmethod
    def build(cls, settings: Mapping[str, Any]) -> Fifo:
        """From the settings of a workload file."""
        return cls(by_heartbeat=settings.get("heartbeat_s", 0.0) > 0)

    def attach(self, state: ClusterState) -> None:
        """Needs no index beyond the state's own backlogs."""

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        free = node.free
        for kind in _TYPED:
            if not free[kind]:
                continue
            line = state.backlogs[kind]
            while free[kind] and (phase := line.first()) is not None:
                if phase.job.alike:
                    tasks = min(free[kind], phase.pending.count)
                    yield Assignment(phase, kind, _FIRST, tasks)
                elif phase.pending.is_placed:
                    is_remote = phase.pending.nearest(node.node_id, node.rack) is Locality.ANY
                    yield Assignment(phase, kind, _FIRST)
                    if is_remote and self._by_heartbeat:
                        break
                else:
                    # Half the price of a call of the class, and the way of most tasks.
                    yield _new(Assignment, (phase, kind, _FIRST, 1, None, None))

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        jobs = tasks = 0
        for ahead in state.backlogs[phase.kind].in_order():
            if ahead is phase:
                break
            jobs += 1
            tasks += ahead.pending.count
        if jobs:
            return Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", jobs), ("tasks", tasks)))
        slots = state.slots[phase.kind]
        return Reason(ReasonCode.SLOTS_BUSY, (("slots", slots), ("kind", phase.kind.value)))
