"""The answers of `eta` and `quote` in a sentence, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sluice.reporting.columns import Column, column_table
from sluice.reporting.eta.quote import CounterOffer, Quote
from sluice.reporting.eta.result import EtaReport
from sluice.reporting.formatting import counted, duration, duration_tight

if TYPE_CHECKING:
    from rich.table import Table

JOBS_MAX = 50


def eta_sentence(report: EtaReport) -> str:
    """How many jobs wait, and when the first starts and the last ends."""
    waiting = report.waiting
    if not waiting:
        running = counted(len(report.jobs), "job")
        return f"No job waits; {running} {'runs' if len(report.jobs) == 1 else 'run'}."
    starts_s = [one.starts_in_s.expected for one in waiting if one.starts_in_s.expected is not None]
    ends_s = [one.ends_in_s.expected for one in waiting if one.ends_in_s.expected is not None]
    verb = "waits" if len(waiting) == 1 else "wait"
    head = f"{counted(len(waiting), 'job')} {verb}"
    if not starts_s or not ends_s:
        starts = "it starts" if len(waiting) == 1 else "they start"
        return f"{head}, and nothing is known of when {starts}."
    unknown = len(waiting) - len(ends_s)
    more = f" No end is known of {counted(unknown, 'job')}." if unknown else ""
    last = "the last known end is" if unknown else "the last ends"
    return (
        f"{head}: the first starts in {duration(min(starts_s))}, and {last} in"
        f" {duration(max(ends_s))}.{more}"
    )


def eta_table(report: EtaReport) -> Table:
    """One row for each job that waits, the first in line first."""
    return column_table(report.columns(), report.waiting, rows_max=JOBS_MAX)


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


def _help(offer: CounterOffer) -> str:
    _, value = offer.change
    return _CHANGES[offer.kind].format(value=duration(value), count=counted(round(value), "slot"))


_OFFERS: Sequence[Column[CounterOffer]] = (
    Column("", "what would help", of=_help, is_left=True),
    Column("ends_in_s", "ends in", duration_tight),
    Column("deadline_probability", "deadline", "{:.0%}".format),
    Column("more_usd", "costs", lambda usd: f"${usd:.2f}" if usd else "nothing"),
)


def offers_table(quote: Quote) -> Table:
    """Return what would help, the cheapest first."""
    return column_table(_OFFERS, quote.offers)
