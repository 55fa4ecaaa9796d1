"""Trends: a job that takes a little longer, or shorter, from run to run.

A slow growth that no recorded input explains looks like a change of level somewhere in its middle.
So the steps that explain the times best are compared with a line through them. The test for a line
(Mann-Kendall) counts the pairs of runs of which the later one took longer, so it assumes nothing
about the noise; the slope is the median over those pairs (Theil-Sen). Runs are then scaled along
the line to the level that the next one has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

from sluice.model.history import PastPhase, PastRun

TREND_RUNS_MAX = 100  # the newest, because all pairs of them are compared
RATIO_MIN = 1.15  # in all; smaller changes are left to the weights of the runs
# Standard deviations of the number of pairs that rise. At 2.6, fewer than 1 in 200 histories of 8
# to 20 equal nights have a trend.
SCORE_MIN = 2.6
SPREAD_MIN = 0.02
SPREAD_MAX = 0.3  # of logarithms, around the line
_BENT_ERRORS_MAX = 2.0  # the newest third of the runs is at most this far off the line
_MAD_TO_SIGMA = 1.4826  # of a normal distribution, from the median distance to the median
_MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean
_NEWEST_MIN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Each run takes `ratio` times as long as the one before, over the newest runs.

    run_id: the first of these runs.  since_at_s: when it was submitted, seconds since the epoch;
    None if its log has no such instant.  runs: how many they are.  runs_before: older ones, which
    are left out.
    """

    run_id: str
    since_at_s: float | None
    ratio: float
    runs: int
    runs_before: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line through logarithms of times. away: of each run, its distance from the line."""

    slope: float
    away: tuple[float, ...]


def line_through(ratios: Sequence[float]) -> Line | None:
    """The line through logarithms of times, oldest first; None if they do not rise or fall.

    >>> line = line_through([0.00, 0.03, 0.03, 0.06, 0.09, 0.09, 0.12, 0.15, 0.15, 0.18])
    >>> round(line.slope, 3)
    0.02
    >>> line_through([0.00, 0.18, 0.03, 0.06, 0.15, 0.09, 0.12, 0.09, 0.15, 0.03])
    """
    if not is_rising(ratios):
        return None
    slope = median((b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(ratios), 2))
    if abs(slope) * (len(ratios) - 1) < math.log(RATIO_MIN):
        return None
    moved = [ratio - slope * at for at, ratio in enumerate(ratios)]
    base = median(moved)
    away = tuple(one - base for one in moved)
    spread = _MAD_TO_SIGMA * median(map(abs, away))
    newest = away[-max(_NEWEST_MIN, len(away) // 3) :]
    error = _MEDIAN_ERROR * max(spread, SPREAD_MIN) / math.sqrt(len(newest))
    is_bent = abs(median(newest)) > _BENT_ERRORS_MAX * error
    return None if is_bent or spread > SPREAD_MAX else Line(slope, away)


def is_rising(values: Sequence[float]) -> bool:
    """Whether far more pairs rise than fall, or the other way round (Mann-Kendall).

    >>> is_rising([1, 2, 3, 4, 5, 6, 8, 7]), is_rising([2, 1, 4, 3, 6, 2, 5, 4])
    (True, False)
    """
    count = len(values)
    more = sum((b > a) - (b < a) for a, b in combinations(values, 2))
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return abs(more) - 1 >= SCORE_MIN * deviation


def fits_better(line: Line, away: Sequence[float], steps: int) -> bool:
    """Whether a line explains times better than `steps` changes of level, at this distance.

    The criterion is Schwarz's, for distances of a Laplace distribution, because some nights are
    slow. A line has one number; each step has two, its place and its height.
    """
    of_line, of_steps = math.fsum(map(abs, line.away)), math.fsum(map(abs, away))
    if not steps or not of_steps:
        return not steps
    gain = 2 * len(away) * math.log(max(of_line, 1e-12) / of_steps)
    return gain < (2 * steps - 1) * math.log(len(away))


def at_next_level(
    runs: Sequence[PastRun], ratio: float, comparable: frozenset[str]
) -> list[PastRun]:
    """The runs of a trend, oldest first, as long as each would take as the next run.

    comparable: ids of the runs that the trend was found in; others are between two of them.
    """
    after = sum(run.run_id in comparable for run in runs)
    found = []
    for run in runs:
        found.append(_scaled(run, ratio**after))
        after -= run.run_id in comparable
    return found


def _scaled(run: PastRun, factor: float) -> PastRun:
    elapsed_s = None if run.elapsed_s is None else run.elapsed_s * factor
    phases = tuple(_scaled_phase(phase, factor) for phase in run.phases)
    return replace(run, elapsed_s=elapsed_s, phases=phases)


def _scaled_phase(phase: PastPhase, factor: float) -> PastPhase:
    timeline = tuple(
        replace(
            task,
            started_at_s=task.started_at_s * factor,
            finished_at_s=task.finished_at_s * factor,
            fetched_at_s=None if task.fetched_at_s is None else task.fetched_at_s * factor,
        )
        for task in phase.timeline
    )
    return replace(
        phase,
        avg_s=phase.avg_s * factor,
        max_s=phase.max_s * factor,
        cpu_s=None if phase.cpu_s is None else phase.cpu_s * factor,
        timeline=timeline,
    )
