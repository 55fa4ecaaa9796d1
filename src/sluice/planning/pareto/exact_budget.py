"""An exact running sum of money, for additions and subtractions.

Every float is an integer over a power of two, so a sum of floats is a sum of integers. Only the
total is rounded, once. So the total always equals `math.fsum` over the current entries, whatever
was added and removed before; `fsum` itself cannot remove a term without summing all terms again.
"""

from __future__ import annotations

from collections.abc import Iterable

from sluice.planning.pareto.pricing import PlanEntry


class ExactBudget:
    """Budget of a set of entries, updated one entry at a time."""

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
        """Add rent and I/O of an entry."""
        self._count(entry.vm_usd, 1)
        self._count(entry.io_usd, 1)

    def replace(self, old: PlanEntry, new: PlanEntry) -> None:
        """Replace an entry with another."""
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
