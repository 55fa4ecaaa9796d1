"""Karma's credits in continuous time, among the children of one queue.

In each second a child receives alpha * share credits, pays 1 for each unit that it runs above its
guaranteed part (1 - alpha) * share, and earns 1 for each unit of that part that others use. Units
of donors are used before shared ones, from the poorest donor first. Rates are constant between two
changes; a donor that gets richer than another in between is noticed at the next change or tick.
Source: ltyarn spec, section 8.4.
"""

from __future__ import annotations

from typing import Protocol

from sluice.policies.ltyarn.usage import Usage


class CreditHolder(Protocol):
    """What a book needs to know of a child."""

    weight: float
    index: int
    registered_at_s: float
    usage: Usage


class CreditBook:
    """Credits by child, in unit-seconds.

    initial: for each unit of weight; None if credits never run out.
    """

    def __init__(self, alpha: float, initial: float | None) -> None:
        self._alpha = alpha
        self._initial = initial
        self._at_s = 0.0
        self._supply = 0.0  # units that the queue divides
        self.credits: dict[CreditHolder, float] = {}
        self._weights: float | None = None  # of all children; None after a change

    def join(self, child: CreditHolder, now_s: float) -> None:
        """A newcomer starts with the average credit, for its weight; the first with `initial`."""
        self.settle(now_s, self._supply)
        weights = self.weights
        mean = sum(self.credits.values()) / weights if weights else self._initial or 0.0
        is_first = not any(other.registered_at_s < child.registered_at_s for other in self.credits)
        self.credits[child] = child.weight * ((self._initial or 0.0) if is_first else mean)
        # What earlier runs have counted was paid then.
        self.credits[child] -= child.usage.total
        self._weights = None

    def leave(self, child: CreditHolder) -> None:
        """The child is gone, with its credit."""
        self.credits.pop(child, None)
        self._weights = None

    @property
    def weights(self) -> float:
        """The sum of the children's weights."""
        if self._weights is None:
            self._weights = sum(child.weight for child in self.credits)
        return self._weights

    def share(self, child: CreditHolder) -> float:
        """Units that the child paid for."""
        return self._supply * child.weight / self.weights

    def guaranteed(self, child: CreditHolder) -> float:
        """Units that the child receives before others may borrow."""
        return (1.0 - self._alpha) * self.share(child)

    def may_borrow(self, child: CreditHolder) -> bool:
        """Whether the child has credits to pay with."""
        return self._initial is None or self.credits[child] > 0

    def settle(self, now_s: float, supply: float) -> None:
        """Book the time until now. supply: units from now on."""
        length_s = now_s - self._at_s
        if length_s > 0 and self.credits:
            earned = self._earning()
            weights = self.weights
            for child in self.credits:
                share = self._supply * child.weight / weights
                paid = max(0.0, child.usage.amount - (1.0 - self._alpha) * share)
                rate = self._alpha * share - paid + earned.get(child, 0.0)
                self.credits[child] += rate * length_s
        self._at_s = max(self._at_s, now_s)
        self._supply = supply

    def _earning(self) -> dict[CreditHolder, float]:
        """Donated units that are used, by donor: those of the poorest first."""
        if self._alpha >= 1.0:
            return {}
        guaranteed = {child: self.guaranteed(child) for child in self.credits}
        used = sum(max(0.0, child.usage.amount - own) for child, own in guaranteed.items())
        donors = sorted(self.credits, key=lambda child: (self._wealth(child), child.index))
        earned: dict[CreditHolder, float] = {}
        for child in donors:
            donated = max(0.0, guaranteed[child] - child.usage.amount)
            earned[child] = min(used, donated)
            used -= earned[child]
        return earned

    def _wealth(self, child: CreditHolder) -> float:
        return self.credits[child] / child.weight
