"""Predictions compared with actual run times: the document, the frame and the chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sluice.estimate.calibration import Accuracy, Calibration, ProfileCalibration, RunComparison
from sluice.estimate.fits import ModelFit
from sluice.estimate.forecast_record import ForecastHistory, forecast_history
from sluice.estimate.prediction import Prediction, Predictor
from sluice.estimate.run_setting import NotEnoughData
from sluice.estimate.uncertainty import PredictionInterval
from sluice.reporting.calibration.chart import calibration_chart
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.prediction.result import change_fields


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationReport(NotebookView):
    """The result of `calibrate`. run_counts: of all runs of each profile, also those not read."""

    calibration: Calibration
    run_counts: Mapping[str, int]

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy over all compared runs."""
        return self.calibration.accuracy

    @property
    def recorded(self) -> ForecastHistory:
        """The accuracy of forecasts that were made before runs, and stored with them."""
        return forecast_history(
            one for profile in self.calibration.profiles for one in profile.recorded
        )

    def document(self) -> dict[str, object]:
        """The one JSON document of `calibrate`. Errors are shares of the actual time."""
        calibration = self.calibration
        return {
            "leave_out": calibration.leave_out.value,
            "level": calibration.level,
            "overall": asdict(calibration.accuracy),
            "recorded": asdict(self.recorded),
            "profiles": {
                profile.name: {"runs_total": self.run_counts[profile.name], **_profile(profile)}
                for profile in calibration.profiles
            },
        }

    def to_frame(self) -> DataFrame:
        """One row for each run. Raises MissingExtra without pandas."""
        rows = [{"profile": one.profile, **_flat(one)} for one in self.calibration.comparisons]
        return data_frame(rows)

    def plot(self) -> Chart:
        """Every run, predicted against actual, with its interval."""
        return calibration_chart(self.document())


def _profile(profile: ProfileCalibration) -> dict[str, object]:
    return {
        **asdict(profile.accuracy),
        "model": _model(profile.model),
        **change_fields(profile.change),
        "recorded": [
            asdict(one) | {"error": one.error, "inside": one.is_inside} for one in profile.recorded
        ],
        "outliers": [asdict(found) for found in profile.outliers],
        "passed_over": list(profile.passed_over),
        "runs": [_flat(one) | {"phases": _phases(one)} for one in profile.comparisons],
    }


def _flat(one: RunComparison) -> dict[str, object]:
    """One run, without its phases."""
    interval = one.interval if isinstance(one.interval, PredictionInterval) else None
    beyond = one.prediction.beyond if isinstance(one.prediction, Prediction) else ()
    return {
        **document_of(one, "id=run_id setting.input_bytes predicted_s"),
        "low_s": interval.low_s if interval else None,
        "high_s": interval.high_s if interval else None,
        **document_of(one, "actual_s error inside=is_inside"),
        "beyond": list(beyond),
        "not_enough": one.interval.why if isinstance(one.interval, NotEnoughData) else None,
    }


def _phases(one: RunComparison) -> list[dict[str, object]]:
    if isinstance(one.prediction, Prediction):
        return [asdict(phase) for phase in one.prediction.phases]
    return [phase._asdict() for phase in one.setting.phases]


def _model(model: Predictor | NotEnoughData) -> dict[str, object]:
    """The chosen models, with their errors and the alternatives."""
    if isinstance(model, NotEnoughData):
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


def _fit(fit: ModelFit[object], name: str) -> dict[str, object]:
    return {"chosen": name, **document_of(fit, "error why alternatives")}
