"""DynamicMR as one policy: the parts that its settings ask for, put around each other.

A line of turns (fair or fifo, with its waits for data) with copies in it; over it a way of
lending, with prescheduling among its cases; around that the kill rule and the deadlock breaker.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from sluice.policies.composing import slot_lender
from sluice.policies.copies.late import with_copies
from sluice.policies.copies.slow_kill import with_kills
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.job_order import JobOrder
from sluice.policies.orders.fair import Fair, delay_of
from sluice.policies.orders.fifo import Fifo
from sluice.policies.rooms.composed import AnySlots
from sluice.policies.rooms.deadlock import DeadlockBreaker
from sluice.policies.rooms.room import Containers
from sluice.policies.settings import DynamicMRSettings


@mypyc_attr(allow_interpreted_subclasses=True)
class DynamicMR(Decorator):
    """All parts that the settings ask for."""

    name: ClassVar[str] = "dynamicmr"
    Settings: ClassVar[type[Any]] = DynamicMRSettings
    remembers: ClassVar[tuple[str, ...] | None] = ()

    @classmethod
    def build(cls, settings: Any) -> Any:  # noqa: ANN401  # as the base class
        fractions = Fractions(settings.pct_map, settings.pct_reduce)
        is_fifo, by_heartbeat = settings.order == "fifo", settings.heartbeat_s > 0
        order: JobOrder = Fifo(by_heartbeat=by_heartbeat) if is_fifo else Fair(delay_of(settings))
        line = with_copies(order, settings, fractions)
        lender = slot_lender(
            line, settings, by_pool=settings.mode == "pd", prescheduling=settings.prescheduling
        )
        lent = AnySlots(lender, line, Containers())
        return cls(DeadlockBreaker(with_kills(lent, settings), fractions))
