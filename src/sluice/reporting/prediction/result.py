"""Predictions of jobs: the document, the frame and the chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sluice.estimate.job_forecasts import JobForecast
from sluice.estimate.level_changes import Change, LevelChange
from sluice.estimate.trends import Trend
from sluice.reporting.charts.chart import Chart
from sluice.reporting.columns import Column, any_of, column_document, column_frame
from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import count, duration_tight, money, share
from sluice.reporting.prediction.chart import predictions_chart
from sluice.reporting.table_style import name_cell

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

    @property
    def interval(self) -> str | None:
        """The rent at the ends of the interval, for tables."""
        if self.low_usd is None or self.high_usd is None:
            return None
        return f"{money(self.low_usd)}–{money(self.high_usd)}"


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
        """Return the fields as plain JSON values, without the id."""
        return {
            **column_document(JOB_COLUMNS, self),
            "notes": list(self.forecast.notes),
            **change_fields(self.forecast.change),
            "grid": [column_document(GRID_COLUMNS, cell) for cell in self.grid],
        }


def _time_interval(one: GridCell | JobForecast) -> str | None:
    if one.low_s is None or one.high_s is None:
        return None
    return f"{duration_tight(one.low_s)}–{duration_tight(one.high_s)}"


_HAS_RANGE = any_of("bill.high_usd")
JOB_COLUMNS: Sequence[Column[JobPrediction]] = (
    Column("profile", of=lambda job: job.forecast.profile),
    Column("slots", "slots", count, lambda job: job.forecast.slots),
    Column("predicted_s", "predicted", duration_tight, lambda job: job.forecast.predicted_s),
    Column("low_s", of=lambda job: job.forecast.low_s),
    Column("high_s", of=lambda job: job.forecast.high_s),
    Column("level", of=lambda job: job.forecast.level),
    Column("", "interval", of=lambda job: _time_interval(job.forecast)),
    # With a bill and its interval a table has no room for the part of the time outside tasks.
    Column(
        "overhead_s", "overhead", duration_tight, lambda job: job.forecast.overhead_s,
        is_shown=lambda jobs: not _HAS_RANGE(jobs),
    ),
    Column("runs", "runs", count, lambda job: job.forecast.runs),
    Column(
        "cost_usd", "cost", money, lambda job: job.bill.expected_usd,
        is_shown=any_of("bill.expected_usd"),
    ),
    Column("cost_low_usd", of=lambda job: job.bill.low_usd),
    Column("cost_high_usd", of=lambda job: job.bill.high_usd),
    Column("", "cost interval", of=lambda job: job.bill.interval, is_shown=_HAS_RANGE),
    Column("deadline_s", "deadline", duration_tight, is_shown=any_of("deadline_s")),
    Column("deadline_probability", "met", share, is_shown=any_of("deadline_s")),
    Column("why_not", of=lambda job: job.forecast.why_not),
    Column("fit", of=lambda job: job.forecast.fit),
)  # fmt: skip
_HAS_VMS = any_of("vms")
GRID_COLUMNS: Sequence[Column[GridCell]] = (
    Column("vm_type", "VM type", name_cell, is_shown=_HAS_VMS, is_left=True),
    Column("vms", "VMs", count, is_shown=_HAS_VMS),
    Column("slots", "slots", count),
    Column("predicted_s", "predicted", duration_tight),
    Column("low_s"),
    Column("high_s"),
    Column("", "interval", of=_time_interval),
    Column("cost_usd", "cost", money, lambda cell: cell.bill.expected_usd, is_shown=_HAS_VMS),
    Column("cost_low_usd", of=lambda cell: cell.bill.low_usd),
    Column("cost_high_usd", of=lambda cell: cell.bill.high_usd),
    Column("", "cost interval", of=lambda cell: cell.bill.interval, is_shown=_HAS_RANGE),
)


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
        job: Column[JobPrediction] = Column("job", of=lambda job: job.job_id)
        return column_frame((job, *JOB_COLUMNS), self.jobs)

    def plot(self) -> Chart:
        """The predicted time of each job, with its interval; the longest first."""
        return predictions_chart(
            [(job.job_id, job.forecast) for job in self.jobs if job.forecast.predicted_s]
        )

    def __repr__(self) -> str:
        known = sum(job.forecast.predicted_s is not None for job in self.jobs)
        return f"<PredictionReport: {known} of {len(self.jobs)} jobs predicted>"
