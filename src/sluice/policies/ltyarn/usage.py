"""The counted use of a queue or an application, at any instant, in constant time.

Equation (15) charges a finished task its length, and a running one at least the quantum Q of its
application. For the tasks of one member these terms sum up to

    f(t) = integral of the rate  +  price * sum over young tasks of amount * (s + Q - t)  +  phi

where a running task is *young* while it runs less than Q: its assumed rest is counted in advance.
The rate is the amount that runs (equation 6), less with a discount (7), or the dominant share where
there are several resources (8.5). Between two changes the rate is constant and the sum over young
tasks is K - Y * t with two counters, so that f is linear in t. Its slope, the rate of tasks that
are not young, is never negative: f only grows until something changes.
"""

from __future__ import annotations

import math
from typing import Final

_LN2: Final = math.log(2.0)
# All that a counter remembers.
COUNTERS: Final = ("amount", "at_s", "phi", "rate", "total", "young_amount", "young_ends")


class Usage:
    """The use of one member so far. Amounts are resource units times their weight.

    amount: of its running tasks.  rate: what is counted in a second.
    young_amount (Y), young_ends (K): of its young tasks: sum of amounts, sum of amount * (s + Q).
    """

    __slots__ = ("amount", "at_s", "phi", "rate", "total", "young_amount", "young_ends")

    def __init__(self, at_s: float, before: float = 0.0) -> None:
        self.total = before
        self.at_s = at_s
        self.amount = 0.0
        self.rate = 0.0
        self.young_amount = 0.0
        self.young_ends = 0.0
        self.phi = 0.0

    def fresh(self) -> Usage:
        """An empty counter of the same kind."""
        return Usage(self.at_s)

    def settle(self, now_s: float) -> None:
        """Count up to now, before the rate changes."""
        if now_s > self.at_s:
            self.total = self.counted(now_s)
            self.at_s = now_s

    def counted(self, now_s: float) -> float:
        """Return what was used until now, without assumed rests and without phi."""
        return self.total + self.rate * (now_s - self.at_s)

    def rest(self, now_s: float) -> float:
        """Return what running tasks are assumed to use yet."""
        if not self.young_amount:
            return 0.0
        price = self.rate / self.amount if self.amount else 1.0
        return price * max(0.0, self.young_ends - self.young_amount * now_s)

    def used(self, now_s: float) -> float:
        """f, equation (13)."""
        return self.counted(now_s) + self.rest(now_s) + self.phi

    def level(self, now_s: float) -> float:
        """A number that orders members as f does, and does not fall while nothing changes."""
        return self.used(now_s)

    def forget(self, at_s: float) -> None:
        """A new round has begun."""
        self.total, self.at_s, self.phi = 0.0, at_s, 0.0
        self.young_amount = self.young_ends = 0.0


class DecayedUsage(Usage):
    """Use that counts half after each half-life, as in the fair-share of Slurm.

    All members decay alike, so that use times 2 ** (t / half-life) orders them in the same way and
    never falls. The exponent counts from an epoch that the owner moves before it overflows.
    """

    __slots__ = ("epoch_s", "half_life_s")

    def __init__(self, at_s: float, before: float, half_life_s: float) -> None:
        super().__init__(at_s, before)
        self.half_life_s = half_life_s
        self.epoch_s = 0.0

    def fresh(self) -> DecayedUsage:
        return DecayedUsage(self.at_s, 0.0, self.half_life_s)

    def counted(self, now_s: float) -> float:
        halves = (now_s - self.at_s) / self.half_life_s
        kept = math.pow(0.5, halves)
        return self.total * kept + self.rate * self.half_life_s / _LN2 * (1.0 - kept)

    def level(self, now_s: float) -> float:
        return self.used(now_s) * math.pow(2.0, (now_s - self.epoch_s) / self.half_life_s)
