"""Changes of level: since some night, a job takes longer or shorter than it did before.

The logarithms of the times, over what a predictor of all runs expects, are split at each night in
turn. The medians before and after are compared with the spread around them. Medians are used, so
that one slow night is no change. The most significant split counts, and then the last one after it;
after a change only the runs since then are used for predictions, because older ones describe
another job. Times that rise or fall from run to run are no change of level but a trend (`trends`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from sluice.estimate.prediction import comparable, predictor_of
from sluice.estimate.redrawn_times import without_luck_s
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting, timed_runs
from sluice.estimate.trends import (
    RATIO_MIN,
    SPREAD_MAX,
    SPREAD_MIN,
    TREND_RUNS_MAX,
    Trend,
    at_next_level,
    fits_better,
    is_rising,
    line_through,
)
from sluice.model.history import PastRun

RUNS_MIN = 4  # on each side of a change
# Standard errors between the medians. Trying each night finds a large difference by chance too;
# at 4.5, fewer than 1 in 100 histories of 8 to 20 equal nights have one.
SCORE_MIN = 4.5
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


Change = LevelChange | Trend


def level_change(runs: Sequence[PastRun]) -> Change | None:
    """The last significant change in the runs of a profile, oldest first, or their trend."""
    measured = comparable(timed_runs(runs))
    found = _last_change(_log_ratios(measured), [_sizes(one.setting) for one in measured])
    if found is None:
        return None
    first = measured[found.place].run
    ratio = math.exp(found.change)
    if found.is_trend:
        return Trend(
            run_id=first.run_id,
            since_at_s=first.submitted_at_s,
            ratio=ratio,
            runs=len(measured) - found.place,
            runs_before=found.place,
        )
    return LevelChange(
        run_id=first.run_id, since_at_s=first.submitted_at_s, ratio=ratio, runs_before=found.place
    )


def current_runs(
    histories: Mapping[str, Sequence[PastRun]],
) -> tuple[dict[str, tuple[PastRun, ...]], dict[str, Change]]:
    """The runs of each profile at its present level, and the changes, by profile.

    The runs of a trend are as long as each would take as the next run.
    """
    current: dict[str, tuple[PastRun, ...]] = {}
    changes: dict[str, Change] = {}
    for name, runs in histories.items():
        current[name] = tuple(runs)
        change = level_change(runs)
        if change is None:
            continue
        changes[name] = change
        place = next(at for at, run in enumerate(runs) if run.run_id == change.run_id)
        current[name] = tuple(runs[place:])
        if isinstance(change, Trend):
            counted = frozenset(one.run.run_id for one in comparable(timed_runs(runs)))
            current[name] = tuple(at_next_level(runs[place:], change.ratio, counted))
    return current, changes


def _log_ratios(measured: Sequence[MeasuredRun]) -> list[float]:
    """For each run, oldest first, the logarithm of its time over that of a model of all runs.

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


class _Found(NamedTuple):
    """A change of logarithms of times: from a place on, or with each run since then."""

    place: int
    change: float
    is_trend: bool = False


def _sizes(setting: RunSetting) -> tuple[float, ...]:
    """Return what explains a slow growth: the input, the tasks, and the slots of all phases."""
    return setting.input_bytes, setting.tasks, sum(phase.slots for phase in setting.phases)


def _last_change(ratios: Sequence[float], sizes: Sequence[tuple[float, ...]] = ()) -> _Found | None:
    """The last change: after each one, and in newer and newer parts, there may be a later one.

    A job that was slow for a week and is fast again has no single split of its whole history. A
    trend goes on to the newest run, so it is the last change. sizes: of each run; where one of them
    grows, the model of how times depend on it may be wrong, and there is no trend.

    >>> _last_change([0.0, 0.01] * 4 + [0.7, 0.71] * 4 + [-0.01, 0.0] * 4).place
    16
    >>> _last_change([0.02 * night for night in range(16)])
    _Found(place=0, change=0.02, is_trend=True)
    """
    start, last = 0, None
    while len(ratios) - start >= 2 * RUNS_MIN:
        since = max(start, len(ratios) - TREND_RUNS_MAX)
        is_explained = any(map(is_rising, zip(*sizes[since:], strict=True)))
        line = None if is_explained else line_through(ratios[since:])
        if line is not None and fits_better(line, *_away_from_levels(ratios[since:])):
            return _Found(since, line.slope, is_trend=True)
        found = _split(ratios[start:])
        if found is None:
            start += -(-(len(ratios) - start) // 3)
        else:
            start += found[0]
            last = _Found(start, found[1])
    return last


def _away_from_levels(ratios: Sequence[float]) -> tuple[list[float], int]:
    """Distances from the level of each part between changes, and how many changes there are."""
    found = _split(ratios) if len(ratios) >= 2 * RUNS_MIN else None
    if found is None:
        level = median(ratios)
        return [ratio - level for ratio in ratios], 0
    (before, splits), (after, more) = (
        _away_from_levels(part) for part in (ratios[: found[0]], ratios[found[0] :])
    )
    return before + after, splits + more + 1


def _split(ratios: Sequence[float]) -> tuple[int, float] | None:
    """The place of the most significant change, and the change of the logarithm since then.

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
    return best[1], best[2]


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
