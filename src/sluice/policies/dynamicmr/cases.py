"""The cases in which a slot is filled, by the numbers of the spec (sections 5.2 and 5.3).

1 a map in a map slot, 2 a reduce in a reduce slot, 3 a map in a reduce slot, 4 a reduce in a map
slot, 5 a map wherever its data lie. A case is asked for one start at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, PhaseEntry, PoolEntry
from sluice.core.offers import Offer
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.node_offer import NodeOffer, other
from sluice.policies.job_order import JobOrder, Pick
from sluice.policies.rooms.loanable import Loanable
from sluice.policies.rooms.slot_counts import owed_jobs

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE

# What a case asks a `JobOrder` for: the first task in order, one near its data, or any.
IN_TURN: Final = "in turn"
BESIDE_DATA: Final = "near data"
ANYWHERE: Final = "anywhere"

_PROMISED: Final = Reason(ReasonCode.OWN_CONTAINER)
_NONE: Final = Reason(ReasonCode.OWN_SLOT)
_BORROWED: Final = ReasonCode.BORROWED_SLOT
_LOAD_SHOWN_MAX: Final = 999.99  # a load without slots is infinite, which JSON cannot express


# No named tuple, which takes ten times as long to make.
class CaseStart:
    """The work that a case starts: a task of a phase in a kind of slot, or a copy of an attempt."""

    def __init__(
        self, phase: PhaseEntry, slot_kind: SlotKind, reason: Reason, copy_of: Attempt | None = None
    ) -> None:
        self.phase = phase
        self.slot_kind = slot_kind
        self.reason = reason
        self.copy_of = copy_of

    def begin(self, offer: Offer) -> None:
        """Start it on the node of the offer."""
        offer.start(self.phase, self.slot_kind, self.reason, 1, self.copy_of)


@mypyc_attr(allow_interpreted_subclasses=True)
class Case:
    """One way of filling a slot.

    number: its name in reasons, such as "PI 3" or "P1".  asks: what it asks the line for: how, and
    of which kind; cases that ask for the same at one moment are given the same.
    goes_beyond_line: whether it may use slots beyond the balance line.
    """

    def __init__(
        self, number: str, asks: tuple[str, SlotKind], *, goes_beyond_line: bool = False
    ) -> None:
        self.number = number
        self.asks = asks
        self.goes_beyond_line = goes_beyond_line

    def attach(self, state: ClusterState) -> None:
        """Called once before the first event."""

    def has_slot(self, turn: NodeOffer) -> bool:
        """Whether the node has a slot that it may use, for any pool."""
        raise AssertionError("each case has its own")

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        """Return what it would start, None for nothing. Asked only while it has a slot.

        pool: whose tasks; None for any, in their order.
        """
        raise AssertionError("each case has its own")


class OwnSlot(Case):
    """Cases 1 and 2: a task in a slot of its own kind, within the line."""

    def __init__(self, line: JobOrder, kind: SlotKind, number: str) -> None:
        super().__init__(number, (IN_TURN, kind))
        self._inner = line
        self._kind = kind
        self._reasons: dict[Reason, Reason] = {}
        self._order: Reason | None = None  # of the last start, and the reason made of it
        self._reason: Reason = _NONE

    def has_slot(self, turn: NodeOffer) -> bool:
        return turn.fits_own(self._kind)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        pick = self._inner.pick(turn.node, self._kind, pool)
        if pick is None:
            return None
        if pick.copy_of is not None:
            return CaseStart(pick.phase, self._kind, pick.reason, pick.copy_of)
        if pick.reason is not self._order:  # most are for the same reason: no hash is needed
            self._order = pick.reason
            self._reason = self._reasons.get(pick.reason) or self._worded(pick.reason)
        return CaseStart(pick.phase, self._kind, self._reason)

    def _worded(self, order: Reason) -> Reason:
        """One object for each reason of the line's: a run holds a million of them."""
        numbers = (("case", self.number), ("slot", self._kind.value), ("order", order.text()))
        reason = self._reasons[order] = Reason(ReasonCode.OWN_SLOT, numbers)
        return reason


