"""The common part of both ways of lending: the order of jobs, the counts, and the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import NodeEntry, PhaseEntry, SlotUnits
from sluice.core.indexes.open_nodes import IndexSet, first_of
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.cases import BESIDE_DATA, IN_TURN, BorrowedSlot, Case, OwnSlot
from sluice.policies.dynamicmr.loans import Demand, Loans
from sluice.policies.dynamicmr.node_offer import NodeOffer, other
from sluice.policies.dynamicmr.targets import Fractions, whole
from sluice.policies.job_order import JobOrder
from sluice.policies.rooms.loanable import Loanable
from sluice.policies.rooms.nodes_alike import NodesAlike, NodesWithRoom
from sluice.policies.rooms.slot_counts import owed_jobs

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


@mypyc_attr(allow_interpreted_subclasses=True)
class SlotLender(Decorator):
    """Fills nodes case by case. Subclasses say how much may be lent, and whose turn it is.

    cases: what is tried, in this order; `own_and_borrowed` gives the plain ones.
    units: what a map and a reduce take.
    nodes_min: with fewer nodes, to offer all costs less than to know which could use a slot.
    """

    nodes_min: ClassVar[int] = 16
    remembers: ClassVar[tuple[str, ...] | None] = ()

    def __init__(
        self, line: JobOrder, cases: list[Case], fractions: Fractions, units: SlotUnits
    ) -> None:
        super().__init__(line)
        self.line = line
        self.cases = cases
        self.fractions = fractions
        self.units = units
        self.k = units[_REDUCE] / units[_MAP]
        # Set by a subclass that starts what the cases say, and nothing else.
        self._fills_by_cases = False
        self._has_started = True  # the node that was offered last was given something
        self._alike: NodesAlike | None = None  # made once there are so many nodes

    def attach(self, state: ClusterState) -> None:
        self.line.attach(state)
        self.state = state
        for case in self.cases:
            case.attach(state)
        self.loans = Loans(state)
        self.demand = Demand(state, has_caps=self.line.has_pools)

    @property
    def slot_units(self) -> SlotUnits:
        return self.units

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        # Any slot may be lent.
        return self.line.could_use(_MAP, state) or self.line.could_use(_REDUCE, state)

    def next_node(self, index: int, state: ClusterState) -> int:
        first = state.open_nodes.first_from(index)
        if first < 0:
            return -1
        line = self.line
        maps, reduces = line.could_use(_MAP, state), line.could_use(_REDUCE, state)
        if not (maps or reduces or line.has_waiting(_MAP) or line.has_waiting(_REDUCE)):
            return -1
        if not self._fills_by_cases:
            return first
        found = self._next_asked(first, state, maps=maps, reduces=reduces)
        if not index and found != first:
            line.begin(state.now_s)  # as if the first were offered: an order may choose by then
            line.end(state.now_s)
        if len(state.node_at) < self.nodes_min:
            return found
        waits = line.data_waits(state)
        if waits is not None and not index:
            waits.begin()
        while found >= 0:
            used = self._next_used(found, state, maps=maps, reduces=reduces)
            found = self._next_asked(used, state, maps=maps, reduces=reduces) if used >= 0 else -1
            if found == used:
                break
        return found

    def _next_asked(self, index: int, state: ClusterState, *, maps: bool, reduces: bool) -> int:
        """The first node from an index on but those whose slots may only be lent, and to no task.

        maps, reduces: whether a task of the kind, or a copy, waits.
        """
        if state.promises and any(
            phase.is_queued for job in owed_jobs(state) for phase in job.phases
        ):
            return state.open_nodes.first_from(index)
        best = -1
        for slot_kind, is_own, is_other in ((_MAP, maps, reduces), (_REDUCE, reduces, maps)):
            if is_own:
                best = first_of(best, state.open_nodes.of(slot_kind).first_from(index))
            elif is_other:
                best = first_of(best, self.line.next_loan(index, other(slot_kind), slot_kind))
        return best

    def _next_used(self, index: int, state: ClusterState, *, maps: bool, reduces: bool) -> int:
        """The first node from an index on with a slot that a case could use."""
        line = self.line
        if self._has_started and line.data_waits(state) is None:
            return index  # mostly it is given something too, and then no other needs a look
        return line.next_with_room(self._rooms(maps=maps, reduces=reduces), index, state)

    def _rooms(self, *, maps: bool, reduces: bool) -> list[NodesWithRoom]:
        """The nodes with a slot that a case could use for a task, by the kind of the task."""
        if self._alike is None:
            self._alike = NodesAlike(self.state)
        groups = self._alike.groups()
        node_at = self.state.node_at
        turns = self.turns([node_at[group.nodes.first_from(0)] for group in groups])
        of_maps, of_reduces = NodesWithRoom(_MAP), NodesWithRoom(_REDUCE)
        for group, turn in zip(groups, turns, strict=True):
            asked: set[tuple[str, SlotKind]] = set()
            for case in self.asked_cases:
                asks = case.asks
                if asks in asked or not (reduces if asks[1] is _REDUCE else maps):
                    continue
                if (turn.is_below_line or case.goes_beyond_line) and case.has_slot(turn):
                    asked.add(asks)
                    room = of_maps if asks[1] is _MAP else of_reduces
                    _sets_of(room, asks[0]).append(group.nodes)
        return [of_maps, of_reduces]

    def turn(self, node: NodeEntry) -> NodeOffer:
        """Return what the node may take now."""
        raise AssertionError("each way of lending has its own")

    def turns(self, nodes: list[NodeEntry]) -> list[NodeOffer]:
        """Return what each of some nodes may take now."""
        return [self.turn(node) for node in nodes]

    @property
    def asked_cases(self) -> list[Case]:
        """All cases that may start a task."""
        return self.cases

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        """Nothing if a task may borrow a slot of the other kind; the fractions must allow it."""
        if kind is SlotKind.CONTAINER:
            return SlotShortage(
                "this policy places only maps and reduces, in map slots and reduce slots",
                "choose --tasks fifo, fair or yarn-like",
            )
        if any(node.slots(kind) for node in nodes):
            return None
        lent, needed = other(kind), self.units[kind]
        room = [node.slots(lent) * self.units[lent] for node in nodes]
        if max(room) >= needed and whole(self.fractions.of(lent) * sum(room) / needed) >= 1:
            return None
        fraction = f"pct_{lent.value}"
        return SlotShortage(
            f"{kind.value}_slots of the cluster is 0, and {fraction} and the slot weights leave no"
            f" {lent.value} slot to borrow",
            f"give the cluster {kind.value} slots, a greater {fraction} or larger nodes",
        )

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        """Return what the line says.

        Where all slots of its kind are busy, also what it may borrow.
        """
        reason = self.line.explain(phase, state, now_s)
        if reason.code is not ReasonCode.SLOTS_BUSY or not state.nodes:
            return reason
        borrowed = other(phase.kind)
        turn = self.turn(next(iter(state.nodes.values())))
        return Reason(
            ReasonCode.LOANS_BUSY,
            (
                ("slots", state.slots[phase.kind]),
                ("kind", phase.kind.value),
                ("other", borrowed.value),
                ("lent", self.loans.lent_in(borrowed)),
                ("lendable", turn.lendable(borrowed)),
            ),
        )


def _sets_of(room: NodesWithRoom, how: str) -> list[IndexSet]:
    """The nodes where a case asks the line in a way."""
    if how == IN_TURN:
        return room.in_turn
    return room.near_data if how == BESIDE_DATA else room.anywhere


def own_and_borrowed(line: JobOrder, mode: str, loans: Loanable | None = None) -> list[Case]:
    """Cases 1 to 4, named after a mode: "PI" or "PD". loans: where slots are lent; None for all."""
    return [
        OwnSlot(line, _MAP, f"{mode} 1"),
        OwnSlot(line, _REDUCE, f"{mode} 2"),
        BorrowedSlot(line, _MAP, f"{mode} 3", loans),
        BorrowedSlot(line, _REDUCE, f"{mode} 4", loans),
    ]
