"""The answer of `eta` in a sentence, and a row for each job that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.reporting.eta.result import EtaReport, JobEta, When
from sluice.reporting.formatting import NOTHING, counted, duration, duration_tight, shortened
from sluice.reporting.table_style import NAME_LETTERS_MAX, left_out, plain_table, plain_text

if TYPE_CHECKING:
    from rich.table import Table

JOBS_MAX = 50


def eta_sentence(report: EtaReport) -> str:
    """How many jobs wait, and when the first starts and the last ends."""
    waiting = report.waiting
    if not waiting:
        return f"No job waits; {counted(len(report.jobs), 'job')} run."
    starts = [one.starts_in_s.expected for one in waiting if one.starts_in_s.expected is not None]
    ends = [one.ends_in_s.expected for one in waiting if one.ends_in_s.expected is not None]
    verb = "waits" if len(waiting) == 1 else "wait"
    head = f"{counted(len(waiting), 'job')} {verb}"
    if not starts or not ends:
        return f"{head}, and nothing is known of when they start."
    return (
        f"{head}: the first starts in {duration(min(starts))}, and the last ends in"
        f" {duration(max(ends))}."
    )


def eta_table(report: EtaReport) -> Table:
    """One row for each job that waits, the first in line first."""
    shown = report.waiting[:JOBS_MAX]
    level = f"{report.level:.0%}"
    table = plain_table(
        left_out(len(report.waiting) - len(shown)),
        names=("job",),
        numbers=("slots", "starts in", "ends in", f"ends, {level}"),
    )
    for job in shown:
        table.add_row(
            plain_text(shortened(job.job_id, NAME_LETTERS_MAX), "bold"),
            str(job.slots),
            _expected(job.starts_in_s),
            _expected(job.ends_in_s),
            _interval(job),
        )
    return table


def _expected(when: When) -> str:
    return NOTHING if when.expected is None else duration_tight(when.expected)


def _interval(job: JobEta) -> str:
    low, high = job.ends_in_s.low, job.ends_in_s.high
    if high is None:
        return NOTHING
    if low is None:
        return f"at most {duration_tight(high)}"
    return f"{duration_tight(low)} - {duration_tight(high)}"
