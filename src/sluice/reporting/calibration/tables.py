"""Tables of a calibration: one row for each profile, or for each run of one profile."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.estimate.calibration import Accuracy, Calibration, ProfileCalibration, RunComparison
from sluice.estimate.prediction import Predictor
from sluice.estimate.run_setting import NotEnoughData, RunSetting
from sluice.estimate.uncertainty import PredictionInterval
from sluice.reporting.calibration.result import CalibrationReport
from sluice.reporting.formatting import NOTHING, count, counted, duration_tight, share, signed, size
from sluice.reporting.prediction.level_changes import change_text
from sluice.reporting.table_style import RenderableType, Table, name_cell, plain_table, plain_text

_RUNS_MAX = 60
_OUTLIERS_MAX = 5
_NAMES_MAX = 3


def views(report: CalibrationReport) -> Iterator[RenderableType]:
    """A row for each profile and one for all, then remarks on single runs."""
    calibration = report.calibration
    yield _profiles_table(calibration)
    yield from map(plain_text, _recorded(report))
    yield from map(plain_text, _remarks(calibration))
    yield from map(plain_text, _not_read(report))


def _recorded(report: CalibrationReport) -> Iterator[str]:
    """How good the forecasts were that users saw before the runs."""
    history = report.recorded
    if history.runs:
        inside = ""
        if history.coverage is not None:
            intervals = counted(history.intervals, "interval")
            inside = f", {share(history.coverage)} of {intervals} held"
        yield (
            f"forecast before they ran: {counted(history.runs, 'run')}, median error"
            f" {share(history.error_median)}, bias {signed(history.bias)}{inside}"
        )


def _not_read(report: CalibrationReport) -> Iterator[str]:
    """How many older runs were not read."""
    read = {each.name: each.runs_read for each in report.calibration.profiles}
    limited = [name for name, runs in read.items() if runs < report.run_counts[name]]
    if limited:
        newest = max(read[name] for name in limited)
        stored = sum(report.run_counts[name] for name in read)
        yield (
            f"read: the newest {counted(newest, 'run')} of each profile, of"
            f" {counted(stored, 'stored run')} in all; --newest N reads more"
        )
    if 1 < len(read) < len(report.run_counts):
        yield (
            f"compared: the {count(len(read))} profiles with most runs, of"
            f" {count(len(report.run_counts))};"
            " name another profile to see it"
        )


def profile_views(report: CalibrationReport) -> Iterator[RenderableType]:
    """One profile: its models, and each run with its predicted and actual time."""
    calibration = report.calibration
    (profile,) = calibration.profiles
    yield plain_text(_model_text(profile.model))
    yield _runs_table(profile, calibration.level)
    yield from views(report)


def _profiles_table(calibration: Calibration) -> Table:
    level = f"{calibration.level * 100:g} % interval"
    table = plain_table(
        _caption(calibration),
        names=("profile",),
        numbers=("runs", "error, median", "mean", "bias", f"in {level}"),
    )
    for profile in calibration.profiles:
        table.add_row(name_cell(profile.name, ""), *_accuracy_cells(profile.accuracy))
    if len(calibration.profiles) > 1:
        table.add_section()
        table.add_row("all", *_accuracy_cells(calibration.accuracy))
    return table


def _caption(calibration: Calibration) -> str:
    method = {
        "run": "Each run is predicted from the other runs of its profile.",
        "setting": "Each run is predicted from runs at other settings of its profile.",
        "nothing": "Each run is predicted from all runs, itself included: this is too optimistic.",
    }[calibration.leave_out.value]
    return f"{method} Bias above 0: predicted too long."


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


def _remarks(calibration: Calibration) -> Iterator[str]:
    for profile in calibration.profiles:
        name = profile.name
        if profile.change is not None:
            yield f"{name}: {change_text(profile.change)}"
        for found in profile.outliers[:_OUTLIERS_MAX]:
            yield f"{name}: outlier, not used by plans: {found.text()}"
        if len(profile.outliers) > _OUTLIERS_MAX:
            yield f"{name}: and {count(len(profile.outliers) - _OUTLIERS_MAX)} more"
        if profile.passed_over:
            yield (
                f"{name}: {counted(len(profile.passed_over), 'run')} skipped (failed, no timing, or"
                " different stages or commands)"
            )
    yield from _reasons(calibration)


def _reasons(calibration: Calibration) -> Iterator[str]:
    """Why runs have no prediction or interval: one line for each reason, with its profiles."""
    names: dict[str, list[str]] = {}
    for profile in calibration.profiles:
        reasons = {str(one.interval) for one in profile.comparisons if one.is_inside is None}
        for reason in sorted(reasons)[:1]:
            names.setdefault(reason, []).append(profile.name)
    for reason, here in names.items():
        more = len(here) - _NAMES_MAX
        shown = ", ".join(here[:_NAMES_MAX]) + (f" and {count(more)} more" if more > 0 else "")
        yield f"{shown}: {reason}"


def _runs_table(profile: ProfileCalibration, level: float) -> Table:
    shown = profile.comparisons[-_RUNS_MAX:]
    hidden = len(profile.comparisons) - len(shown)
    return plain_table(
        f"the last {len(shown)} of {count(len(shown) + hidden)}" if hidden else "",
        names=("run", "slots"),
        numbers=("input", "predicted", f"{level * 100:g} % interval", "actual", "error"),
        rows=(
            (
                name_cell(one.run_id, ""),
                _slots(one.setting),
                size(one.setting.input_bytes).replace(" ", ""),
                duration_tight(one.predicted_s),
                _span(one),
                duration_tight(one.actual_s),
                signed(one.error) + ("" if one.is_inside in {True, None} else " !"),
            )
            for one in shown
        ),
    )


def _slots(setting: RunSetting) -> str:
    counts = [phase.slots for phase in setting.phases]
    return str(counts[0]) if len(set(counts)) == 1 else "+".join(map(str, counts))


def _span(one: RunComparison) -> str:
    if not isinstance(one.interval, PredictionInterval):
        return NOTHING
    return f"{duration_tight(one.interval.low_s)}–{duration_tight(one.interval.high_s)}"


def _model_text(model: Predictor | NotEnoughData) -> str:
    if isinstance(model, NotEnoughData):
        return str(model)
    phases = [f"{phase.name}: {phase.average.model.name}" for phase in model.phases]
    runs = f"{counted(model.runs, 'run')} at {counted(len(model.settings), 'setting')}"
    return f"{runs}; {'; '.join(phases)}; overhead: {model.overhead.model.name}"
