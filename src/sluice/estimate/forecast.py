"""A prediction with its interval, from the past runs of all profiles: the estimator.

`Forecaster.estimate` is the one way from (profile, slots, input size, level) to a prediction: its
time, its interval, and what both rest on. The runs of a job's own profile give the predicted time.
If they are too few for an interval, the prediction errors of other profiles are used as well, but
only of profiles with the same origin: an error measured on one engine, by one kind of log, says
nothing about another.

Runs that took far longer or shorter than predicted are outliers. They are not part of the fit, and
planning leaves them out too (`usual_runs`). Their errors stay in the intervals, because such runs
do occur.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from sluice.estimate.fit_memory import EVERY_FIT, FitMemory
from sluice.estimate.future_setting import future_setting
from sluice.estimate.lenders import LENDERS_ENOUGH, NO_LENDERS, Lenders, LentNames, lent_errors
from sluice.estimate.outliers import Outlier, outliers
from sluice.estimate.prediction import Prediction, Predictor, comparable, predictor_of
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting, timed_runs
from sluice.estimate.slot_transfer import SlotTransfer, has_several_slots, is_new_slots
from sluice.estimate.uncertainty import (
    LEVEL,
    Fitter,
    HeldOut,
    LogTimes,
    PredictionInterval,
    held_out,
    predicted_by_units,
    prediction_interval,
    probability_within,
    scaled_by_ratios,
    supporting_units,
    units_needed,
)
from sluice.model.history import PastRun

# The interval for a left-out run is refitted without it: a fit for each pair of runs and phase.
# Beyond this number of runs times phases that is slow and changes little, so the fits to all runs
# are used. With this many runs in all profiles, too: 200 profiles of 25 runs took 23 s instead of
# 4 s, and their intervals held as often.
NESTED_PHASES_MAX = 30
NESTED_RUNS_MAX = 1000
# Outliers are found among this many of the newest successful runs of a profile.
RUNS_JUDGED = 50
# At most this many profiles lend their errors: those with most runs. More change little.
LENDERS_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Predicted time of a run and its interval, or the reason why there is none.

    setting: what was predicted; None if the profile has no run with a time.
    runs: number of runs that the prediction was fitted to.
    outliers: ids of runs that were left out of the fit.
    units: log times behind the interval; each left-out unit of history gives some.
    is_transferred: no error was measured at a setting like this one; those at known settings are
    used, as if tasks took as long with any number of slots.
    slot_exponent: of the tasks at once, in the length of a task, as learned from slot_profiles
    other profiles; None if the profile's own runs, or nothing, show how it changes with slots.
    """

    prediction: Prediction | NotEnoughData
    interval: PredictionInterval | NotEnoughData
    setting: RunSetting | None = None
    runs: int = 0
    outliers: tuple[str, ...] = ()
    units: LogTimes = ()
    is_transferred: bool = False
    slot_exponent: float | None = None
    slot_profiles: int = 0

    def probability_within(self, limit_s: float) -> float | None:
        """Probability that the run takes at most `limit_s`; None without an interval."""
        if isinstance(self.interval, NotEnoughData):
            return None
        return probability_within(self.units, limit_s)


class _Known(NamedTuple):
    """Runs of a profile that a prediction may use, their settings, and the fitted predictor."""

    runs: Sequence[MeasuredRun]
    settings: frozenset[RunSetting]
    model: Predictor | NotEnoughData


