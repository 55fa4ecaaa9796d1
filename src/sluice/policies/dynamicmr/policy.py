"""DynamicMR as one policy: the parts that its settings ask for, put around each other.

A line of turns (fair or fifo, with its waits for data) with copies in it; over it a way of
lending, with prescheduling among its cases; around that the kill rule and the deadlock breaker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluice.policies.deadlock import DeadlockBreaker
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.cases import AwayFromData, Case
from sluice.policies.dynamicmr.lender import SlotLender, own_and_borrowed
from sluice.policies.dynamicmr.pool_dependent import PoolDependent
from sluice.policies.dynamicmr.pool_independent import PoolIndependent
from sluice.policies.dynamicmr.pools import AllAsOne, JointOrder, PoolsInTurn
from sluice.policies.dynamicmr.prescheduling import LENT_MAX, with_prescheduling
from sluice.policies.dynamicmr.targets import Fractions, slot_units
from sluice.policies.fair import Fair
from sluice.policies.fifo import Fifo
from sluice.policies.job_order import JobOrder
from sluice.policies.speculation import with_copies, with_kills


class DynamicMR(Decorator):
    """Everything that the settings ask for, by its name in workload files."""

    name = "dynamicmr"

    @classmethod
    def build(cls, settings: Mapping[str, Any]) -> DynamicMR:
        """From the settings of a workload file."""
        fractions = Fractions(settings.get("pct_map", 1.0), settings.get("pct_reduce", 1.0))
        lender = _lender(settings, fractions)
        return cls(DeadlockBreaker(with_kills(lender, settings), fractions))


def _lender(settings: Mapping[str, Any], fractions: Fractions) -> SlotLender:
    is_fifo = settings.get("order", "fair") == "fifo"
    turns: JobOrder = Fifo.build(settings) if is_fifo else Fair.build(settings)
    line = with_copies(turns, settings, fractions)
    units = slot_units(settings.get("w_map", 1.0), settings.get("w_reduce", 1.0))
    mode = settings.get("mode", "pi")
    cases: list[Case] = own_and_borrowed(line, mode.upper())
    if settings.get("prescheduling", False):
        lent_max = settings.get("reduce_slots_lent_max", LENT_MAX)
        cases = with_prescheduling(cases, line, fractions, lent_max)
    if mode == "pi":
        return PoolIndependent(line, cases, fractions, units)
    pools: PoolsInTurn = AllAsOne() if is_fifo else JointOrder(units)
    is_at_once = settings.get("case5", "at_once") == "at_once"
    away = AwayFromData(line, "PD 5") if is_at_once else None
    return PoolDependent(line, cases, fractions, units, pools, away)
