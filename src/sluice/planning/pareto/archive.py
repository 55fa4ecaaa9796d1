"""Archive of undominated plans, which are offered one by one in any order.

Dominance is checked both ways: a new plan replaces the old ones it dominates, and is rejected if an
old plan dominates or equals it. The paper's comparison does neither completely (E7). The plans are
sorted, so an offer costs a binary search plus the removed plans. Source: pareto, section 3.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

from sluice.planning.pareto.rounding import is_below

Payload = TypeVar("Payload")


class Archive(Generic[Payload]):
    """Undominated (makespan, budget) pairs by rising makespan, each with a payload.

    >>> archive = Archive()
    >>> archive.offer(100.0, 10.0, "old"), archive.offer(100.0, 8.0, "new"), archive.held
    (True, True, ('new',))
    """

    def __init__(self) -> None:
        self._makespans_s: list[float] = []
        self._budgets_usd: list[float] = []
        self._held: list[Payload] = []

    @property
    def makespans_s(self) -> tuple[float, ...]:
        return tuple(self._makespans_s)

    @property
    def budgets_usd(self) -> tuple[float, ...]:
        return tuple(self._budgets_usd)

    @property
    def held(self) -> tuple[Payload, ...]:
        return tuple(self._held)

    def takes(self, makespan_s: float, budget_usd: float) -> bool:
        """Whether such a plan would be accepted: no archived plan is as good."""
        place = bisect_right(self._makespans_s, makespan_s)
        return not place or is_below(budget_usd, self._budgets_usd[place - 1])

    def offer(self, makespan_s: float, budget_usd: float, token: Payload) -> bool:
        """Add the plan unless an archived one is as good. Returns whether it was added."""
        if not self.takes(makespan_s, budget_usd):
            return False
        end = place = bisect_left(self._makespans_s, makespan_s)
        while end < len(self._held) and not is_below(self._budgets_usd[end], budget_usd):
            end += 1
        self._makespans_s[place:end] = [makespan_s]
        self._budgets_usd[place:end] = [budget_usd]
        self._held[place:end] = [token]
        return True