class Forecaster:
    """Forecasts jobs from the runs of their own profile and of all others.

    Leave-one-out errors and predictors are computed when first needed, and cached.
    histories: runs by profile, oldest first.  fits: recalls fits of earlier forecasts.
    lenders: more profiles; one with enough runs of its own is predicted without them.
    """

    def __init__(
        self,
        histories: Mapping[str, Iterable[PastRun]],
        fits: FitMemory = EVERY_FIT,
        lenders: Lenders = NO_LENDERS,
    ) -> None:
        self._histories: dict[str, tuple[PastRun, ...]] = {}
        self.runs: dict[str, Sequence[MeasuredRun]] = {}
        for name, runs in histories.items():
            self._add(name, runs)
        self._given = sorted(self.runs, key=lambda name: (-len(self.runs[name]), name))
        self._lent = LentNames(lenders, self._add)
        self._is_nested = sum(map(len, self.runs.values())) <= NESTED_RUNS_MAX
        self._held: dict[tuple[str, bool], tuple[HeldOut, ...]] = {}
        self._known: dict[tuple[str, frozenset[str]], _Known] = {}
        self._outliers: dict[str, tuple[Outlier, ...]] = {}
        self._fit: Fitter = partial(predictor_of, fits=fits)
        self._fits = _FitCache(self._fit)
        self._transfers: dict[str | None, SlotTransfer] = {}

    def _add(self, name: str, runs: Iterable[PastRun]) -> None:
        self._histories[name] = tuple(runs)
        self.runs[name] = comparable(timed_runs(self._histories[name]))

    def estimate(
        self,
        profile: str,
        *,
        slots: int | Mapping[str, int] | None = None,
        input_bytes: int | None = None,
        level: float = LEVEL,
    ) -> Forecast:
        """Predict the next run of a profile.

        slots: for each phase, or by kind of phase; by default those of the newest run.
        input_bytes: by default those of the newest run.  level: coverage of the interval.
        An unknown profile gives NotEnoughData.
        """
        runs = self.runs.get(profile, ())
        if not runs:
            why = NotEnoughData("no successful run has a time")
            return Forecast(prediction=why, interval=why)
        return self.forecast(profile, future_setting(runs, slots, input_bytes), level=level)

    def forecast(
        self,
        profile: str,
        setting: RunSetting,
        *,
        without: Collection[str] = (),
        level: float = LEVEL,
    ) -> Forecast:
        """Forecast a run of the profile at a setting. without: ids of runs not to use."""
        return self._forecast(profile, setting, frozenset(without), level)

    def transferred(self, profile: str, setting: RunSetting, *, level: float = LEVEL) -> Forecast:
        """Forecast a run; for a new number of slots, with what other profiles show of it.

        Most profiles have run with one number of slots only. How task lengths change with it is
        then learned from the profiles of the same origin that ran with several (`slot_transfer`).
        Without any, the forecast assumes that they do not change, and says so (`is_transferred`).
        """
        if is_new_slots(self.runs.get(profile, ()), setting):
            learned = self._by_other_profiles(profile, setting, level)
            if learned is not None:
                return learned
        found = self.forecast(profile, setting, level=level)
        if isinstance(found.prediction, NotEnoughData) or isinstance(
            found.interval, PredictionInterval
        ):
            return found
        assumed = self._forecast(profile, setting, frozenset(), level, as_known=True)
        is_better = isinstance(assumed.interval, PredictionInterval)
        return replace(assumed, is_transferred=True) if is_better else found

    def _by_other_profiles(
        self, profile: str, setting: RunSetting, level: float
    ) -> Forecast | None:
        """A forecast with the slow-down of other profiles; None if none ran on several slots.

        If too few transfers could be checked for an interval, errors at known settings are added.
        """
        model, transfer = self.model(profile), self._slot_transfer(self._origin(profile))
        if isinstance(model, NotEnoughData):
            return None
        moved = transfer.predictor(model, profile)
        prediction = None if moved is None else moved.predict(setting)
        if prediction is None or isinstance(prediction, NotEnoughData):
            return None
        ratios = list(transfer.errors(without=profile))
        is_checked = len(ratios) >= units_needed(level)
        if not is_checked:
            ratios += [unit.log_ratios for unit in self._held_out(profile, known_setting=True)]
            ratios += map(tuple, self._borrowed(profile, level, known_setting=True))
        units = list(scaled_by_ratios(prediction, ratios))
        return Forecast(
            prediction=prediction,
            interval=prediction_interval((), units, level),
            setting=setting,
            runs=model.runs,
            outliers=model.left_aside,
            units=units,
            is_transferred=not is_checked,
            slot_exponent=transfer.exponent(without=profile),
            slot_profiles=transfer.profiles(without=profile),
        )

    def _slot_transfer(self, origin: str | None) -> SlotTransfer:
        if origin not in self._transfers:
            given = (name for name in self._given if self._origin(name) == origin)
            varied = self._lent.each(known_setting=False)
            lent = (
                name
                for name in varied
                if self._origin(name) == origin and has_several_slots(self.runs[name])
            )
            names = chain(given, islice(lent, LENDERS_ENOUGH))
            alike = {name: self.runs[name] for name in names}
            self._transfers[origin] = SlotTransfer(alike, self._fit)
        return self._transfers[origin]

    def _forecast(
        self,
        profile: str,
        setting: RunSetting,
        left_out: frozenset[str],
        level: float,
        *,
        as_known: bool = False,
    ) -> Forecast:
        known = self._without(profile, left_out)
        model = known.model
        prediction = model if isinstance(model, NotEnoughData) else model.predict(setting)
        if isinstance(model, NotEnoughData) or isinstance(prediction, NotEnoughData):
            why = prediction if isinstance(prediction, NotEnoughData) else model
            assert isinstance(why, NotEnoughData)
            return Forecast(prediction=why, interval=why, setting=setting)
        is_known = as_known or setting in known.settings
        own = self._own(profile, setting, prediction, left_out, is_known=is_known)
        borrowed = self._borrowed(profile, level, known_setting=is_known)
        units, pooled = supporting_units(own, scaled_by_ratios(prediction, borrowed), level)
        return Forecast(
            prediction=prediction,
            interval=prediction_interval(
                units[: len(units) - pooled], units[len(units) - pooled :], level
            ),
            setting=setting,
            runs=model.runs,
            outliers=model.left_aside,
            units=units,
        )

    def model(self, profile: str) -> Predictor | NotEnoughData:
        """The predictor fitted to all runs of a profile but the outliers."""
        return self._without(profile, frozenset()).model

    def outliers(self, profile: str) -> tuple[Outlier, ...]:
        """Outliers among the newest runs of a profile, the farthest first.

        Each run is compared with a prediction that did not use it.
        """
        if profile not in self._outliers:
            self._outliers[profile] = outliers(self._recent_log_ratios(profile))
        return self._outliers[profile]

    def _recent_log_ratios(self, profile: str) -> dict[str, float]:
        succeeded = [run for run in self._histories[profile] if run.succeeded]
        if len(succeeded) <= RUNS_JUDGED:
            units = self._held_out(profile, known_setting=True)
        else:
            recent = comparable(timed_runs(succeeded[-RUNS_JUDGED:]))
            units = held_out(recent, known_setting=True, fit=self._fit)
        return {run_id: unit.log_ratios[0] for unit in units for run_id in unit.runs}

    def _borrowed(
        self, profile: str, level: float, *, known_setting: bool
    ) -> Iterator[Sequence[float]]:
        """Errors of other profiles of the same origin. Lazy, because they cost fits."""
        origin = self._origin(profile)

        def lend(names: Iterable[str], most: int) -> Iterator[str]:
            alike = (name for name in names if name != profile and self._origin(name) == origin)
            # Without a second setting there is no error at an unknown one.
            useful = (
                name
                for name in alike
                if known_setting or len({one.setting for one in self.runs[name]}) > 1
            )
            return islice(useful, most)

        def errors(name: str) -> LogTimes:
            return [unit.log_ratios for unit in self._held_out(name, known_setting=known_setting)]

        given = list(lend(self._given, LENDERS_MAX))
        lent = lend(self._lent.each(known_setting=known_setting), LENDERS_MAX - len(given))
        return lent_errors(given, lent, errors, level)

    def _origin(self, profile: str) -> str | None:
        """The origin of the newest run that counts."""
        runs = self.runs[profile]
        return runs[-1].run.origin if runs else None

    def _own(
        self,
        profile: str,
        setting: RunSetting,
        prediction: Prediction,
        without: frozenset[str],
        *,
        is_known: bool,
    ) -> LogTimes:
        """Logarithms of the predicted time, one group for each held-out unit of the profile.

        If runs are left out, the units are fitted again without them. With many runs that is too
        slow. Then the errors of the other units are used as they are, since one run changes them
        little, around a prediction that did not use the left-out runs.
        """
        known = self._without(profile, without)
        if not without:
            return predicted_by_units(self._held_out(profile, known_setting=is_known), setting)
        if self._is_nested and len(known.runs) * len(setting.phases) <= NESTED_PHASES_MAX:
            fit = self._fits.of(profile).fit
            units = held_out(known.runs, known_setting=is_known, fit=fit)
            return predicted_by_units(units, setting)
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
            model = self._usual_model(profile) if not without else self._model_of(profile, kept)
            self._known[key] = _Known(kept, settings, model)
        return self._known[key]

    def _usual_model(self, profile: str) -> Predictor | NotEnoughData:
        unusual = {found.run_id for found in self.outliers(profile)}
        model = self._fit([one for one in self.runs[profile] if one.run.run_id not in unusual])
        if isinstance(model, NotEnoughData) or not unusual:
            return model
        return replace(model, left_aside=tuple(sorted(unusual.union(model.left_aside))))

    def _model_of(self, profile: str, kept: Sequence[MeasuredRun]) -> Predictor | NotEnoughData:
        if kept or not self.runs[profile]:
            return self._fit(kept)
        if len(self.runs[profile]) == 1:
            return NotEnoughData("one run only; a prediction needs two")
        return NotEnoughData("all runs have one setting; no run at another setting is left")

    def _held_out(self, profile: str, *, known_setting: bool) -> tuple[HeldOut, ...]:
        key = profile, known_setting
        if key not in self._held:
            self._held[key] = held_out(
                self.runs[profile], known_setting=known_setting, fit=self._fit
            )
        return self._held[key]


class _FitCache:
    """Predictors of subsets of one profile's runs.

    The interval for run A needs a fit without A and B, and so does the interval for run B. Keeping
    the fits halves the work. Those of other profiles are dropped, because predictors are large.
    """

    def __init__(self, fit: Fitter) -> None:
        self._fit = fit
        self._profile: str | None = None
        self._by_runs: dict[frozenset[str], Predictor | NotEnoughData] = {}

    def of(self, profile: str) -> _FitCache:
        """This cache, for one profile."""
        if profile != self._profile:
            self._profile, self._by_runs = profile, {}
        return self

    def fit(self, runs: Sequence[MeasuredRun]) -> Predictor | NotEnoughData:
        """The predictor of these runs of the profile."""
        key = frozenset(one.run.run_id for one in runs)
        if key not in self._by_runs:
            self._by_runs[key] = self._fit(runs)
        return self._by_runs[key]


def usual_runs(runs: Sequence[PastRun]) -> list[PastRun]:
    """The runs of one profile, oldest first, without those that `calibrate` lists as outliers."""
    unusual = {found.run_id for found in Forecaster({"": runs}).outliers("")}
    return [run for run in runs if run.run_id not in unusual]
