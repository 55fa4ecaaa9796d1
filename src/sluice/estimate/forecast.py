"""A prediction with its interval, from all that is known about all profiles.

One profile tells how long its job takes. The others lend it their errors, where its own are too
few to say how sure that is.
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

NESTED_MAX = 25  # runs up to which an interval is learned anew without each run left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How long a run will take, and from where to where; or why that cannot be said."""

    prediction: Prediction | NotEnoughData
    interval: PredictionInterval | NotEnoughData


class _Known(NamedTuple):
    """What may help to predict a run of a profile: the runs, their settings, what they tell."""

    runs: Sequence[MeasuredRun]
    settings: frozenset[RunSetting]
    model: Predictor | NotEnoughData


class Forecaster:
    """Forecasts jobs from the runs of their own and of all other profiles.

    What was left out in turn, and how far off that was, is worked out when first asked for, and
    kept; so is what is known without certain runs.
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
        """A run of the profile at a setting. without: ids of runs that must not help."""
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
        """What the units of the profile itself make of the run to come.

        Where runs are to be left out the units are learned anew without them. Where those are many,
        the errors of the others are taken as they are (a single run bears little on them), but
        about a prediction that has not seen what is left out.
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
