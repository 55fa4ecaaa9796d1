"""How sure a prediction is: an interval that holds as often as it says, learned from what was off.

Theory of operation. Every *unit* of history is left out once, predicted from the others, and its
log-ratios of actual to predicted are kept, with the predictor that did not see it. A unit is a run
where the setting to be predicted was measured before, and else a whole setting with all its
repetitions: what is left out must be as unknown as what is asked for. The interval lies between the
alpha/2 and 1 - alpha/2 quantiles of "what that predictor says here, times that ratio" over all
units, each unit weighing the same, with one unit more at infinity for the run that is to come.

No distribution is assumed; if units are exchangeable the interval holds for at least 1 - 2 alpha
of new ones in the worst case, and for about 1 - alpha in practice. Sources: Barber, Candes, Ramdas,
Tibshirani, "Predictive inference with the jackknife+", 2021 (CV+); Lee, Barber, Willett,
"Distribution-free inference with hierarchical data", 2023 (units with repetitions).

Below 2/alpha - 1 units (19 for 90 %) no finite interval can keep the promise. Then ratios of other
profiles are pooled with these, as if this job were a draw from all jobs; if those are too few
as well, the answer is that there is not enough data.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sluice.estimate.prediction import Prediction, Predictor, predictor_of
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting

LEVEL = 0.9
FOLDS_MAX = 25  # beyond, units are left out by groups


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionInterval:
    """From where to where the actual time lies, in `level` of all cases.

    units: how many left-out units it was learned from; pooled: those of them of other profiles.
    """

    low_s: float
    high_s: float
    level: float
    units: int
    pooled: int = 0

    def holds(self, actual_s: float) -> bool:
        """Whether it was right."""
        return self.low_s <= actual_s <= self.high_s


class HeldOut(NamedTuple):
    """A unit that was left out, the predictor of the others, and how far off that was."""

    runs: frozenset[str]
    predictor: Predictor
    log_ratios: tuple[float, ...]


def by_setting(one: MeasuredRun) -> Hashable:
    """All repetitions of a setting are one unit."""
    return one.setting


def by_run(one: MeasuredRun) -> Hashable:
    """Every run is a unit."""
    return one.run.run_id


def held_out(runs: Sequence[MeasuredRun], *, known_setting: bool) -> tuple[HeldOut, ...]:
    """Each unit of the runs of one profile, left out in turn; none where there is only one."""
    unit_of = by_run if known_setting else by_setting
    units: dict[Hashable, list[MeasuredRun]] = defaultdict(list)
    for one in runs:
        units[unit_of(one)].append(one)
    keys = list(units)
    folds = min(FOLDS_MAX, len(keys))
    found = []
    for fold in range(folds if folds > 1 else 0):
        left_out = set(keys[fold::folds])
        model = predictor_of([one for one in runs if unit_of(one) not in left_out])
        if isinstance(model, NotEnoughData):
            continue
        for key in keys[fold::folds]:
            ratios = tuple(_log_ratio(model, one) for one in units[key])
            found.append(HeldOut(frozenset(one.run.run_id for one in units[key]), model, ratios))
    return tuple(found)


def _log_ratio(model: Predictor, one: MeasuredRun) -> float:
    told = model.predict(one.setting)
    assert isinstance(told, Prediction), told  # they were chosen to have the same phases
    return math.log(one.elapsed_s / told.elapsed_s)


LogTimes = Sequence[Sequence[float]]  # of times in seconds: for each unit, one for each of its runs


def prediction_interval(
    own: LogTimes, others: Iterable[Sequence[float]] = (), level: float = LEVEL
) -> PredictionInterval | NotEnoughData:
    """The interval that so many units support.

    own: what each unit of the profile makes of the run to come, by `predicted_by_units` or `scaled_by_ratios`.
    others: the same of units of other profiles; looked at only where `own` are too few.
    """
    needed = units_needed(level)
    pooled = () if len(own) >= needed else tuple(others)
    units = [*own, *pooled]
    if len(units) < needed:
        return NotEnoughData(
            f"{_counted(len(units))} could be checked so far,"
            f" and an interval of {level * 100:g} % needs {needed}"
        )
    low, high = _equal_tailed(units, level)
    return PredictionInterval(
        low_s=math.exp(low),
        high_s=math.exp(high),
        level=level,
        units=len(units),
        pooled=len(pooled),
    )


def predicted_by_units(units: Iterable[HeldOut], setting: RunSetting) -> LogTimes:
    """What the predictor without each unit says of a setting, times how far off it was there."""
    here: dict[int, float] = {}  # by predictor, for units of one group share theirs
    found = []
    for unit in units:
        if id(unit.predictor) not in here:
            told = unit.predictor.predict(setting)
            assert isinstance(told, Prediction), told
            here[id(unit.predictor)] = math.log(told.elapsed_s)
        found.append([here[id(unit.predictor)] + ratio for ratio in unit.log_ratios])
    return found


def scaled_by_ratios(
    prediction: Prediction, ratios: Iterable[Sequence[float]]
) -> Iterator[Sequence[float]]:
    """The prediction, times how far off predictions were elsewhere."""
    here = math.log(prediction.elapsed_s)
    for each in ratios:
        yield [here + ratio for ratio in each]


def units_needed(level: float) -> int:
    """The least units that can support an interval of two equal tails.

    >>> units_needed(0.9)
    19
    """
    return math.ceil(2 / (1 - level) - 1 - 1e-9)


def _counted(units: int) -> str:
    return "1 prediction" if units == 1 else f"{units or 'no'} predictions"


def _equal_tailed(units: LogTimes, level: float) -> tuple[float, float]:
    """The outermost values within which `level` lies, every unit weighing the same."""
    weighted = [(value, 1 / len(values)) for values in units for value in values]
    enough = (1 + level) / 2 * (len(units) + 1) - 1e-9
    upper = _reached(sorted(weighted), enough)
    lower = -_reached(sorted((-value, weight) for value, weight in weighted), enough)
    return min(lower, upper), max(lower, upper)


def _reached(rising: Sequence[tuple[float, float]], enough: float) -> float:
    """The first value at which the weights so far are enough."""
    total = 0.0
    for value, weight in rising:
        total += weight
        if total >= enough:
            return value
    return rising[-1][0]
