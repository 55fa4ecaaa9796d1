"""PD-DHSA: pools are fair over maps and reduces together; each lends to itself first.

The pool that runs least for its weight is served: a map in a map slot, a reduce in a reduce slot,
a map in a reduce slot, a reduce in a map slot, whichever is the first that it has. Only when no
pool can start anything for want of data nearby does a map run away from them (case 5).
Source: dynamicmr spec, section 5.3 (Algorithm 7 repaired: errata E6 to E8, E24).
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import NodeEntry, SlotUnits
from sluice.core.offers import Offer
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.cases import AwayFromData, Case, CaseStart
from sluice.policies.dynamicmr.lender import SlotLender
from sluice.policies.dynamicmr.node_offer import NodeOffer
from sluice.policies.dynamicmr.pools import PoolsInTurn, PoolWalk
from sluice.policies.dynamicmr.targets import Fractions, load, whole
from sluice.policies.job_order import JobOrder
from sluice.policies.orders.balance_line import balance_line

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE


class _Turn(NodeOffer):
    """The node as a whole has a line; within it any idle slot may be used."""

    def __init__(self, node: NodeEntry, lender: PoolDependent) -> None:
        slots = lender.state.slots
        maps, reduces = lender.demand.tasks(_MAP), lender.demand.tasks(_REDUCE)
        # A copy is a task too; one at a time, of whichever kind.
        copies = max(lender.line.copies_wanted(_MAP), lender.line.copies_wanted(_REDUCE))
        super().__init__(
            node, lender.units, lender.loans, load(maps, slots[_MAP]), load(reduces, slots[_REDUCE])
        )
        self._slots = slots
        self._fractions = lender.fractions
        self._k = lender.k
        whole_load = load(maps + reduces + copies, slots[_MAP] + slots[_REDUCE])
        self._line = balance_line(whole_load, node.node.map_slots + node.node.reduce_slots)

    @property
    def is_below_line(self) -> bool:
        node, units = self.node, self.units
        running = node.used(_MAP) * units[_REDUCE] + node.used(_REDUCE) * units[_MAP]
        return running < self._line * units[_MAP] * units[_REDUCE]

    def lendable(self, slot_kind: SlotKind) -> int:
        unused = self._slots[slot_kind] - self.loans.own_in(slot_kind)
        wide = 1 / self._k if slot_kind is _MAP else self._k
        return whole(self._fractions.of(slot_kind) * unused * wide)


@mypyc_attr(allow_interpreted_subclasses=True)
class PoolDependent(SlotLender):
    """Lending inside pools before between them.

    away: case 5; None where maps obey their waits instead, and slots may idle.
    """

    def __init__(
        self,
        line: JobOrder,
        cases: list[Case],
        fractions: Fractions,
        units: SlotUnits,
        pools: PoolsInTurn,
        away: AwayFromData | None,
    ) -> None:
        super().__init__(line, cases, fractions, units)
        self._pools = pools
        self._away = away
        self._fills_by_cases = type(self) is PoolDependent
        self._beyond = [case for case in cases if case.goes_beyond_line]

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._pools.attach(state, self.line)

    def queues_changed(self, state: ClusterState) -> None:
        super().queues_changed(state)
        self._pools.take_up()

    @property
    def asked_cases(self) -> list[Case]:
        return self.cases if self._away is None else [*self.cases, self._away]

    def turn(self, node: NodeEntry) -> NodeOffer:
        return _Turn(node, self)

    def fill(self, offer: Offer) -> None:
        node, now_s = offer.node, offer.now_s
        if not (node.free[_MAP] or node.free[_REDUCE]):
            return
        self._has_started = False
        self.line.begin(now_s)
        turn = _Turn(node, self)
        copiers = self._pools.of_pools(self.line.pools_with_copies())
        walk = PoolWalk(self._pools.in_order(), copiers)
        while turn.is_below_line:
            chosen = self._first(turn, walk, self.cases) or self._away_from_data(turn, walk)
            if chosen is None:
                break
            self._has_started = True
            chosen.begin(offer)
            walk.settle()
            if chosen.copy_of is not None:
                turn = _Turn(node, self)  # there is one task more than there was
        if self._beyond:
            walk = PoolWalk(self._pools.in_order())
            chosen = self._first(turn, walk, self._beyond)
            while chosen is not None:
                self._has_started = True
                chosen.begin(offer)
                walk.settle()
                chosen = self._first(turn, walk, self._beyond)
        self.line.end(now_s)

    def _first(self, turn: NodeOffer, walk: PoolWalk, cases: list[Case]) -> CaseStart | None:
        """Start a task of the first pool that has one."""
        asked: dict[tuple[str, SlotKind], Case] = {}
        for case in cases:
            if case.asks not in asked and case.has_slot(turn):
                asked[case.asks] = case
        if not asked:
            return None
        while (claimant := walk.first()) is not None:
            for case in asked.values():
                chosen = case.start(turn, claimant.pool)
                if chosen is not None:
                    walk.served(claimant)
                    return chosen
            walk.passed(claimant)
        return None

    def _away_from_data(self, turn: NodeOffer, walk: PoolWalk) -> CaseStart | None:
        """Case 5, once every pool has been asked in vain."""
        if self._away is None or not self.demand.waiting(_MAP) or not self._away.has_slot(turn):
            return None
        for _, _, claimant in self._pools.in_order():
            chosen = self._away.start(turn, claimant.pool)
            if chosen is not None:
                walk.ask_again(claimant)
                return chosen
        return None
