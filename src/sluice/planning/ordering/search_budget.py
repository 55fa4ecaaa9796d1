"""Budget of a search in seconds or evaluations, and the spent part of it.

The caller passes the clock, because planning must not read one. A search that is limited only by
evaluations gives the same result each time.
"""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]


class SearchBudget:
    """Counts from its creation. seconds, evaluations: limits, None for no limit."""

    def __init__(
        self, clock: Clock, *, seconds: float | None = None, evaluations: int | None = None
    ) -> None:
        self._clock = clock
        self._began_s = clock()
        self.seconds = seconds
        self.evaluations_max = evaluations
        self.evaluations = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since creation."""
        return self._clock() - self._began_s

    @property
    def share(self) -> float:
        """Spent share of the budget; above 1 if it is exceeded."""
        shares = [0.0]
        if self.evaluations_max is not None:
            shares.append(self.evaluations / max(1, self.evaluations_max))
        if self.seconds is not None:
            shares.append(self.elapsed_s / self.seconds if self.seconds > 0 else 1.0)
        return max(shares)

    def left_s(self, until: float) -> float | None:
        """Seconds left up to a share of the limit; None without a limit."""
        return None if self.seconds is None else self.seconds * until - self.elapsed_s

    def left_evaluations(self, until: float) -> int | None:
        """Evaluations left up to a share of the limit, at least 1; None without a limit."""
        if self.evaluations_max is None:
            return None
        return max(1, int(self.evaluations_max * until) - self.evaluations)

    def restart(self) -> None:
        """Count the time from now on; for measurements that leave preparation out."""
        self._began_s = self._clock()


class ShareSpent:
    """Whether a share of the budget is spent; counts each question as an evaluation."""

    def __init__(self, budget: SearchBudget, share: float) -> None:
        self._budget = budget
        self._share = share

    def __call__(self) -> bool:
        if self._budget.share >= self._share:
            return True
        self._budget.evaluations += 1
        return False
