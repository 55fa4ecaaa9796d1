"""A job on VMs that their provider takes back now and then (spot instances).

Each VM is taken back after an exponential time, and another one takes its place after `boot_s`. The
tasks on it start again elsewhere. A task of length l then holds its slot on average for

    (1 / lambda + boot_s) * (exp(lambda * l) - 1)                                    (restart law)

Source: Barlow and Proschan, "Mathematical Theory of Reliability", 1965; the same law gives the
checkpoint intervals of Young and Daly. While there is other work, what an interruption costs is
spread over all VMs. At the end of a job no other work is left, so that its last tasks delay it by
all that they repeat. Against drawn runs (`tests/estimate/test_interruptions.py`) the mean is right
within 10 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

_MANY: Final = 500.0  # from here on the normal distribution is near enough
_EXPONENT_MAX: Final = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """How often VMs are taken back, and what is lost by it.

    per_hour: interruptions of one VM in an hour, 0 or more.  task_s: the length of a task, as a
    moment of slot time sees it.  boot_s: until another VM takes over.  vms: that run at once.
    """

    per_hour: float
    task_s: float
    boot_s: float
    vms: int

    @property
    def _rate(self) -> float:
        return self.per_hour / 3600

    @property
    def _lost_s(self) -> float:
        """Seconds of a VM that an interruption costs on average: half a task, and the wait."""
        return self.task_s / 2 + self.boot_s

    def expected_s(self, alone_s: float) -> float:
        """The mean time of a job that takes `alone_s` without interruptions.

        Infinite where a task is so much longer than the time between interruptions that it does not
        end.
        """
        exponent = self._rate * self.task_s
        if exponent > _EXPONENT_MAX:
            return math.inf
        if not exponent:
            return alone_s
        stretch = (1 + self._rate * self.boot_s) * math.expm1(exponent) / exponent
        last_s = min(self.task_s, alone_s)
        is_hit = -math.expm1(-self._rate * self.vms * last_s)  # during the last task of any VM
        return alone_s * stretch + is_hit * last_s / 2 * (1 - 1 / self.vms)

    def low_s(self, alone_s: float, share: float) -> float:
        """The time below which such a job ends with a probability of at most `share`.

        With luck, what is hit at the end are tasks that do not decide.
        """
        times = self._times(max(0.0, alone_s - self.task_s), share)
        return alone_s + times * self._lost_s / self.vms

    def high_s(self, alone_s: float, share: float) -> float:
        """The time that such a job does not exceed with a probability of about `share`.

        The last task of each VM may start again more than once; the worst of them counts.
        """
        spread_s = self._times(alone_s, share) * self._lost_s / self.vms
        if self.vms == 1:
            return alone_s + spread_s
        again = poisson_quantile(self._rate * self.task_s, share ** (1 / self.vms))
        return alone_s + spread_s + again * self.task_s

    def _times(self, alone_s: float, share: float) -> int:
        return poisson_quantile(self._rate * self.vms * alone_s, share)


def poisson_quantile(mean: float, share: float) -> int:
    """The least number that a Poisson variable does not exceed with a probability of `share`.

    >>> poisson_quantile(0.1, 0.5), poisson_quantile(2.0, 0.95), poisson_quantile(10_000.0, 0.5)
    (0, 5, 10000)
    """
    if mean > _MANY:
        return max(0, round(NormalDist(mean, math.sqrt(mean)).inv_cdf(share)))
    number, probability = 0, math.exp(-mean)
    together = probability
    while together < share and number < 10 * _MANY:
        number += 1
        probability *= mean / number
        together += probability
    return number
