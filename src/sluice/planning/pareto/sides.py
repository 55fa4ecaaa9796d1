"""The two sides of a job whose tasks are tuned: maps and reduces, each in slots of its own kind.

A side knows the fastest way to use so many slots. The maps also cost I/O by their number, so that a
slower cut of them may be the cheaper one; where that is so, all cuts are handed out.
Source: pareto, sections 4.1, 4.3.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sluice.model.errors import InvalidInput
from sluice.planning.pareto.pricing import JobPricing, PhaseTimes
from sluice.planning.pareto.problem import BufferTuning, TaskTuning
from sluice.planning.pareto.rounding import is_below
from sluice.planning.pareto.task_counts import (
    PhaseChoices,
    PhaseCounts,
    best_with_at_most,
    tuned_choices,
)

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_DRAWN_COUNTS_MAX = 1000  # each takes thousands of draws


class TunedPhase:
    """A phase with the task counts that a tuning finds. best: for 1 slot, 2 slots and so on."""

    def __init__(self, times: PhaseTimes, tuning: TaskTuning) -> None:
        self.phase = PhaseCounts(times)
        self._is_scanned = tuning is TaskTuning.SCAN
        self._cuts = tuned_choices(self.phase, tuning)
        self.best = best_with_at_most(self._cuts)

    @property
    def limit(self) -> int:
        """The most tasks, and so the most slots that are of use."""
        return self.phase.limit

    def cuts(self, slots: int) -> PhaseChoices:
        """Every way to use at most so many slots that may be the cheapest for its time."""
        import numpy as np

        if not self._is_scanned:
            return self._cuts.where(np.arange(slots))
        counts = self.phase.counts
        useful = np.where(counts <= slots, self._useful_slots, slots)
        return PhaseChoices(self.phase.times_s(counts, useful), useful, counts)

    @cached_property
    def _useful_slots(self) -> NDArray[int64]:
        """As `PhaseTimes.useful_slots`, for each count on as many slots."""
        import numpy as np

        counts, phase = self.phase.counts, self.phase
        is_wide = phase.times_s(counts, np.maximum(1, counts - 1)) < phase.times_s(counts, counts)
        fewer: NDArray[int64] = counts - is_wide
        return fewer


def io_prices_usd(maps: TunedPhase, pricing: JobPricing) -> NDArray[float64] | None:
    """What the I/O costs by the number of maps, from 1 on; None where that makes no difference.

    Raises InvalidInput where a setting would have to be drawn for too many counts.
    """
    import numpy as np

    if pricing.has_flat_io:
        return None
    if pricing.buffer_tuning in _DRAWN and maps.limit > _DRAWN_COUNTS_MAX:
        raise InvalidInput(
            f"maps.tasks_max is {maps.limit}: too many counts to draw a buffer for each",
            where=f"job {pricing.job.job_id!r}",
            hint=f"give at most {_DRAWN_COUNTS_MAX}, or --tune buffers",
        )
    counted = map(pricing.io_usd, range(1, maps.limit + 1))
    prices_usd = np.fromiter(counted, np.float64, maps.limit)
    return prices_usd if is_below(float(prices_usd.min()), float(prices_usd.max())) else None


_DRAWN = (BufferTuning.RANDOM, BufferTuning.RECURSIVE_RANDOM)
