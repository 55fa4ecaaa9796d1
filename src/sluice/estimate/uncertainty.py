"""Prediction intervals with the coverage they promise, from the errors of past predictions.

Theory of operation. Every *unit* of history is left out once and predicted from the others. The
log-ratios of actual to predicted time are kept, together with the predictor that did not see the
unit. If the setting to predict was measured before, a unit is a run. Otherwise a unit is a setting
with all its repetitions, because the left-out part must be as unknown as the part to predict.

For each unit, its predictor's value at the new setting is multiplied with its ratios. The interval
lies between the alpha/2 and 1 - alpha/2 quantiles of these products. Each unit has the same weight,
and one more unit at infinity represents the new run.

No distribution is assumed. If units are exchangeable, the interval contains at least 1 - 2 alpha of
new runs in the worst case, and about 1 - alpha in practice. An interval from the residuals of the
fit itself would be simpler but too narrow, because the fit has seen those runs.
Sources: Barber, Candes, Ramdas, Tibshirani, "Predictive inference with the jackknife+", 2021 (CV+);
Lee, Barber, Willett, "Distribution-free inference with hierarchical data", 2023 (units with
repetitions).

With fewer than 2/alpha - 1 units (19 for 90 %) no finite interval has this coverage. Then ratios of
other profiles of the same origin are added, as if this job were drawn from all jobs of the engine.
If those are too few as well, the answer is that there is not enough data.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sluice.estimate.prediction import Prediction, Predictor, predictor_of
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting
from sluice.model.errors import wrong_value

LEVEL, LEVEL_MAX = 0.9, 0.999
FOLDS_MAX = 25  # each fold needs a fit, so more units than this are left out in groups


def check_level(level: float) -> None:
    """Raise InvalidInput for a level that no interval can have."""
    if not 0 < level <= LEVEL_MAX:
        raise wrong_value("level", level, "--level", f"give a number above 0, at most {LEVEL_MAX}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionInterval:
    """Interval that contains the actual time in a share `level` of all cases.

    units: number of left-out units behind it.  pooled: how many of them are of other profiles.
    """

    low_s: float
    high_s: float
    level: float
    units: int
    pooled: int = 0

    def holds(self, actual_s: float) -> bool:
        """Whether the interval contains the actual time."""
        return self.low_s <= actual_s <= self.high_s


class HeldOut(NamedTuple):
    """A left-out unit, the predictor fitted to the others, and its errors on the unit."""

    runs: frozenset[str]
    predictor: Predictor
    log_ratios: tuple[float, ...]


def by_setting(one: MeasuredRun) -> Hashable:
    """All repetitions of a setting are one unit."""
    return one.setting


def by_run(one: MeasuredRun) -> Hashable:
    """Every run is a unit."""
    return one.run.run_id


Fitter = Callable[[Sequence[MeasuredRun]], Predictor | NotEnoughData]


def held_out(
    runs: Sequence[MeasuredRun], *, known_setting: bool, fit: Fitter = predictor_of
) -> tuple[HeldOut, ...]:
    """Leave out each unit of one profile's runs in turn; empty if there is only one unit.

    fit: makes a predictor of the kept runs.
    """
    unit_of = by_run if known_setting else by_setting
    units: dict[Hashable, list[MeasuredRun]] = defaultdict(list)
    for one in runs:
        units[unit_of(one)].append(one)
    keys = list(units)
    folds = min(FOLDS_MAX, len(keys))
    found = []
    for fold in range(folds if folds > 1 else 0):
        left_out = set(keys[fold::folds])
        model = fit([one for one in runs if unit_of(one) not in left_out])
        if isinstance(model, NotEnoughData):
            continue
        for key in keys[fold::folds]:
            ratios = tuple(_log_ratio(model, one) for one in units[key])
            found.append(HeldOut(frozenset(one.run.run_id for one in units[key]), model, ratios))
    return tuple(found)


def _log_ratio(model: Predictor, one: MeasuredRun) -> float:
    predicted = model.predict(one.setting)
    assert isinstance(predicted, Prediction), predicted  # all these runs have the same phases
    return math.log(one.elapsed_s / predicted.elapsed_s)


LogTimes = Sequence[Sequence[float]]  # of times in seconds: for each unit, one for each of its runs


def prediction_interval(
    own: LogTimes, others: Iterable[Sequence[float]] = (), level: float = LEVEL
) -> PredictionInterval | NotEnoughData:
    """Return the interval that these units support.

    own: log times from each unit of the profile, by `predicted_by_units` or `scaled_by_ratios`.
    others: the same for units of other profiles; used only if `own` are too few.
    """
    units, pooled = supporting_units(own, others, level)
    needed = units_needed(level)
    if len(units) < needed:
        return NotEnoughData(
            f"an interval of {level * 100:g} % needs {needed} checked runs, has {len(units)}"
        )
    low, high = _equal_tailed(units, level)
    return PredictionInterval(
        low_s=math.exp(low), high_s=math.exp(high), level=level, units=len(units), pooled=pooled
    )


def supporting_units(
    own: LogTimes, others: Iterable[Sequence[float]], level: float
) -> tuple[LogTimes, int]:
    """The units behind an interval, and how many of them are of other profiles.

    Those of other profiles are used only if a profile has too few of its own.
    """
    pooled = () if len(own) >= units_needed(level) else tuple(others)
    return [*own, *pooled], len(pooled)


def probability_within(units: LogTimes, limit_s: float) -> float | None:
    """Probability that the next run takes at most `limit_s`; None without units.

    units: log times, as for `prediction_interval`. The new run counts as one unit more, half of it
    on either side, so that no finite history gives 0 or 1.

    >>> probability_within([[0.0], [1.0], [2.0]], math.exp(1.5))
    0.625
    """
    if not units:
        return None
    if limit_s <= 0:
        return 0.0
    limit = math.log(limit_s)
    inside = math.fsum(sum(value <= limit for value in values) / len(values) for values in units)
    return (inside + 0.5) / (len(units) + 1)


def predicted_by_units(units: Iterable[HeldOut], setting: RunSetting) -> LogTimes:
    """For each unit, its predictor's log time at a setting plus its log-ratios."""
    here: dict[int, float] = {}  # by predictor; the units of one fold share a predictor
    found = []
    for unit in units:
        if id(unit.predictor) not in here:
            predicted = unit.predictor.predict(setting)
            assert isinstance(predicted, Prediction), predicted
            here[id(unit.predictor)] = math.log(predicted.elapsed_s)
        found.append([here[id(unit.predictor)] + ratio for ratio in unit.log_ratios])
    return found


