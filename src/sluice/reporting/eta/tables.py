"""The answers of `eta` and `quote` in a sentence, and their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.reporting.eta.quote import Quote
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


_CHANGES = {
    "later_deadline": "a deadline {value} after submission",
    "shorter_limit": "a limit of {value}",
    "fewer_slots": "{count}, for longer",
    "more_vms": "{count} more in the cluster",
}


def quote_sentence(quote: Quote) -> str:
    """The decision, the end with its interval, the cost and the deadline."""
    job = quote.job
    if quote.decision == "refused":
        return f"{job.job_id} is refused: {quote.why_not}."
    if job.ends_in_s.expected is None:
        return f"{job.job_id} is accepted, and nothing is known of its end: {quote.why_not}."
    ends = f"ends in {duration(job.ends_in_s.expected)}"
    if job.ends_in_s.low is not None and job.ends_in_s.high is not None:
        low, high = duration(job.ends_in_s.low), duration(job.ends_in_s.high)
        ends += f" ({quote.level:.0%}: {low} to {high})"
    else:
        ends = f"ends in {duration(job.ends_in_s.expected)} at the latest"
    starts_s = job.starts_in_s.expected or 0.0
    parts = [f"{job.job_id} starts in {duration(starts_s)} and {ends}"]
    if quote.cost_usd is not None and quote.cost_usd.expected is not None:
        parts.append(f"costs ${quote.cost_usd.expected:.2f}")
    if quote.deadline_probability is not None:
        parts.append(f"meets its deadline with {quote.deadline_probability:.0%}")
    return f"{', '.join(parts)}."


def offers_table(quote: Quote) -> Table:
    """Return what would help, the cheapest first."""
    table = plain_table("", names=("what would help",), numbers=("ends in", "deadline", "costs"))
    for offer in quote.offers:
        _, value = offer.change
        text = _CHANGES[offer.kind].format(
            value=duration(value), count=counted(round(value), "slot")
        )
        chance, more = offer.deadline_probability, offer.more_usd
        table.add_row(
            plain_text(text),
            duration_tight(offer.ends_in_s),
            NOTHING if chance is None else f"{chance:.0%}",
            NOTHING if more is None else "nothing" if not more else f"${more:.2f}",
        )
    return table
