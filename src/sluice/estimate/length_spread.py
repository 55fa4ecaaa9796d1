"""How far the lengths of a job's tasks differ from run to run, as what a future run is drawn from.

What makes one run longer than another mostly does so for all of its tasks, so that it is one factor
of a run. Its logarithm counts as normal, with a variance that the past runs show. Few runs show it
badly, and an assumed variance counts as much as one run more does. A future run is drawn from
Student's t, which covers what the runs leave open of the variance and of the mean (Gelman et al.,
"Bayesian Data Analysis", 2013, section 3.3).

The elapsed times of past runs would show too much: they differ also because their tasks waited for
slots, and as a few tasks are longer by chance. A simulated future has both already: how much the
tasks of one phase differ is a second number, from the single tasks of past runs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from sluice.estimate.run_setting import MeasuredRun

SIGMA_ASSUMED = 0.25  # as of a job whose lengths are those of its file
_ASSUMED_RUNS = 1  # by how many runs more it counts
TASK_SIGMA_ASSUMED = math.sqrt(math.log1p(0.3**2))  # tasks whose lengths differ by 30 %
_ASSUMED_TASKS = 8  # as how many tasks of past runs it counts
_FREEDOM_MIN = 2  # with less Student's t has no mean
_REACH = 6.0  # no future is drawn from further out: with few runs it would take years


@dataclass(frozen=True, slots=True)
class LengthSpread:
    """The spread of the logarithm of a run's factor.

    sigma: its scale.  freedom: degrees of freedom of Student's t; infinity for the normal.
    task_sigma: of the logarithm of the length of a task, within one phase of one run.
    phase_factors: by how much the usual run is longer than the lengths of a job's phases; none for
    a job whose lengths are those of the usual run.
    """

    sigma: float
    freedom: float = math.inf
    task_sigma: float = TASK_SIGMA_ASSUMED
    phase_factors: tuple[float, ...] = ()

    def factor(self, draw: random.Random) -> float:
        """The factor by which all tasks of one future run are longer."""
        if not self.sigma:
            return 1.0
        reach = draw.gauss(0.0, 1.0)
        if self.freedom < math.inf:
            reach /= math.sqrt(draw.gammavariate(self.freedom / 2, 2.0) / self.freedom)
        return math.exp(self.sigma * min(_REACH, max(-_REACH, reach)))


def length_spread(runs: Sequence[MeasuredRun]) -> LengthSpread:
    """The spread that comparable runs show; one run alone shows none, and is off itself.

    >>> length_spread([]).sigma, length_spread([]).freedom
    (0.25, inf)
    """
    if not runs:
        return LengthSpread(SIGMA_ASSUMED)
    factors, counted = _log_factors(runs), len(runs) - 1 + _ASSUMED_RUNS
    shown = (len(runs) - 1) * variance(factors) if len(runs) > 1 else 0.0
    pooled = (shown + _ASSUMED_RUNS * SIGMA_ASSUMED**2) / counted
    sigma = math.sqrt(pooled * (1 + 1 / len(runs)))
    return LengthSpread(sigma, max(_FREEDOM_MIN, counted), _task_sigma(runs))


def _task_sigma(runs: Sequence[MeasuredRun]) -> float:
    """How much the tasks of one phase differ, pooled over the phases that list them."""
    squares, counted = _ASSUMED_TASKS * TASK_SIGMA_ASSUMED**2, _ASSUMED_TASKS
    for phase in (phase for run in runs for phase in run.phases):
        lengths_s = [task.finished_at_s - task.started_at_s for task in phase.timeline]
        logs = [math.log(length_s) for length_s in lengths_s if length_s > 0]
        if len(logs) > 1:
            squares += (len(logs) - 1) * variance(logs)
            counted += len(logs) - 1
    return math.sqrt(squares / counted)


def _log_factors(runs: Sequence[MeasuredRun]) -> list[float]:
    """How much longer than usual the tasks of each run are; its phases count by their work."""
    phases = list(zip(*(one.phases for one in runs), strict=True))
    usual_s = [fmean(one.avg_s for one in phase) for phase in phases]
    work_s = [fmean(one.tasks * one.avg_s for one in phase) for phase in phases]
    counted = [number for number, work in enumerate(work_s) if work > 0]
    if not counted:
        return [0.0 for _ in runs]
    total_s = math.fsum(work_s[number] for number in counted)
    return [
        math.log(
            max(
                math.ulp(1.0),
                math.fsum(
                    work_s[number] / total_s * run.phases[number].avg_s / usual_s[number]
                    for number in counted
                ),
            )
        )
        for run in runs
    ]
