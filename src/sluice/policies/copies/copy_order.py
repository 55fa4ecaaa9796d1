"""Second attempts by a rule of one's own: what a member of `--copies` derives from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.by_kind import KINDS, ByKind
from sluice.core.indexes.open_nodes import first_of
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.reasons import attempt_reason
from sluice.policies.decorator import earlier
from sluice.policies.job_order import Pick, Place
from sluice.policies.memory import Memory
from sluice.policies.orders.order_decorator import OrderDecorator

LOOK_S: Final = 3.0  # between two looks at what runs; an attempt that hangs reports nothing


class _Look:
    """Attempts that deserve a second one. number: of the last look."""

    def __init__(self) -> None:
        self.number = -1
        self.found: list[Attempt] = []


class _Looks:
    """The last look of an order for each kind. It is asked at each start, and the order is not."""

    def __init__(self, order: CopyOrder, state: ClusterState) -> None:
        self._order = order
        self._state = state
        self._looks: ByKind[_Look] = ByKind(lambda _: _Look())

    def saved(self) -> list[Any]:
        """The number and the keys of each kind."""
        running = self._state.running
        return [
            [look.number, [one.key for one in look.found if one.key in running]]
            for look in map(self._looks.of, KINDS)
        ]

    def restored(self, saved: list[Any]) -> None:
        """Take back what `saved` returned."""
        for kind, (number, keys) in zip(KINDS, saved, strict=True):
            look = self._looks.of(kind)
            look.number = number
            look.found = [self._state.running[AttemptKey(*key)] for key in keys]

    def slow(self, kind: SlotKind) -> list[Attempt]:
        """Running attempts of a kind that deserve a second one and have none."""
        look, number = self._looks.of(kind), math.floor(self._state.now_s / LOOK_S)
        if look.number != number:
            look.number, look.found = number, list(self._order.worth_a_copy(kind))
        if look.found:
            look.found = [one for one in look.found if attempt_reason(one) is None]
        return look.found


@mypyc_attr(allow_interpreted_subclasses=True)
class CopyOrder(OrderDecorator):
    """Where nothing that waits has room on a node, a task that runs elsewhere is started again."""

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._looks = _Looks(self, state)

    def saved(self) -> Memory | None:
        around = super().saved()
        return None if around is None else {**around, "looks": self._looks.saved()}

    def restored(self, saved: Memory, state: ClusterState) -> None:
        super().restored(saved, state)
        self._looks.restored(saved["looks"])

    def worth_a_copy(self, kind: SlotKind) -> Iterable[Attempt]:
        """Return running attempts of a kind that deserve a second one, the neediest first.

        Those that have a second attempt, or are one, may be among them: they are passed over.
        It is asked once in `LOOK_S`, not at every start.
        """
        raise AssertionError("a CopyOrder defines worth_a_copy()")

    def running(self, kind: SlotKind) -> list[Attempt]:
        """The running attempts of a kind."""
        return [one for one in self.state.running.values() if one.phase.kind is kind]

    def copy_reason(self, attempt: Attempt) -> Reason:
        """Why the task of an attempt is started a second time."""
        ran_s = self.state.now_s - attempt.started_at_s
        return Reason(ReasonCode.COPIED, (("ran_s", ran_s),))

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(state.running) or self.inner.wants_offer(state)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return self.inner.could_use(slot_kind, state) or bool(self._looks.slow(slot_kind))

    def next_node(self, index: int, state: ClusterState) -> int:
        found = self.inner.next_node(index, state)
        for kind in KINDS:
            if self._looks.slow(kind):
                found = first_of(found, state.open_nodes.of(kind).first_from(index))
        return found

    def may_start(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        return self.inner.fits(phase, node)

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        found = self.inner.pick(node, kind, pool, before)
        if found is not None or before is not None:
            return found
        for attempt in self._looks.slow(kind):
            if attempt.node is not node and self.inner.may_copy(attempt.phase, node):
                return Pick(attempt.phase, self.copy_reason(attempt), attempt)
        return None

    def copies_on(self, job: JobEntry, node: NodeEntry, now_s: float) -> Iterator[Assignment]:
        for kind in KINDS:
            for attempt in self._looks.slow(kind):
                is_elsewhere = attempt.phase.job is job and attempt.node is not node
                if is_elsewhere and node.free[kind] and attempt_reason(attempt) is None:
                    reason = self.copy_reason(attempt)
                    yield Assignment(attempt.phase, kind, reason, copy_of=attempt)

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        return self.inner.pick_within(node, kind, farthest, pool)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = self.inner.wake_at_s(state, now_s)
        if not state.running:
            return inner_s
        # The same instant for every call until then, so that wake-ups do not multiply.
        return earlier(inner_s, (math.floor(now_s / LOOK_S) + 1) * LOOK_S)
