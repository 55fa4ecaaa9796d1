"""FIFO: jobs in the order of their release; a free slot goes to the first that can use it.

Source: ordering spec, section 3 (the exact model at heartbeat 0) and dynamicmr spec, section 5.1
(FIFO variant: the nearest task is taken at once; at most one remote map per heartbeat, which
has no meaning where a freed slot is refilled at once).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.backlog import Backlog
from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.free_slots import FreeSlots
from sluice.core.offers import Offer
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import IN_TURN, JobOrder, Key, Pick, Place
from sluice.policies.settings import FifoSettings

_FIRST: Final = IN_TURN  # imported names are looked up at each use


@mypyc_attr(allow_interpreted_subclasses=True)
class Fifo(JobOrder):
    """First released, first served, in typed slots; stages in containers."""

    name: ClassVar[str] = "fifo"
    Settings: ClassVar[type[Any]] = FifoSettings
    remembers: ClassVar[tuple[str, ...] | None] = ()

    knows_next_node = True
    _by_heartbeat: bool = False

    def __init__(self, *, by_heartbeat: bool = False) -> None:
        self._by_heartbeat = by_heartbeat
        self._was_remote = False  # a remote map has started in this heartbeat, and no map follows

    @classmethod
    def build(cls, settings: Any) -> Any:  # noqa: ANN401  # copies and kills may decorate it
        return cls(by_heartbeat=settings.heartbeat_s > 0)

    def fill(self, offer: Offer) -> None:
        for kind in KINDS:
            line = self._backlogs.of(kind)
            if line.count:
                self._fill_kind(offer, offer.node.free.of(kind), line, kind)

    def _fill_kind(
        self, offer: Offer, free: FreeSlots, line: Backlog[PhaseEntry], kind: SlotKind
    ) -> None:
        """Start tasks in the free slots of a kind."""
        while free.count and (phase := line.first()) is not None:
            if phase.alike:
                offer.start(phase, kind, _FIRST, min(free.count, phase.pending.count))
                continue
            is_remote = phase.pending.is_placed and self._by_heartbeat and _is_far(phase, offer)
            offer.start(phase, kind, _FIRST)
            if is_remote:
                break

    # --- task by task -------------------------------------------------------------------------

    def begin(self, now_s: float) -> None:
        self._was_remote = False

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        phase = self._backlog(kind).first()
        if phase is None or (self._was_remote and phase.pending.is_placed):
            return None
        if before is not None and self.job_place(phase.job, kind) > before.job:
            return None
        if phase.pending.is_placed and self._by_heartbeat:
            self._was_remote = phase.pending.nearest(node.node_id, node.rack) is Locality.ANY
        return Pick(phase, _FIRST)

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        return self._backlog(kind).in_order()

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        if farthest is Locality.ANY:
            return self.pick(node, kind)
        return super().pick_within(node, kind, farthest)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return (job.release_seq,)


def _is_far(phase: PhaseEntry, offer: Offer) -> bool:
    """Whether the phase's nearest task has its input in another rack than the node."""
    return phase.pending.nearest(offer.node.node_id, offer.node.rack) is Locality.ANY
