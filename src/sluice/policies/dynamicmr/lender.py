"""The common part of both ways of lending: the order of jobs, the counts, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import NodeEntry, PhaseEntry, SlotUnits
from sluice.core.protocols import Assignment, SlotShortage
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.job import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.cases import BorrowedSlot, Case, OwnSlot
from sluice.policies.dynamicmr.loans import Demand, Loans
from sluice.policies.dynamicmr.node_offer import NodeOffer, other
from sluice.policies.dynamicmr.targets import Fractions, whole
from sluice.policies.job_order import JobOrder

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


@mypyc_attr(allow_interpreted_subclasses=True)
class SlotLender(Decorator):
    """Fills nodes case by case. Subclasses say how much may be lent, and whose turn it is.

    cases: what is tried, in this order; `own_and_borrowed` gives the plain ones.
    units: what a map and a reduce take.
    """

    def __init__(
        self, line: JobOrder, cases: list[Case], fractions: Fractions, units: SlotUnits
    ) -> None:
        super().__init__(line)
        self.line = line
        self.cases = cases
        self.fractions = fractions
        self.units = units
        self.k = units[_REDUCE] / units[_MAP]

    def attach(self, state: ClusterState) -> None:
        self.line.attach(state)
        self.state = state
        self.loans = Loans(state)
        self.demand = Demand(state, has_caps=self.line.has_pools)

    @property
    def slot_units(self) -> SlotUnits:
        return self.units

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        # Any slot may be lent.
        return self.line.could_use(_MAP, state) or self.line.could_use(_REDUCE, state)

    def turn(self, node: NodeEntry) -> NodeOffer:
        """What the node may take now."""
        raise AssertionError("each way of lending has its own")

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        raise AssertionError("each way of lending has its own")

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
        """What the line says; where all slots of its kind are busy, also what it may borrow."""
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


def own_and_borrowed(line: JobOrder, mode: str) -> list[Case]:
    """Cases 1 to 4, named after a mode: "PI" or "PD"."""
    return [
        OwnSlot(line, _MAP, f"{mode} 1"),
        OwnSlot(line, _REDUCE, f"{mode} 2"),
        BorrowedSlot(line, _MAP, f"{mode} 3"),
        BorrowedSlot(line, _REDUCE, f"{mode} 4"),
    ]
