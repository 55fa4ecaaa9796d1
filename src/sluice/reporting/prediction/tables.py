"""Tables of predictions, for 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sluice.estimate.level_changes import Change
from sluice.estimate.trends import Trend
from sluice.reporting.formatting import NOTHING, count, counted, duration_tight, money, share
from sluice.reporting.prediction.result import Bill, GridCell, JobPrediction, PredictionReport
from sluice.reporting.table_style import left_out, name_cell, plain_table, plain_text

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
    shown = report.jobs[:JOBS_MAX]
    has_cost = any(job.bill.expected_usd is not None for job in shown)
    has_deadline = any(job.deadline_s is not None for job in shown)
    level = f"{shown[0].forecast.level * 100:g} % interval" if shown else "interval"
    has_range = any(job.bill.high_usd is not None for job in shown)
    # With a bill and its interval there is no room for the part of the time outside tasks.
    heads = ["slots", "predicted", level, *(() if has_range else ("overhead",)), "runs"]
    heads += ["cost"] if has_cost else []
    heads += ["cost interval"] if has_range else []
    heads += ["deadline", "met"] if has_deadline else []
    table = plain_table(left_out(len(report.jobs) - len(shown)), names=("job",), numbers=heads)
    for job in shown:
        found = job.forecast
        cells = [
            NOTHING if found.slots is None else count(found.slots),
            duration_tight(found.predicted_s),
            _span(found.low_s, found.high_s),
            *(() if has_range else (duration_tight(found.overhead_s),)),
            count(found.runs),
        ]
        cells += [money(job.bill.expected_usd)] if has_cost else []
        cells += [_money_span(job.bill)] if has_range else []
        if has_deadline:
            cells += [duration_tight(job.deadline_s), share(job.deadline_probability)]
        table.add_row(name_cell(job.job_id), *cells)
    return table


def _span(low_s: float | None, high_s: float | None) -> str:
    if low_s is None or high_s is None:
        return NOTHING
    return f"{duration_tight(low_s)}–{duration_tight(high_s)}"


def _money_span(bill: Bill) -> str:
    if bill.low_usd is None or bill.high_usd is None:
        return NOTHING
    return f"{money(bill.low_usd)}–{money(bill.high_usd)}"


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
    has_vms = any(cell.vms is not None for cell in grid)
    has_range = any(cell.bill.high_usd is not None for cell in grid)
    table = plain_table("")
    heads = ["slots", "predicted", "interval"]
    if has_vms:
        table.add_column("VM type", no_wrap=True)
        heads = ["VMs", *heads, "cost", *(["cost interval"] if has_range else [])]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for cell in grid:
        cells = [
            NOTHING if cell.slots is None else count(cell.slots),
            duration_tight(cell.predicted_s),
            _span(cell.low_s, cell.high_s),
        ]
        if has_vms:
            vms = NOTHING if cell.vms is None else count(cell.vms)
            cells = [vms, *cells, money(cell.bill.expected_usd)]
            cells += [_money_span(cell.bill)] if has_range else []
            table.add_row(name_cell(cell.vm_type or NOTHING), *cells)
        else:
            table.add_row(*cells)
    return table


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
        more = f" and {count(len(names) - 3)} more" if len(names) > 3 else ""  # noqa: PLR2004  # names shown
        yield plain_text(f"{', '.join(names[:3])}{more}: {reason}")
