"""PI-DHSA: each kind of slot as a whole lends what its own tasks leave unused.

Fairness is within each kind of task. A map goes to a map slot while the node is below its line,
a reduce to a reduce slot; then maps borrow reduce slots and reduces map slots, up to targets that
come from the loads of the whole cluster. The lines count in what may be lent.
Source: dynamicmr spec, sections 4 and 5.2 (Algorithm 6 repaired: errata E1 to E5).
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import NodeEntry, SlotUnits
from sluice.core.offers import Offer
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.cases import Case
from sluice.policies.dynamicmr.lender import SlotLender
from sluice.policies.dynamicmr.loans import Loans
from sluice.policies.dynamicmr.node_offer import NodeOffer
from sluice.policies.dynamicmr.targets import Demands, Fractions, Targets, targets
from sluice.policies.job_order import JobOrder
from sluice.policies.orders.balance_line import balance_line

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


class _Turn(NodeOffer):
    """Each kind of slot has its line, with what may be lent counted in."""

    def __init__(self, node: NodeEntry, units: SlotUnits, loans: Loans, wanted: Targets) -> None:
        super().__init__(node, units, loans, wanted.map_load, wanted.reduce_load)
        self._wanted = wanted
        of_maps = balance_line(wanted.map_load_lent, node.slots(_MAP))
        of_reduces = balance_line(wanted.reduce_load_lent, node.slots(_REDUCE))
        self._map_line = of_maps * self.width(_MAP)  # c_m and c_r
        self._reduce_line = of_reduces * self.width(_REDUCE)

    def room(self, slot_kind: SlotKind) -> int:
        line = self._map_line if slot_kind is _MAP else self._reduce_line
        return line - self.node.used(slot_kind)

    def fits_borrowed(self, kind: SlotKind, slot_kind: SlotKind) -> bool:
        if self.loans.lent_in(slot_kind) >= self.lendable(slot_kind):
            return False
        width, node = self.width(kind), self.node
        # A line below the width of one borrower must not keep all of them out for ever.
        return self.room(slot_kind) >= width or (
            node.used(slot_kind) == 0 and node.free[slot_kind] >= width
        )

    def lendable(self, slot_kind: SlotKind) -> int:
        return self._wanted.reduces_lent_max if slot_kind is _MAP else self._wanted.maps_lent_max


@mypyc_attr(allow_interpreted_subclasses=True)
class PoolIndependent(SlotLender):
    """Lending between kinds of slot, whosever tasks they are."""

    def __init__(
        self, line: JobOrder, cases: list[Case], fractions: Fractions, units: SlotUnits
    ) -> None:
        super().__init__(line, cases, fractions, units)
        self._fills_by_cases = type(self) is PoolIndependent

    def turn(self, node: NodeEntry) -> NodeOffer:
        return _Turn(node, self.units, self.loans, self._wanted())

    def turns(self, nodes: list[NodeEntry]) -> list[NodeOffer]:
        wanted = self._wanted()
        return [_Turn(node, self.units, self.loans, wanted) for node in nodes]

    def _wanted(self) -> Targets:
        """Return what is wanted, and may be lent, now."""
        state, loans = self.state, self.loans
        demands = Demands(
            self.demand.tasks(_MAP) + self.line.copies_wanted(_MAP),
            self.demand.tasks(_REDUCE) + self.line.copies_wanted(_REDUCE),
            loans.maps_in_reduce_slots,
            loans.reduces_in_map_slots,
        )
        return targets(demands, state.slots[_MAP], state.slots[_REDUCE], self.fractions, self.k)

    def fill(self, offer: Offer) -> None:
        self.line.begin(offer.now_s)
        self._has_started = False
        turn = self.turn(offer.node)
        for case in self.cases:
            while case.has_slot(turn):
                chosen = case.start(turn, None)
                if chosen is None:
                    break
                self._has_started = True
                chosen.begin(offer)
                if chosen.copy_of is not None:
                    turn = self.turn(offer.node)
        self.line.end(offer.now_s)
