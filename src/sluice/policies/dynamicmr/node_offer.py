"""One node's request for work: what it may still take, by kind of slot.

All amounts are in units of the kind of slot they are in (see `SlotUnits`); at equal weights a
unit is a slot. Source: dynamicmr spec, section 4 (balance line, allowable and extra idle slots).
"""

from __future__ import annotations

from typing import Final

from sluice.core.entries import WHOLE_SLOTS, NodeEntry, SlotUnits
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.loans import Loans
from sluice.policies.orders.balance_line import balance_line

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


class NodeOffer:
    """The tasks that a node may take. The two ways of lending say what `room` and `lendable` are.

    map_load, reduce_load: L_M and L_R when the node asked.
    """

    def __init__(
        self, node: NodeEntry, units: SlotUnits, loans: Loans, map_load: float, reduce_load: float
    ) -> None:
        self.node = node
        self.units = units
        self.loans = loans
        self.map_load = map_load
        self.reduce_load = reduce_load

    def width(self, kind: SlotKind) -> int:
        """Units that a task of a kind takes."""
        return 1 if self.units is WHOLE_SLOTS else self.units[kind]

    @property
    def is_below_line(self) -> bool:
        """Whether the node as a whole may take any more."""
        return True

    def room(self, slot_kind: SlotKind) -> int:
        """Units left within the line of a kind of slot."""
        return self.node.free[slot_kind]

    def lendable(self, slot_kind: SlotKind) -> int:
        """Borrowers that slots of a kind may hold at most, on all nodes together."""
        raise AssertionError("each way of lending has its own bound")

    def fits_own(self, kind: SlotKind) -> bool:
        """Whether one more task of a kind may start in a slot of that kind."""
        return self.room(kind) >= self.width(kind)

    def fits_borrowed(self, kind: SlotKind, slot_kind: SlotKind) -> bool:
        """Whether one more task of a kind may borrow a slot of another."""
        return self.room(slot_kind) >= self.width(kind) and self.loans.lent_in(
            slot_kind
        ) < self.lendable(slot_kind)

    def has_idle(self, slot_kind: SlotKind, kind: SlotKind) -> bool:
        """Whether slots of a kind have idle room for a task, the line aside."""
        return self.node.free[slot_kind] >= self.width(kind)

    @property
    def has_allowable_map_slot(self) -> bool:
        """A(n) >= 1: a map slot is left below the balance line of L_M."""
        line = balance_line(self.map_load, self.node.node.map_slots) * self.units[_MAP]
        return line - self.node.used(_MAP) >= self.units[_MAP]

    @property
    def extra_map_slots(self) -> int:
        """E(n): idle map slots beyond the line and beyond what is in use. Erratum E18."""
        node, wide = self.node, self.units[_MAP]
        line = balance_line(self.map_load, node.node.map_slots) * wide
        return (node.all_units(_MAP) - max(node.used(_MAP), line)) // wide

    def load_of(self, kind: SlotKind) -> float:
        """Demand for a kind of slot per slot, when the node asked."""
        return self.map_load if kind is _MAP else self.reduce_load


def other(kind: SlotKind) -> SlotKind:
    """The kind whose slots it may borrow."""
    return _REDUCE if kind is _MAP else _MAP
