"""A task policy around another: it hands everything on, and adds what it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sluice.core.entries import WHOLE_SLOTS, NodeEntry, PhaseEntry, SlotUnits
from sluice.core.events import AttemptKey
from sluice.core.protocols import Assignment, DividesSlots, EndsAttempts, HoldsBack, MindsAttempts
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.job import SlotKind
from sluice.policies.job_order import Named


class Decorator:
    """Does what `inner` does. Subclasses override what they add to, and call this for the rest."""

    def __init__(self, inner: Named) -> None:
        self.inner = inner
        self.name = inner.name
        self.uses = inner.uses
        # To ask a protocol takes ten times as long as to answer, so each is asked once.
        self._slot_units = inner.slot_units if isinstance(inner, DividesSlots) else WHOLE_SLOTS
        self._killer = inner if isinstance(inner, EndsAttempts) else None
        self._holder = inner if isinstance(inner, HoldsBack) else None
        self._minder = inner if isinstance(inner, MindsAttempts) else None

    @property
    def slot_units(self) -> SlotUnits:
        """As in `DividesSlots`."""
        return self._slot_units

    @property
    def reads_progress(self) -> bool:
        """As in `MindsAttempts`."""
        return self._minder is not None and self._minder.reads_progress

    def attach(self, state: ClusterState) -> None:
        self.inner.attach(state)

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterable[Assignment]:
        return self.inner.assign(node, state, now_s)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return self.inner.explain(phase, state, now_s)

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        return () if self._killer is None else self._killer.kills(state, now_s)

    def minds(self, state: ClusterState) -> bool:
        return self._minder is not None and self._minder.minds(state)

    def look_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return None if self._minder is None else self._minder.look_at_s(state, now_s)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return None if self._holder is None else self._holder.wake_at_s(state, now_s)

    def can_run(self, kind: SlotKind, nodes: Sequence[Node]) -> bool:
        """Whether a task of a kind could ever run on nodes like these, all their slots idle."""
        if hasattr(self.inner, "can_run"):
            return bool(self.inner.can_run(kind, nodes))
        return any(node.slots(kind) for node in nodes)


def earlier(one_s: float | None, other_s: float | None) -> float | None:
    """The earlier of two instants, each of which may be never."""
    if one_s is None or other_s is None:
        return other_s if one_s is None else one_s
    return min(one_s, other_s)
