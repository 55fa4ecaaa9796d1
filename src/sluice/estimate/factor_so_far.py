"""The factor of a run that goes on, given its tasks so far: how much longer all of them are.

Before it begins, the factor is drawn from the spread of past runs (`length_spread`). Each task that
has ended, and each that has run for some time without an end, is evidence. A job that takes twice
as long as usual shows it after its first tasks; to draw its factor as if nothing were known of it
promises ends to all jobs behind it that cannot be kept. By Bayes' rule, on a grid of factors: the
logarithm of a length counts as normal around that of the factor.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from sluice.estimate.length_spread import LengthSpread

_REACH = 6.0  # of the grid, in scales of the spread
_STEPS = 96
_DONE_MAX = 20.0  # tasks of one run are like each other also by what no past run has shown
_LEAST = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksSoFar:
    """Tasks of one run, each over the mean length that its phase usually has.

    done: how many have ended.  log_sum: of the logarithms of their lengths.  ages: of those that
    run.
    """

    done: int = 0
    log_sum: float = 0.0
    ages: tuple[float, ...] = ()

    def chance_log(self, log_factor: float, sigma: float) -> float:
        """The logarithm of how likely this is with a factor. sigma: of one task's logarithm."""
        middle = log_factor - sigma * sigma / 2  # so that the mean length has the factor
        found = 0.0
        if self.done:
            off = self.log_sum / self.done - middle
            found = -min(float(self.done), _DONE_MAX) * off * off / (2 * sigma * sigma)
        for age in self.ages:
            off = (math.log(age) - middle) / sigma
            found += math.log(max(_LEAST, math.erfc(off / math.sqrt(2)) / 2))
        return found


class FactorSoFar:
    """The spread of the factor of a run that goes on; drawn from as a `LengthSpread`."""

    def __init__(self, before: LengthSpread, tasks: TasksSoFar, task_cv: float) -> None:
        """before: the spread of past runs.  task_cv: how far the tasks of one phase differ."""
        sigma = math.sqrt(math.log1p(task_cv * task_cv))
        reaches = [_REACH * (2 * step / _STEPS - 1) for step in range(_STEPS + 1)]
        self._logs = [before.sigma * reach for reach in reaches]
        chances = [
            before.chance_log(reach) + tasks.chance_log(log, sigma)
            for reach, log in zip(reaches, self._logs, strict=True)
        ]
        most = max(chances)
        self._shares: Sequence[float] = list(accumulate(math.exp(one - most) for one in chances))
        self._step = before.sigma * 2 * _REACH / _STEPS

    def factor(self, draw: random.Random) -> float:
        """The factor by which all tasks of the run are longer, in one future."""
        found = bisect(self._shares, draw.random() * self._shares[-1])
        place = min(found, _STEPS)
        return math.exp(self._logs[place] + self._step * (draw.random() - 0.5))
