"""Choices side by side in arrays, of which only those are kept that no other beats.

A job whose tasks are tuned has millions of choices: too many to make an object of each. Here they
are times, costs and two numbers that say which choice it is.
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
    """Choices: seconds, dollars, slots and tasks of the maps, and slots for the reduces."""

    seconds: Numbers
    usd: Numbers
    map_slots: Counts
    map_tasks: Counts
    reduce_slots: Counts

    def where(self, chosen: NDArray[bool_] | Counts) -> ChoiceArrays:
        """Some of them, by position."""
        return ChoiceArrays(
            self.seconds[chosen],
            self.usd[chosen],
            self.map_slots[chosen],
            self.map_tasks[chosen],
            self.reduce_slots[chosen],
        )


def joined(parts: Sequence[ChoiceArrays]) -> ChoiceArrays:
    """One after the other; at least one."""
    return ChoiceArrays(*map(np.concatenate, zip(*parts, strict=True)))


def no_choices() -> ChoiceArrays:
    """None at all."""
    none = np.zeros(0, np.int64)
    return ChoiceArrays(np.zeros(0), np.zeros(0), none, none, none)


def undominated_choices(rows: ChoiceArrays) -> ChoiceArrays:
    """Those that no other beats in time and cost by more than rounding, the fastest first."""
    rows = rows.where(np.lexsort((rows.usd, rows.seconds)))
    return rows.where(rows.usd < _cheapest_before(rows.usd) * (1 - ROUNDING))


def not_dominated_by(rows: ChoiceArrays, by: ChoiceArrays) -> ChoiceArrays:
    """Those rows that none of the others, undominated and the fastest first, is as good as."""
    cheapest = np.append(np.inf, by.usd)
    places = np.searchsorted(by.seconds, rows.seconds * (1 + ROUNDING), side="right")
    return rows.where(rows.usd < cheapest[places] * (1 - ROUNDING))


def _cheapest_before(usd: Numbers) -> Numbers:
    before: Numbers = np.append(np.inf, np.minimum.accumulate(usd))[:-1]
    return before
