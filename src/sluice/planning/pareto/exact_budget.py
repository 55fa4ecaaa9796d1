"""A sum of money to which and from which is added, exact all the way.

Every float is a whole number over a power of two, so sums of floats are sums of whole numbers; only
the total is rounded, once. A sum kept so equals `math.fsum` over what it stands for, whatever its
history was.
"""

from __future__ import annotations

from collections.abc import Iterable

from sluice.planning.pareto.pricing import PlanEntry


class ExactBudget:
    """The budget of some entries, one replaced by another at a time."""

    def __init__(self, entries: Iterable[PlanEntry] = ()) -> None:
        self._total = 0
        self._bits = 0  # the total counts units of 1 / 2**bits dollars
        for entry in entries:
            self.add(entry)

    @property
    def total_usd(self) -> float:
        """The nearest float to the exact sum."""
        return self._total / (1 << self._bits)

    def add(self, entry: PlanEntry) -> None:
        """Rent and I/O of one more entry."""
        self._count(entry.vm_usd, 1)
        self._count(entry.io_usd, 1)

    def replace(self, old: PlanEntry, new: PlanEntry) -> None:
        """One entry for another."""
        self._count(old.vm_usd, -1)
        self._count(old.io_usd, -1)
        self.add(new)

    def _count(self, usd: float, sign: int) -> None:
        if not usd:
            return
        number, denominator = usd.as_integer_ratio()
        bits = denominator.bit_length() - 1
        if bits > self._bits:
            self._total <<= bits - self._bits
            self._bits = bits
        self._total += sign * number << (self._bits - bits)
