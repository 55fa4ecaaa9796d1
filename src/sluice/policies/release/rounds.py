"""When MROrder holds a round: at fixed instants, at adaptive ones, or at so many waiting jobs.

Each timing answers three questions: whether a round is due, what a round that was held means for
the next one, and when to ask again if nothing else happens. A real clock never shows the exact
instant of a round, so a round is due from its instant on, until it is held. How long the oldest job
has waited shows which round the jobs wait for. Source: ordering spec, section 6.
"""

from __future__ import annotations

import math

_TOLERANCE = 1e-9  # of an interval: an instant that rounding has moved is still the same


class Timing:
    """Calls the rounds of one run. since_s: the instant from which some waiting job has waited.

    from_s: the first round that may still be held; all that it remembers.
    is_bounded: whether a round comes although no further job arrives.
    """

    from_s = 0.0
    is_bounded = False

    def is_due(self, waiting: int, since_s: float, now_s: float, *, is_closed: bool) -> bool:
        """Whether to hold a round now. is_closed: no further job will arrive."""
        raise AssertionError("each timing has its own")

    def held(self, now_s: float, fluid_s: float) -> None:
        """A round was held; what it released keeps the cluster busy for about `fluid_s`."""

    def wake_at_s(self, since_s: float) -> float | None:
        """When the next round is due; None where only arrivals bring one."""
        return None


class FixedTimes(Timing):
    """TP-FTI: at every multiple of the interval."""

    is_bounded = True

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self.from_s = interval_s  # rounds are here and every interval after

    def is_due(self, waiting: int, since_s: float, now_s: float, *, is_closed: bool) -> bool:
        next_s = self._next_s(since_s)
        return waiting > 0 and (next_s <= now_s or _are_one(next_s, now_s))

    def held(self, now_s: float, fluid_s: float) -> None:
        # Held late, it was the last one that has passed; those before it are not made up for.
        passed = math.floor((now_s - self.from_s) / self._interval_s + _TOLERANCE)
        self.from_s = self._round_s(max(0, passed), now_s) + self._interval_s

    def wake_at_s(self, since_s: float) -> float | None:
        return self._next_s(since_s)

    def _next_s(self, at_s: float) -> float:
        """The round at or after an instant; no job waited for those before it."""
        passed = math.ceil((at_s - self.from_s) / self._interval_s - _TOLERANCE)
        return self._round_s(max(0, passed), at_s)

    def _round_s(self, number: int, near_s: float) -> float:
        """The instant of a round; the near one itself, where they differ by rounding alone."""
        round_s = self.from_s + number * self._interval_s
        return near_s if _are_one(round_s, near_s) else round_s


class AdaptiveTimes(FixedTimes):
    """TP-ATI: after a round for as long as its jobs last, but at least the interval."""

    def held(self, now_s: float, fluid_s: float) -> None:
        self.from_s = now_s + max(self._interval_s, fluid_s)


class EnoughJobs(Timing):
    """PNJ: as soon as so many jobs wait; the rest when the last one has arrived."""

    def __init__(self, jobs_min: int) -> None:
        self._jobs_min = jobs_min

    def is_due(self, waiting: int, since_s: float, now_s: float, *, is_closed: bool) -> bool:
        return waiting >= self._jobs_min or (is_closed and waiting > 0)


def _are_one(one_s: float, other_s: float) -> bool:
    """Whether two instants differ by rounding alone."""
    return math.isclose(one_s, other_s, rel_tol=_TOLERANCE)
