"""What a search may spend, in seconds or in evaluations, and what it has spent.

The clock is handed in: planning reads none of its own. A search that counts evaluations alone goes
the same way each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], float]


class SearchBudget:
    """Counts from when it is made. seconds, evaluations: limits, None for none."""

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
        """Seconds since it was made, without those outside."""
        return self._clock() - self._began_s

    @property
    def share(self) -> float:
        """The spent part of what may be spent; above 1 where more was spent."""
        shares = [0.0]
        if self.evaluations_max is not None:
            shares.append(self.evaluations / max(1, self.evaluations_max))
        if self.seconds is not None:
            shares.append(self.elapsed_s / self.seconds if self.seconds > 0 else 1.0)
        return max(shares)

    def left_s(self, until: float) -> float | None:
        """Seconds up to a share of the limit; None without one."""
        return None if self.seconds is None else self.seconds * until - self.elapsed_s

    def left_evaluations(self, until: float) -> int | None:
        """Evaluations up to a share of the limit, at least 1; None without one."""
        if self.evaluations_max is None:
            return None
        return max(1, int(self.evaluations_max * until) - self.evaluations)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """What happens inside of this takes no time: making ready is no search."""
        before_s = self._clock()
        yield
        self._began_s += self._clock() - before_s