def scaled_by_ratios(
    prediction: Prediction, ratios: Iterable[Sequence[float]]
) -> Iterator[Sequence[float]]:
    """The log of one prediction, plus the log-ratios of each unit."""
    here = math.log(prediction.elapsed_s)
    for each in ratios:
        yield [here + ratio for ratio in each]


def units_needed(level: float) -> int:
    """Least number of units that supports an interval with two equal tails.

    >>> units_needed(0.9)
    19
    """
    return math.ceil(2 / (1 - level) - 1 - 1e-9)


def _equal_tailed(units: LogTimes, level: float) -> tuple[float, float]:
    """Lower and upper end of the interval; each unit has weight 1, shared by its values.

    The quantiles count one unit more than there are: the new run, at either infinity.
    """
    weighted = [(value, 1 / len(values)) for values in units for value in values]
    enough = (1 + level) / 2 * (len(units) + 1) - 1e-9
    upper = _reached(sorted(weighted), enough)
    lower = -_reached(sorted((-value, weight) for value, weight in weighted), enough)
    return min(lower, upper), max(lower, upper)


def _reached(rising: Sequence[tuple[float, float]], enough: float) -> float:
    """The first value at which the cumulated weight reaches `enough`."""
    total = 0.0
    for value, weight in rising:
        total += weight
        if total >= enough:
            return value
    return rising[-1][0]
