"""Slot PreScheduling: slots beyond the balance line for maps near their data.

P1 starts such a map in a map slot beyond the line; P2, where no map slot is left, in an idle
reduce slot, of which `lent_max` may be lent so at once; P3 gives reduces map slots in return, as
many as there are maps of P2 that still run. What is lent falls by itself when those maps end.

It decorates a list of cases: it puts its own behind the cases for whose sake they are there.
Source: dynamicmr spec, section 5.5, with errata E20 and E21.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sluice.core.entries import PoolEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.cases import (
    ANYWHERE,
    BESIDE_DATA,
    Case,
    CaseStart,
    OwnSlot,
    pick_within,
)
from sluice.policies.dynamicmr.node_offer import NodeOffer
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.job_order import JobOrder
from sluice.policies.rooms.loanable import Loanable

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


def with_prescheduling(
    cases: Sequence[Case],
    line: JobOrder,
    fractions: Fractions,
    lent_max: int,
    loans: Loanable | None = None,
) -> list[Case]:
    """The cases with those of prescheduling among them: 1, P1, P2, 2, P3, 3, 4.

    lent_max: reduce slots lent by it at any time. Without lending only P1 is left.
    loans: on which nodes slots are lent; None for all.
    """
    own_map, own_reduce = [case for case in cases if isinstance(case, OwnSlot)]
    more: list[Case] = []
    for case in cases:
        more.append(case)
        if case is own_map:
            more.append(ExtraSlot(line))
            if fractions.pct_reduce:
                more.append(LentAhead(line, lent_max, loans))
        elif case is own_reduce and fractions.pct_map:
            more.append(LentBack(line, loans))
    return more


class ExtraSlot(Case):
    """P1: a map slot beyond the line, where none is left within it."""

    def __init__(self, line: JobOrder) -> None:
        super().__init__("P1", (BESIDE_DATA, _MAP), goes_beyond_line=True)
        self._inner = line

    def has_slot(self, turn: NodeOffer) -> bool:
        return turn.extra_map_slots >= 1 and not turn.has_allowable_map_slot

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        pick = self._inner.pick_within(turn.node, _MAP, Locality.NODE, pool)
        if pick is None:
            return None
        numbers = (("case", self.number), ("extra", turn.extra_map_slots))
        return CaseStart(pick.phase, _MAP, Reason(ReasonCode.EXTRA_SLOT, numbers))


class LentAhead(Case):
    """P2: no map slot is left at all, and a reduce slot idles."""

    def __init__(self, line: JobOrder, lent_max: int, loans: Loanable | None) -> None:
        super().__init__("P2", (BESIDE_DATA, _MAP), goes_beyond_line=True)
        self._inner = line
        self._loans = loans
        self._lent_max = lent_max

    def has_slot(self, turn: NodeOffer) -> bool:
        if turn.loans.ahead >= self._lent_max or not turn.has_idle(_REDUCE, _MAP):
            return False
        return not (turn.has_allowable_map_slot or turn.extra_map_slots >= 1)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        pick = pick_within(self._inner, turn, _MAP, pool, self._loans, Locality.NODE)
        if pick is None:
            return None
        numbers = (("case", self.number), ("lent", turn.loans.ahead), ("most", self._lent_max))
        return CaseStart(pick.phase, _REDUCE, Reason(ReasonCode.LENT_AHEAD, numbers))


class LentBack(Case):
    """P3: maps hold reduce slots ahead of their turn, so that a reduce may have a map slot."""

    def __init__(self, line: JobOrder, loans: Loanable | None) -> None:
        super().__init__("P3", (ANYWHERE, _REDUCE), goes_beyond_line=True)
        self._inner = line
        self._loans = loans

    def has_slot(self, turn: NodeOffer) -> bool:
        if turn.loans.back >= turn.loans.ahead or turn.has_idle(_REDUCE, _REDUCE):
            return False
        return turn.has_idle(_MAP, _REDUCE) and self._inner.has_waiting(_REDUCE)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        pick = pick_within(self._inner, turn, _REDUCE, pool, self._loans)
        if pick is None:
            return None
        numbers = (("case", self.number), ("lent", turn.loans.ahead))
        return CaseStart(pick.phase, _MAP, Reason(ReasonCode.LENT_BACK, numbers))
