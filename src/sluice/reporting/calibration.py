"""Predictions held against what happened: the document, the frame and the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sluice.estimate.calibration import Accuracy, Calibration, Comparison, ProfileCalibration
from sluice.estimate.fits import Fit
from sluice.estimate.prediction import Prediction, Predictor
from sluice.estimate.setting import NotEnough, Setting
from sluice.estimate.uncertainty import Interval
from sluice.reporting.charts.calibration import calibration_chart
from sluice.reporting.charts.chart import Chart
from sluice.reporting.extras import required
from sluice.reporting.formatting import NOTHING, count, duration_tight, share, size
from sluice.reporting.table_style import name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import RenderableType
    from rich.table import Table

_RUNS_MAX = 60
_OUTLIERS_MAX = 5


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """What `calibrate` found."""

    calibration: Calibration

    @property
    def accuracy(self) -> Accuracy:
        """Over all runs that were compared."""
        return self.calibration.accuracy

    def document(self) -> dict[str, object]:
        """The one JSON document of `calibrate`. Errors are shares of the actual time."""
        calibration = self.calibration
        return {
            "leave_out": calibration.leave_out.value,
            "level": calibration.level,
            "overall": asdict(calibration.accuracy),
            "profiles": {profile.name: _profile(profile) for profile in calibration.profiles},
        }

    def to_frame(self) -> DataFrame:
        """One row for each run. Raises MissingExtra without pandas."""
        pandas = required("pandas", extra="frame", what="a data frame")
        rows = [{"profile": one.profile, **_flat(one)} for one in self.calibration.comparisons]
        frame: DataFrame = pandas.DataFrame(rows)
        return frame

    def plot(self) -> Chart:
        """Every run, predicted against actual, with its interval."""
        return calibration_chart(self.calibration)


# --- document -------------------------------------------------------------------------------------


def _profile(profile: ProfileCalibration) -> dict[str, object]:
    return {
        **asdict(profile.accuracy),
        "model": _model(profile.model),
        "outliers": [asdict(found) for found in profile.outliers],
        "passed_over": list(profile.passed_over),
        "runs": [_flat(one) | {"phases": _phases(one)} for one in profile.comparisons],
    }


def _flat(one: Comparison) -> dict[str, object]:
    """One run without what is nested in it."""
    told = one.interval if isinstance(one.interval, Interval) else None
    beyond = one.prediction.beyond if isinstance(one.prediction, Prediction) else ()
    return {
        "id": one.run_id,
        "input_bytes": one.setting.input_bytes,
        "predicted_s": one.predicted_s,
        "low_s": told.low_s if told else None,
        "high_s": told.high_s if told else None,
        "actual_s": one.actual_s,
        "error": one.error,
        "inside": one.is_inside,
        "beyond": list(beyond),
        "not_enough": one.interval.why if isinstance(one.interval, NotEnough) else None,
    }


def _phases(one: Comparison) -> list[dict[str, object]]:
    if isinstance(one.prediction, Prediction):
        return [asdict(phase) for phase in one.prediction.phases]
    return [phase._asdict() for phase in one.setting.phases]


def _model(model: Predictor | NotEnough) -> dict[str, object]:
    """Which models were chosen, and by what error of how many."""
    if isinstance(model, NotEnough):
        return {"not_enough": model.why}
    return {
        "runs": model.runs,
        "settings": len(model.settings),
        "left_aside": list(model.left_aside),
        "phases": {
            phase.name: {"average": _fit(phase.average, phase.average.model.name)}
            for phase in model.phases
        },
        "overhead": _fit(model.overhead, model.overhead.model.name),
    }


def _fit(fit: Fit[object], name: str) -> dict[str, object]:
    return {
        "chosen": name,
        "error": fit.error,
        "why": fit.why,
        "alternatives": dict(fit.alternatives),
    }


# --- tables ---------------------------------------------------------------------------------------


def views(report: CalibrationReport) -> Iterator[RenderableType]:
    """A row for each profile and one for all; then what is to be said of single runs."""
    calibration = report.calibration
    yield _profiles_table(calibration)
    yield from map(plain_text, _remarks(calibration))


def profile_views(report: CalibrationReport) -> Iterator[RenderableType]:
    """One profile: the models chosen for it, and each run, predicted and actual."""
    calibration = report.calibration
    (profile,) = calibration.profiles
    yield plain_text(_told_of_model(profile.model))
    yield _runs_table(profile, calibration.level)
    yield from views(report)


def _profiles_table(calibration: Calibration) -> Table:
    level = f"{calibration.level * 100:g} % interval"
    table = plain_table(_caption(calibration))
    table.add_column("profile", no_wrap=True)
    for head in ("runs", "error, median", "mean", "bias", f"in {level}"):
        table.add_column(head, justify="right", no_wrap=True)
    for profile in calibration.profiles:
        table.add_row(name_cell(profile.name, ""), *_accuracy_cells(profile.accuracy))
    if len(calibration.profiles) > 1:
        table.add_section()
        table.add_row("all", *_accuracy_cells(calibration.accuracy))
    return table


def _caption(calibration: Calibration) -> str:
    told = {
        "run": "Each run predicted from the others of its profile.",
        "setting": "Each run predicted from those at other settings of its profile.",
        "nothing": "Each run predicted from all, itself too: this flatters.",
    }[calibration.leave_out.value]
    return f"{told} Bias above 0: predicted too long."


def _accuracy_cells(accuracy: Accuracy) -> list[str]:
    inside = NOTHING
    if accuracy.coverage is not None:
        inside = f"{share(accuracy.coverage)} of {accuracy.intervals}"
    return [
        count(accuracy.compared),
        share(accuracy.error_median),
        share(accuracy.error_mean),
        signed(accuracy.bias),
        inside,
    ]


def signed(part: float | None) -> str:
    """A share with its sign.

    >>> signed(0.034), signed(-0.2), signed(-0.001), signed(None)
    ('+3 %', '-20 %', '+0 %', '–')
    """
    # Adding 0 takes the sign from a zero that was rounded to.
    return NOTHING if part is None else f"{round(part, 2) + 0.0:+.0%}".replace("%", " %")


def _remarks(calibration: Calibration) -> Iterator[str]:
    for profile in calibration.profiles:
        name = profile.name
        for found in profile.outliers[:_OUTLIERS_MAX]:
            yield f"{name}: unlike the others: {found.text()}"
        if len(profile.outliers) > _OUTLIERS_MAX:
            yield f"{name}: and {count(len(profile.outliers) - _OUTLIERS_MAX)} more"
        if profile.passed_over:
            yield (
                f"{name}: {count(len(profile.passed_over))} runs passed over, which failed, tell no"
                " time, or had other phases or commands"
            )
        reasons = {str(one.interval) for one in profile.comparisons if one.is_inside is None}
        yield from (f"{name}: {reason}" for reason in sorted(reasons)[:1])


def _runs_table(profile: ProfileCalibration, level: float) -> Table:
    shown = profile.comparisons[-_RUNS_MAX:]
    hidden = len(profile.comparisons) - len(shown)
    table = plain_table(f"the last {len(shown)} of {count(len(shown) + hidden)}" if hidden else "")
    table.add_column("run", no_wrap=True)
    table.add_column("slots", no_wrap=True)
    for head in ("input", "predicted", f"{level * 100:g} % interval", "actual", "error"):
        table.add_column(head, justify="right", no_wrap=True)
    for one in shown:
        table.add_row(
            name_cell(one.run_id, ""),
            _slots(one.setting),
            size(one.setting.input_bytes).replace(" ", ""),
            duration_tight(one.predicted_s),
            _span(one),
            duration_tight(one.actual_s),
            signed(one.error) + ("" if one.is_inside in {True, None} else " !"),
        )
    return table


def _slots(setting: Setting) -> str:
    counts = [phase.slots for phase in setting.phases]
    return str(counts[0]) if len(set(counts)) == 1 else "+".join(map(str, counts))


def _span(one: Comparison) -> str:
    if not isinstance(one.interval, Interval):
        return NOTHING
    return f"{duration_tight(one.interval.low_s)}–{duration_tight(one.interval.high_s)}"


def _told_of_model(model: Predictor | NotEnough) -> str:
    if isinstance(model, NotEnough):
        return str(model)
    told = [f"{phase.name}: {phase.average.model.name}" for phase in model.phases]
    runs = f"{count(model.runs)} runs at {count(len(model.settings))} settings"
    return f"{runs}; {'; '.join(told)}; overhead: {model.overhead.model.name}"
