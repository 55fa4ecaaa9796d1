"""A prediction with its interval, from the past runs of all profiles.

The runs of a job's own profile give the predicted time. If they are too few for an interval, the
prediction errors of the other profiles are used as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sluice.estimate.prediction import Prediction, Predictor, comparable, predictor_of
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting, timed_runs
from sluice.estimate.uncertainty import (
    LEVEL,
    HeldOut,
    LogTimes,
    PredictionInterval,
    held_out,
    predicted_by_units,
    prediction_interval,
    scaled_by_ratios,
)
from sluice.model.history import PastRun

# The interval for a left-out run is refitted without it. Beyond this number of runs that is slow
# and changes little, so the fits to all runs are used.
NESTED_MAX = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Predicted time of a run and its interval, or the reason why there is none."""

    prediction: Prediction | NotEnoughData
    interval: PredictionInterval | NotEnoughData


class _Known(NamedTuple):
    """Runs of a profile that a prediction may use, their settings, and the fitted predictor."""

    runs: Sequence[MeasuredRun]
    settings: frozenset[RunSetting]
    model: Predictor | NotEnoughData


class Forecaster:
    """Forecasts jobs from the runs of their own profile and of all others.

    Leave-one-out errors and predictors are computed when first needed, and cached.
    """

    def __init__(self, histories: Mapping[str, Iterable[PastRun]]) -> None:
        self.runs: Mapping[str, Sequence[MeasuredRun]] = {
            name: comparable(timed_runs(runs)) for name, runs in histories.items()
        }
        self._held: dict[tuple[str, bool], tuple[HeldOut, ...]] = {}
        self._known: dict[tuple[str, frozenset[str]], _Known] = {}

    def forecast(
        self,
        profile: str,
        setting: RunSetting,
        *,
        without: Collection[str] = (),
        level: float = LEVEL,
    ) -> Forecast:
        """Forecast a run of the profile at a setting. without: ids of runs not to use."""
        known = self._without(profile, frozenset(without))
        model = known.model
        prediction = model if isinstance(model, NotEnoughData) else model.predict(setting)
        if isinstance(prediction, NotEnoughData):
            return Forecast(prediction=prediction, interval=prediction)
        is_known = setting in known.settings
        others = (
            unit.log_ratios
            for other in self.runs
            if other != profile
            for unit in self._held_out(other, known_setting=is_known)
        )
        own = self._own(profile, setting, prediction, frozenset(without))
        return Forecast(
            prediction=prediction,
            interval=prediction_interval(own, scaled_by_ratios(prediction, others), level),
        )

    def _own(
        self, profile: str, setting: RunSetting, prediction: Prediction, without: frozenset[str]
    ) -> LogTimes:
        """Logarithms of the predicted time, one group for each held-out unit of the profile.

        If runs are left out, the units are fitted again without them. With many runs that is too
        slow. Then the errors of the other units are used as they are, since one run changes them
        little, around a prediction that did not use the left-out runs.
        """
        known = self._without(profile, without)
        is_known = setting in known.settings
        if not without:
            return predicted_by_units(self._held_out(profile, known_setting=is_known), setting)
        if len(known.runs) <= NESTED_MAX:
            return predicted_by_units(held_out(known.runs, known_setting=is_known), setting)
        units = self._held_out(profile, known_setting=is_known)
        return list(
            scaled_by_ratios(
                prediction, (unit.log_ratios for unit in units if not unit.runs & without)
            )
        )

    def _without(self, profile: str, without: frozenset[str]) -> _Known:
        key = profile, without
        if key not in self._known:
            kept = [one for one in self.runs[profile] if one.run.run_id not in without]
            settings = frozenset(one.setting for one in kept)
            self._known[key] = _Known(kept, settings, predictor_of(kept))
        return self._known[key]

    def _held_out(self, profile: str, *, known_setting: bool) -> tuple[HeldOut, ...]:
        key = profile, known_setting
        if key not in self._held:
            self._held[key] = held_out(self.runs[profile], known_setting=known_setting)
        return self._held[key]
