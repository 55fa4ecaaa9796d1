"""Tables of predictions, for 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sluice.estimate.level_changes import Change
from sluice.estimate.trends import Trend
from sluice.reporting.columns import column_table
from sluice.reporting.formatting import counted, listed
from sluice.reporting.prediction.result import (
    GRID_COLUMNS,
    JOB_COLUMNS,
    GridCell,
    JobPrediction,
    PredictionReport,
)
from sluice.reporting.table_style import plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

JOBS_MAX = 60
_REASONS_MAX = 8
_TIMES_MIN = 2.5  # from here on a ratio reads better than a percentage


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


def change_text(change: Change) -> str:
    """A change of level, or a trend, in one sentence.

    >>> from sluice.estimate.level_changes import LevelChange
    >>> change_text(LevelChange(run_id="r", since_at_s=1.762e9, ratio=1.4, runs_before=6))
    'since 1 Nov 2025 it takes 40 % longer; the 6 runs before are left out'
    >>> change_text(Trend(run_id="r", since_at_s=1.762e9, ratio=1.021, runs=14, runs_before=0))
    'since 1 Nov 2025 each run takes 2.1 % longer than the one before; this is assumed to go on'
    """
    since = f"run {change.run_id}"
    if change.since_at_s is not None:
        day = datetime.fromtimestamp(change.since_at_s, UTC)
        since = f"{day.day} {day:%b %Y}"
    left = f"the {counted(change.runs_before, 'run')} before are left out"
    if isinstance(change, Trend):
        percent = f"{abs(change.ratio - 1) * 100:.1f} %"
        how = f"{percent} longer" if change.ratio > 1 else f"{percent} less time"
        text = f"since {since} each run takes {how} than the one before; this is assumed to go on"
        return f"{text}; {left}" if change.runs_before else text
    percent = f"{abs(change.ratio - 1) * 100:.0f} %"
    how = f"{percent} longer" if change.ratio > 1 else f"{percent} less time"
    if change.ratio >= _TIMES_MIN:
        how = f"{change.ratio:.1f} times as long"
    return f"since {since} it takes {how}; {left}"


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
