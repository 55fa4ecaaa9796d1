"""Changes of level: since some night, a job takes longer or shorter than it did before.

The logarithms of the times, over what a predictor of all runs expects, are split at each night in
turn. The medians before and after are compared with the spread around them. Medians are used, so
that one slow night is no change. The most significant split counts, and then the last one after it;
after a change only the runs since then are used for predictions, because older ones describe
another job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from sluice.estimate.prediction import comparable, predictor_of
from sluice.estimate.redrawn_times import without_luck_s
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, timed_runs
from sluice.model.history import PastRun

RUNS_MIN = 4  # on each side of a change
RATIO_MIN = 1.15  # smaller changes are left to the weights of the runs
# Standard errors between the medians. Trying each night finds a large difference by chance too;
# at 4.5, fewer than 1 in 100 histories of 8 to 20 equal nights have one.
SCORE_MIN = 4.5
SPREAD_MIN = 0.02
SPREAD_MAX = 0.3  # of logarithms; a job that varies more has no level
_MAD_TO_SIGMA = 1.4826  # of a normal distribution, from the median distance to the median
_MEAN_TO_SIGMA = 1.2533  # the same from the mean distance
_MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """Since a run, the job takes `ratio` times as long as before.

    run_id: the first run at the new level.  since_at_s: when it was submitted, seconds since the
    epoch; None if its log has no such instant.  runs_before: how many are left out since then.
    """

    run_id: str
    since_at_s: float | None
    ratio: float
    runs_before: int


def level_change(runs: Sequence[PastRun]) -> LevelChange | None:
    """The last significant change of level in the runs of a profile, oldest first; or None."""
    measured = comparable(timed_runs(runs))
    place_and_ratio = _last_split(_log_ratios(measured))
    if place_and_ratio is None:
        return None
    place, ratio = place_and_ratio
    first = measured[place].run
    return LevelChange(
        run_id=first.run_id, since_at_s=first.submitted_at_s, ratio=ratio, runs_before=place
    )


def current_runs(
    histories: Mapping[str, Sequence[PastRun]],
) -> tuple[dict[str, tuple[PastRun, ...]], dict[str, LevelChange]]:
    """The runs of each profile at its present level, and the changes, by profile."""
    current: dict[str, tuple[PastRun, ...]] = {}
    changes: dict[str, LevelChange] = {}
    for name, runs in histories.items():
        current[name] = tuple(runs)
        change = level_change(runs)
        if change is not None:
            changes[name] = change
            place = next(at for at, run in enumerate(runs) if run.run_id == change.run_id)
            current[name] = tuple(runs[place:])
    return current, changes


def _log_ratios(measured: Sequence[MeasuredRun]) -> list[float]:
    """Of each run, oldest first, the logarithm of its time over that of a model of all runs.

    Its own luck in the order and choice of tasks is taken out, because it can hide a change.
    """
    if len(measured) < 2 * RUNS_MIN:
        return []
    model = predictor_of(measured)
    if isinstance(model, NotEnoughData):
        return []
    return [
        math.log(took_s / model.composed(one.setting).elapsed_s)
        for one, took_s in zip(measured, without_luck_s(measured), strict=True)
    ]


def _last_split(ratios: Sequence[float]) -> tuple[int, float] | None:
    """The last split: after each one, and in newer and newer parts, there may be a later one.

    A job that was slow for a week and is fast again has no single split of its whole history.

    >>> _last_split([0.0, 0.01] * 4 + [0.7, 0.71] * 4 + [-0.01, 0.0] * 4)[0]
    16
    """
    start, last = 0, None
    while len(ratios) - start >= 2 * RUNS_MIN:
        found = _split(ratios[start:])
        if found is None:
            start += -(-(len(ratios) - start) // 3)
        else:
            start, last = start + found[0], (start + found[0], found[1])
    return last


def _split(ratios: Sequence[float]) -> tuple[int, float] | None:
    """The place of the most significant change, and how many times longer it takes since then.

    >>> _split([0.0, 0.01, -0.01, 0.0, 0.01, 0.4, 0.41, 0.39, 0.4, 0.41])[0]
    5
    >>> _split([0.0, 0.1, -0.1, 0.05, -0.05, 0.1, 0.0, -0.1])
    """
    best: tuple[float, int, float] | None = None
    for place in range(RUNS_MIN, len(ratios) - RUNS_MIN + 1):
        before, after = ratios[:place], ratios[place:]
        change = median(after) - median(before)
        spread = _spread(before, after)
        if spread > SPREAD_MAX:
            continue
        # The standard error of the difference of the two medians.
        error = _MEDIAN_ERROR * spread * math.sqrt(1 / len(before) + 1 / len(after))
        score = abs(change) / error
        if best is None or score > best[0]:
            best = score, place, change
    if best is None or best[0] < SCORE_MIN or abs(best[2]) < math.log(RATIO_MIN):
        return None
    return best[1], math.exp(best[2])


def _spread(before: Sequence[float], after: Sequence[float]) -> float:
    """Standard deviation around the two medians, without the farthest run.

    The median distance alone is far too small in 1 of 50 short histories; the mean distance alone
    is too large with a slow night in it. The larger of the two, without one run, is neither.
    """
    middles = median(before), median(after)
    away = [
        abs(value - middle)
        for side, middle in zip((before, after), middles, strict=True)
        for value in side
    ]
    # Two medians were fitted, so the distances are a little too small.
    free = math.sqrt(len(away) / (len(away) - 2))
    mean = fmean(sorted(away)[:-1])
    return max(_MAD_TO_SIGMA * median(away) * free, _MEAN_TO_SIGMA * mean * free, SPREAD_MIN)
