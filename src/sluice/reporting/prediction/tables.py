"""Tables of predictions, for 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sluice.reporting.columns import column_table
from sluice.reporting.formatting import counted, listed
from sluice.reporting.prediction.level_changes import change_text
from sluice.reporting.prediction.result import (
    GRID_COLUMNS,
    JOB_COLUMNS,
    GridCell,
    JobPrediction,
    PredictionReport,
)
from sluice.reporting.table_style import RenderableType, Table, plain_text

JOBS_MAX = 60
_REASONS_MAX = 8


def views(report: PredictionReport) -> Iterator[RenderableType]:
    """All jobs in one table; a job alone with what it rests on and with other machines."""
    yield _jobs_table(report)
    if len(report.jobs) == 1:
        (job,) = report.jobs
        yield from _basis(job)
        if job.grid:
            yield grid_table(job.grid)
    else:
        yield from _remarks(report)
    for note in report.notes:
        yield plain_text(note)


def _jobs_table(report: PredictionReport) -> Table:
    columns = list(JOB_COLUMNS)
    if report.jobs:
        level = f"{report.jobs[0].forecast.level * 100:g} % interval"
        columns = [replace(one, head=level) if one.head == "interval" else one for one in columns]
    jobs = {job.job_id: job for job in report.jobs}
    return column_table(columns, jobs, key="job", rows_max=JOBS_MAX)


def _basis(job: JobPrediction) -> Iterator[RenderableType]:
    found = job.forecast
    if found.fit is not None:
        yield plain_text(f"Based on {counted(found.runs, 'run')}; {found.fit}")
    if found.change is not None:
        yield plain_text(change_text(found.change))
    for note in found.notes:
        yield plain_text(f"note: {note}")
    if found.why_not is not None:
        yield plain_text(found.why_not)


def grid_table(grid: tuple[GridCell, ...]) -> Table:
    """The job with other machines."""
    return column_table(GRID_COLUMNS, grid)


def _remarks(report: PredictionReport) -> Iterator[RenderableType]:
    """Changes of level, and why jobs have no time or no interval: one line for each reason."""
    for job in report.jobs:
        if job.forecast.change is not None:
            yield plain_text(f"{job.job_id}: {change_text(job.forecast.change)}")
    reasons: dict[str, list[str]] = {}
    for job in report.jobs:
        if job.forecast.why_not is not None:
            reasons.setdefault(job.forecast.why_not, []).append(job.job_id)
    for reason, names in list(reasons.items())[:_REASONS_MAX]:
        yield plain_text(f"{listed(names)}: {reason}")
