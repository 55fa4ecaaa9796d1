"""Choices of a job as NumPy arrays, and the filters for undominated choices.

A job with tuned tasks has millions of choices, too many for one object each. Here a choice is a
time, a cost, and the slots and tasks that identify it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sluice.planning.pareto.rounding import ROUNDING

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

    Numbers = NDArray[float64]
    Counts = NDArray[int64]


class ChoiceArrays(NamedTuple):
    """Columns of choices: seconds, dollars, slots and tasks of the maps, slots of the reduces."""

    seconds: Numbers
    usd: Numbers
    map_slots: Counts
    map_tasks: Counts
    reduce_slots: Counts

    def where(self, chosen: NDArray[bool_] | Counts) -> ChoiceArrays:
        """Select choices by mask or position."""
        return ChoiceArrays(
            self.seconds[chosen],
            self.usd[chosen],
            self.map_slots[chosen],
            self.map_tasks[chosen],
            self.reduce_slots[chosen],
        )


def joined(parts: Sequence[ChoiceArrays]) -> ChoiceArrays:
    """Concatenate; needs at least one part."""
    return ChoiceArrays(*map(np.concatenate, zip(*parts, strict=True)))


def no_choices() -> ChoiceArrays:
    """Return arrays of length 0."""
    none = np.zeros(0, np.int64)
    return ChoiceArrays(np.zeros(0), np.zeros(0), none, none, none)


def undominated_choices(rows: ChoiceArrays) -> ChoiceArrays:
    """Choices that no other dominates by more than rounding, the fastest first.

    After sorting by time, a choice is undominated if it is cheaper than all before it. O(n log n).
    """
    rows = rows.where(np.lexsort((rows.usd, rows.seconds)))
    return rows.where(rows.usd < _cheapest_before(rows.usd) * (1 - ROUNDING))


def not_dominated_by(rows: ChoiceArrays, by: ChoiceArrays) -> ChoiceArrays:
    """Rows that no choice in `by` equals or dominates. `by` is undominated, the fastest first."""
    cheapest = np.append(np.inf, by.usd)
    places = np.searchsorted(by.seconds, rows.seconds * (1 + ROUNDING), side="right")
    return rows.where(rows.usd < cheapest[places] * (1 - ROUNDING))


def _cheapest_before(usd: Numbers) -> Numbers:
    before: Numbers = np.append(np.inf, np.minimum.accumulate(usd))[:-1]
    return before
