"""Predictions of jobs: the document, the frame and the chart."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sluice.estimate.job_forecasts import JobForecast
from sluice.estimate.level_changes import Change, LevelChange
from sluice.estimate.trends import Trend
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import data_frame
from sluice.reporting.prediction.chart import predictions_chart

if TYPE_CHECKING:
    from pandas import DataFrame


def change_fields(change: Change | None) -> dict[str, object]:
    """The fields of a change of level and of a trend; None where there is none."""
    return {
        "level_change": asdict(change) if isinstance(change, LevelChange) else None,
        "trend": asdict(change) if isinstance(change, Trend) else None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Rent in dollars for the predicted time and the ends of its interval; None without VMs."""

    low_usd: float | None = None
    expected_usd: float | None = None
    high_usd: float | None = None

    def document(self) -> dict[str, float | None]:
        """As the fields of a job or of a cell of its grid."""
        return {
            "cost_usd": self.expected_usd,
            "cost_low_usd": self.low_usd,
            "cost_high_usd": self.high_usd,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """Prediction with other machines. vm_type, vms: None if only slots were varied."""

    vm_type: str | None
    vms: int | None
    slots: int | None
    predicted_s: float | None
    low_s: float | None
    high_s: float | None
    bill: Bill

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        row = asdict(self)
        del row["bill"]
        return row | self.bill.document()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPrediction:
    """The forecast of a job, and its bill.

    deadline_s: from submission; None without one.  grid: with other machines.
    """

    job_id: str
    forecast: JobForecast
    deadline_s: float | None = None
    bill: Bill = Bill()
    grid: tuple[GridCell, ...] = ()

    @property
    def deadline_probability(self) -> float | None:
        """Probability that the job meets its deadline if it waits for no other job."""
        if self.deadline_s is None:
            return None
        return self.forecast.probability_within(self.deadline_s)

    def document(self) -> dict[str, object]:
        """As plain JSON values, without the id."""
        found = self.forecast
        return {
            "profile": found.profile,
            "slots": found.slots,
            "predicted_s": found.predicted_s,
            "low_s": found.low_s,
            "high_s": found.high_s,
            "level": found.level,
            "overhead_s": found.overhead_s,
            "runs": found.runs,
            **self.bill.document(),
            "deadline_s": self.deadline_s,
            "deadline_probability": self.deadline_probability,
            "why_not": found.why_not,
            "fit": found.fit,
            "notes": list(found.notes),
            **change_fields(found.change),
            "grid": [cell.document() for cell in self.grid],
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PredictionReport(NotebookView):
    """The result of `predict`. notes: about all jobs, such as the source of the prices."""

    jobs: tuple[JobPrediction, ...]
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """The one JSON document of `predict`; absent values are None."""
        return {
            "jobs": {job.job_id: job.document() for job in self.jobs},
            "notes": list(self.notes),
        }

    def to_frame(self) -> DataFrame:
        """One row for each job. Raises MissingExtra without pandas."""
        rows = []
        for job in self.jobs:
            row = {"job": job.job_id, **job.document()}
            for name in ("grid", "notes", "level_change", "trend"):  # not single values
                del row[name]
            rows.append(row)
        return data_frame(rows)

    def plot(self) -> Chart:
        """The predicted time of each job, with its interval; the longest first."""
        return predictions_chart(
            [(job.job_id, job.forecast) for job in self.jobs if job.forecast.predicted_s]
        )

    def __repr__(self) -> str:
        known = sum(job.forecast.predicted_s is not None for job in self.jobs)
        return f"<PredictionReport: {known} of {len(self.jobs)} jobs predicted>"
