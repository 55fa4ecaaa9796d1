"""DynamicMR as one policy: the parts that its settings ask for, put around each other.

A line of turns (fair or fifo, with its waits for data) with copies in it; over it a way of
lending, with prescheduling among its cases; around that the kill rule and the deadlock breaker.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.settings import flag, number, share, whole, word
from sluice.policies.deadlock import DeadlockBreaker
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.cases import AwayFromData, Case
from sluice.policies.dynamicmr.lender import SlotLender, own_and_borrowed
from sluice.policies.dynamicmr.pool_dependent import PoolDependent
from sluice.policies.dynamicmr.pool_independent import PoolIndependent
from sluice.policies.dynamicmr.pools import AllAsOne, JointOrder, PoolsInTurn
from sluice.policies.dynamicmr.prescheduling import with_prescheduling
from sluice.policies.dynamicmr.targets import Fractions, slot_units
from sluice.policies.fair import Fair, delay_of
from sluice.policies.fifo import Fifo
from sluice.policies.job_order import JobOrder
from sluice.policies.settings import FairSettings, FifoSettings
from sluice.policies.speculation import with_copies, with_kills


class DynamicMR(Decorator):
    """All parts that the settings ask for."""

    name = "dynamicmr"

    @dataclass(frozen=True, kw_only=True)
    class Settings(FairSettings, FifoSettings):
        """What is lent, to whom, and in which order. Source: dynamicmr spec, section 3."""

        mode: str = word(
            "pi", "what lends slots: each kind as a whole, or the pools (dynamicmr)", "pi", "pd"
        )
        order: str = word("fair", "order of the jobs (dynamicmr)", "fair", "fifo")
        pct_map: float = share(
            1.0, "share of the unused map slots that reduces may use (dynamicmr)"
        )
        pct_reduce: float = share(
            1.0, "share of the unused reduce slots that maps may use (dynamicmr)"
        )
        w_map: float = number(1.0, "weight of a map, against a reduce (dynamicmr)", above=0.0)
        w_reduce: float = number(1.0, "weight of a reduce, against a map (dynamicmr)", above=0.0)
        case5: str = word(
            "at_once",
            "when a map runs away from its data rather than leave a slot idle (dynamicmr, mode pd)",
            "at_once",
            "after_wait",
            needs="mode=pd",
        )
        prescheduling: bool = flag(
            "start maps near their data in slots beyond the balance line (dynamicmr)"
        )
        reduce_slots_lent_max: int = whole(
            100_000, "reduce slots lent by prescheduling at most", needs="prescheduling"
        )

    @classmethod
    def build(cls, settings: Settings) -> DynamicMR:
        fractions = Fractions(settings.pct_map, settings.pct_reduce)
        lender = _lender(settings, fractions)
        return cls(DeadlockBreaker(with_kills(lender, settings), fractions))


def _lender(settings: DynamicMR.Settings, fractions: Fractions) -> SlotLender:
    is_fifo = settings.order == "fifo"
    by_heartbeat = settings.heartbeat_s > 0
    order: JobOrder = Fifo(by_heartbeat=by_heartbeat) if is_fifo else Fair(delay_of(settings))
    line = with_copies(order, settings, fractions)
    units = slot_units(settings.w_map, settings.w_reduce)
    cases: list[Case] = own_and_borrowed(line, settings.mode.upper())
    if settings.prescheduling:
        cases = with_prescheduling(cases, line, fractions, settings.reduce_slots_lent_max)
    if settings.mode == "pi":
        return PoolIndependent(line, cases, fractions, units)
    pools: PoolsInTurn = AllAsOne() if is_fifo else JointOrder(units)
    away = AwayFromData(line, "PD 5") if settings.case5 == "at_once" else None
    return PoolDependent(line, cases, fractions, units, pools, away)
