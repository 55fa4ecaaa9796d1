"""Free VMs of one pool over time: a step function that reservations lower and give back."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

ROUNDING = 1e-9  # relative; an end that misses an instant by less is on time


def latest_start_s(deadline_at_s: float, length_s: float) -> float:
    """The last start from which `length_s` ends by the deadline, up to rounding."""
    return deadline_at_s - length_s + ROUNDING * max(1.0, abs(deadline_at_s))


class FreeVms:
    """`free[i]` VMs are free from `times[i]` up to, not including, `times[i + 1]` (E20).

    >>> pool = FreeVms(40)
    >>> pool.add(0.0, 250.0, -30)
    >>> pool.earliest(20, 100.0, 0.0, 300.0), pool.earliest(20, 100.0, 0.0, 200.0)
    (250.0, None)
    """

    __slots__ = ("free", "times")

    def __init__(self, vms: int) -> None:
        self.times = [-math.inf]
        self.free = [vms]

    def earliest(self, vms: int, length_s: float, from_s: float, latest_s: float) -> float | None:
        """The first start in [from_s, latest_s] with `vms` free for `length_s`; None if none.

        Only `from_s` and the ends of reservations can be earliest, since VMs get free only there.
        """
        if from_s > latest_s:
            return None
        times, free = self.times, self.free
        count = len(times)
        start = from_s
        here = bisect_right(times, from_s) - 1
        while True:
            while free[here] < vms:
                here += 1
                if here == count:
                    return None
                start = times[here]
                if start > latest_s:
                    return None
            end = start + length_s
            here += 1
            while here < count and times[here] < end and free[here] >= vms:
                here += 1
            if here == count or times[here] >= end:
                return start

    def least(self, start_s: float, end_s: float) -> int:
        """The least free VMs at any instant of [start_s, end_s)."""
        first = bisect_right(self.times, start_s) - 1
        return min(self.free[first : max(first + 1, bisect_left(self.times, end_s))])

    def add(self, start_s: float, end_s: float, vms: int) -> None:
        """Change the free VMs in [start_s, end_s) by `vms`; end_s may be infinite."""
        if not end_s > start_s:
            return
        first, last = self._cut(start_s), self._cut(end_s)
        free = self.free
        for place in range(first, last):
            free[place] += vms
        for place in (last, first):
            if 0 < place < len(free) and free[place] == free[place - 1]:
                del free[place], self.times[place]

    def forget_before(self, at_s: float) -> None:
        """Drop the steps before an instant."""
        old = bisect_right(self.times, at_s) - 1
        if old > 0:
            del self.times[:old], self.free[:old]

    def _cut(self, at_s: float) -> int:
        """The place of a step that begins at the instant, made if there is none."""
        place = bisect_left(self.times, at_s)
        if at_s == math.inf:
            return place
        if place == len(self.times) or self.times[place] != at_s:
            self.times.insert(place, at_s)
            self.free.insert(place, self.free[place - 1])
        return place