class LoanNumbers:
    """The numbers behind a loan, which hardly anybody reads: pairs are made only for who does."""

    def __init__(
        self, case: BorrowedSlot, load: float, other_load: float, lent: int, lendable: int
    ) -> None:
        self._case = case
        self._load = load
        self._other_load = other_load
        self._lent = lent
        self._lendable = lendable

    def __iter__(self) -> Iterator[tuple[str, float | str]]:
        case = self._case
        pairs: tuple[tuple[str, float | str], ...] = (
            ("case", case.number),
            ("kind", case.kind.value),
            ("slot", case.slot_kind.value),
            ("load", min(self._load, _LOAD_SHOWN_MAX)),
            ("other_load", min(self._other_load, _LOAD_SHOWN_MAX)),
            ("lent", self._lent),
            ("lendable", self._lendable),
        )
        return iter(pairs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LoanNumbers | tuple):
            return tuple(self) == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class BorrowedSlot(Case):
    """Cases 3 and 4: a task in a slot of the other kind, while that may be lent.

    loans: on which nodes, as the room inside the line knows them; None for all.
    """

    def __init__(
        self, line: JobOrder, kind: SlotKind, number: str, loans: Loanable | None = None
    ) -> None:
        super().__init__(number, (IN_TURN, kind))
        self._inner = line
        self._loans = loans
        self.kind = kind
        self.slot_kind = other(kind)

    def has_slot(self, turn: NodeOffer) -> bool:
        return turn.fits_borrowed(self.kind, self.slot_kind)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        pick = self._pick(turn, pool)
        if pick is None:
            return None
        reason = self._reason(turn) if pick.copy_of is None else pick.reason
        return CaseStart(pick.phase, self.slot_kind, reason, pick.copy_of)

    def _pick(self, turn: NodeOffer, pool: PoolEntry | None) -> Pick | None:
        loans = self._loans
        if loans is None:
            return self._inner.pick(turn.node, self.kind, pool)
        loans.is_asked = True
        pick = self._inner.pick(turn.node, self.kind, pool)
        loans.is_asked = False
        return pick

    def _reason(self, turn: NodeOffer) -> Reason:
        slot_kind = self.slot_kind
        numbers = LoanNumbers(
            self,
            turn.load_of(self.kind),
            turn.load_of(slot_kind),
            turn.loans.lent_in(slot_kind),
            turn.lendable(slot_kind),
        )
        return Reason(_BORROWED, numbers)


class AwayFromData(Case):
    """Case 5: rather than leave a slot idle, a map runs wherever its data lie."""

    def __init__(self, line: JobOrder, number: str, loans: Loanable | None = None) -> None:
        super().__init__(number, (ANYWHERE, _MAP))
        self._inner = line
        self._loans = loans

    def has_slot(self, turn: NodeOffer) -> bool:
        return turn.fits_own(_MAP) or turn.fits_borrowed(_MAP, _REDUCE)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        slot_kind = _MAP if turn.fits_own(_MAP) else _REDUCE
        is_loan = slot_kind is _REDUCE
        pick = pick_within(self._inner, turn, _MAP, pool, self._loans if is_loan else None)
        if pick is None:
            return None
        numbers = (("case", self.number), ("slot", slot_kind.value))
        return CaseStart(pick.phase, slot_kind, Reason(ReasonCode.DATA_IGNORED, numbers))


class PromisedSlot(Case):
    """Before all other cases: what is promised is kept, whatever the loads say about lending."""

    def __init__(self) -> None:
        super().__init__("promise", ("promised", _MAP), goes_beyond_line=True)
        self._state: ClusterState | None = None

    def attach(self, state: ClusterState) -> None:
        """Called once before the first event."""
        self._state = state

    def has_slot(self, turn: NodeOffer) -> bool:
        is_idle = turn.has_idle(_MAP, _MAP) or turn.has_idle(_REDUCE, _REDUCE)
        return is_idle and self._state is not None and bool(self._state.promises)

    def start(self, turn: NodeOffer, pool: PoolEntry | None) -> CaseStart | None:
        assert self._state is not None, "it has a slot only once it is attached"
        for job in owed_jobs(self._state):
            if pool is not None and job.pool is not pool:
                continue
            for phase in job.phases:
                if phase.is_queued and phase.kind is not SlotKind.CONTAINER:
                    own = phase.kind
                    slot_kind = own if turn.has_idle(own, own) else other(own)
                    return CaseStart(phase, slot_kind, _PROMISED)
        return None


def pick_within(
    line: JobOrder,
    turn: NodeOffer,
    kind: SlotKind,
    pool: PoolEntry | None,
    loans: Loanable | None,
    farthest: Locality = Locality.ANY,
) -> Pick | None:
    """The pick of a line for a slot, which is lent if there are loans to ask."""
    if loans is None:
        return line.pick_within(turn.node, kind, farthest, pool)
    loans.is_asked = True
    pick = line.pick_within(turn.node, kind, farthest, pool)
    loans.is_asked = False
    return pick
