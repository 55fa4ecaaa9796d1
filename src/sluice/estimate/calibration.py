"""Compares predicted with actual run times, for runs that the predictor has not seen.

Each run is predicted from the other runs of its profile. Left out is the run alone, or all runs at
its setting, which is a harder test. For contrast nothing can be left out; that result is
optimistic, because the predictor was fitted to the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from statistics import fmean, median

from sluice.estimate.fit_memory import EVERY_FIT, FitMemory
from sluice.estimate.forecast import Forecast, Forecaster
from sluice.estimate.forecast_record import RecordedForecast, recorded_forecasts
from sluice.estimate.level_changes import Change, current_runs
from sluice.estimate.outliers import Outlier
from sluice.estimate.prediction import Prediction, Predictor
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting, timed_runs
from sluice.estimate.trends import Trend
from sluice.estimate.uncertainty import LEVEL, PredictionInterval, by_run, by_setting
from sluice.model.history import PastRun

# A refit costs time, so at most this many are done. More units than that are left out in groups.
GROUPS_MAX = 50

# Called with the name of a profile, the number of profiles that are done, and that of all.
OnProgress = Callable[[str, int, int], None]


class LeaveOut(Enum):
    """The runs that a run's prediction leaves out: the run, all runs at its setting, or none."""

    RUN = "run"
    SETTING = "setting"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Predicted and actual time of one run, or the reason why there is no prediction."""

    profile: str
    run_id: str
    setting: RunSetting
    actual_s: float
    prediction: Prediction | NotEnoughData
    interval: PredictionInterval | NotEnoughData

    @property
    def predicted_s(self) -> float | None:
        """Predicted seconds; None if there is no prediction."""
        return self.prediction.elapsed_s if isinstance(self.prediction, Prediction) else None

    @property
    def error(self) -> float | None:
        """Error as a share of the actual time; above 0 if the prediction is too high."""
        return None if self.predicted_s is None else self.predicted_s / self.actual_s - 1

    @property
    def is_inside(self) -> bool | None:
        """Whether the interval contains the actual time; None if there is no interval."""
        return (
            self.interval.holds(self.actual_s)
            if isinstance(self.interval, PredictionInterval)
            else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Accuracy of a set of predictions. Errors are shares of the actual time.

    A figure is None if no prediction was possible.
    bias: median signed error; above 0 if predictions are too high.
    intervals: number of intervals.  coverage: share of them that contain the actual time.
    """

    compared: int
    predicted: int
    error_median: float | None
    error_mean: float | None
    bias: float | None
    intervals: int
    coverage: float | None


def accuracy(comparisons: Iterable[RunComparison]) -> Accuracy:
    """Return the accuracy over all these comparisons."""
    every = list(comparisons)
    errors = [one.error for one in every if one.error is not None]
    inside = [one.is_inside for one in every if one.is_inside is not None]
    return Accuracy(
        compared=len(every),
        predicted=len(errors),
        error_median=median(map(abs, errors)) if errors else None,
        error_mean=fmean(map(abs, errors)) if errors else None,
        bias=median(errors) if errors else None,
        intervals=len(inside),
        coverage=fmean(inside) if inside else None,
    )


@dataclass(frozen=True, kw_only=True)
class ProfileCalibration:
    """Comparison of all runs of one profile.

    passed_over: ids of runs that failed, have no timing, or have other phases or commands.
    outliers: runs that took far longer or shorter than expected; planning leaves them out.
    model: the predictor fitted to all other runs of the profile.
    recorded: forecasts that were made before the runs, and stored with them.
    change: the change of level since which runs count for the next prediction, or the trend that
    it follows.
    runs_read: how many runs the history had, counted or not.
    """

    name: str
    comparisons: tuple[RunComparison, ...]
    passed_over: tuple[str, ...]
    outliers: tuple[Outlier, ...]
    model: Predictor | NotEnoughData
    recorded: tuple[RecordedForecast, ...] = ()
    change: Change | None = None
    runs_read: int = 0

    @cached_property
    def accuracy(self) -> Accuracy:
        """Accuracy over the runs of this profile."""
        return accuracy(self.comparisons)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Comparisons of all profiles."""

    profiles: tuple[ProfileCalibration, ...]
    leave_out: LeaveOut
    level: float

    @property
    def comparisons(self) -> tuple[RunComparison, ...]:
        """Comparisons of all profiles, in one tuple."""
        return tuple(one for profile in self.profiles for one in profile.comparisons)

    @cached_property
    def accuracy(self) -> Accuracy:
        """Accuracy over the runs of all profiles."""
        return accuracy(self.comparisons)


def calibration(
    histories: Mapping[str, Sequence[PastRun]],
    *,
    leave_out: LeaveOut = LeaveOut.RUN,
    level: float = LEVEL,
    names: Iterable[str] | None = None,
    fits: FitMemory = EVERY_FIT,
    on_progress: OnProgress = lambda _name, _done, _all: None,
) -> Calibration:
    """Predict every run of these profiles and compare it with its actual time.

    Runs from before a change of level are left out, and those of a trend are predicted from runs
    at their own place of it, as new predictions are.
    names: compare only these profiles; the intervals still use the errors of the others.
    fits: recalls the fits of earlier calibrations.
    on_progress: called before each profile is compared.
    """
    current, changes = current_runs(histories)
    forecaster = Forecaster(current, fits)
    compared: list[ProfileCalibration] = []
    wanted = list(histories if names is None else names)
    for name in wanted:
        on_progress(name, len(compared), len(wanted))
        comparisons = _comparisons(name, forecaster, leave_out, level)
        if isinstance(changes.get(name), Trend):
            comparisons = _as_they_were(comparisons, histories[name])
        used = {one.run_id for one in comparisons}
        compared.append(
            ProfileCalibration(
                name=name,
                comparisons=comparisons,
                passed_over=tuple(run.run_id for run in current[name] if run.run_id not in used),
                outliers=forecaster.outliers(name),
                model=forecaster.model(name),
                recorded=recorded_forecasts(histories[name]),
                change=changes.get(name),
                runs_read=len(histories[name]),
            )
        )
    return Calibration(profiles=tuple(compared), leave_out=leave_out, level=level)


def _comparisons(
    name: str, forecaster: Forecaster, leave_out: LeaveOut, level: float
) -> tuple[RunComparison, ...]:
    runs = forecaster.runs[name]
    forecasts: dict[tuple[RunSetting, frozenset[str]], Forecast] = {}
    found = []
    for one, without in zip(runs, _left_out(runs, leave_out), strict=True):
        key = one.setting, without
        if key not in forecasts:
            forecasts[key] = forecaster.forecast(name, one.setting, without=without, level=level)
        found.append(
            RunComparison(
                profile=name,
                run_id=one.run.run_id,
                setting=one.setting,
                actual_s=one.elapsed_s,
                prediction=forecasts[key].prediction,
                interval=forecasts[key].interval,
            )
        )
    return tuple(found)


def _as_they_were(
    comparisons: Iterable[RunComparison], runs: Sequence[PastRun]
) -> tuple[RunComparison, ...]:
    """Comparisons of runs that were scaled to the end of a trend, in the times of their own day."""
    took_s = {one.run.run_id: one.elapsed_s for one in timed_runs(runs)}
    return tuple(_scaled(one, took_s[one.run_id] / one.actual_s) for one in comparisons)


def _scaled(one: RunComparison, factor: float) -> RunComparison:
    prediction, interval = one.prediction, one.interval
    if isinstance(prediction, Prediction):
        prediction = prediction.scaled(factor)
    if isinstance(interval, PredictionInterval):
        low_s, high_s = interval.low_s * factor, interval.high_s * factor
        interval = replace(interval, low_s=low_s, high_s=high_s)
    return replace(one, actual_s=one.actual_s * factor, prediction=prediction, interval=interval)


def _left_out(runs: Sequence[MeasuredRun], leave_out: LeaveOut) -> list[frozenset[str]]:
    """Return for each run the ids of the runs that its prediction must not use.

    Many units are left out in groups. That is a harder test, so it does not flatter the result.
    """
    if leave_out is LeaveOut.NOTHING:
        return [frozenset()] * len(runs)
    unit_of = by_run if leave_out is LeaveOut.RUN else by_setting
    units = {unit: place for place, unit in enumerate(dict.fromkeys(map(unit_of, runs)))}
    groups = [units[unit_of(one)] % GROUPS_MAX for one in runs]
    members: dict[int, set[str]] = defaultdict(set)
    for group, one in zip(groups, runs, strict=True):
        members[group].add(one.run.run_id)
    frozen = {group: frozenset(ids) for group, ids in members.items()}
    return [frozen[group] for group in groups]
