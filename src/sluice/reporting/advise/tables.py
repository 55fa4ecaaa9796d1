"""Advice in a sentence, and its tables."""

from __future__ import annotations

import math

from sluice.estimate.paired_difference import PairedDifference
from sluice.reporting.advise.result import Advice, Differences
from sluice.reporting.formatting import NOTHING, count, counted, duration
from sluice.reporting.table_style import Table, plain_table

_SHOWN = ("bill_usd", "deadlines_met", "response_s", "wait_s_p95", "makespan_s", "fairness_worst")
_SHARES = ("load", "peak_load", "deadline_share", "small_share", "reduce_share", "cv", "stragglers",
           "over_commitment", "dag_share")  # fmt: skip
_WORDS = {
    "bill_usd": "bill, $", "deadlines_met": "deadlines met", "response_s": "response, s",
    "slowdown_p95": "slowdown p95", "wait_s_p95": "wait p95, s",
    "adhoc_wait_s_p95": "adhoc wait p95, s", "makespan_s": "makespan, s",
    "fairness_worst": "worst share", "jain": "Jain's index", "idle_share": "idle share",
    "wasted_share": "work thrown away", "refused": "refused jobs",
    "refused_feasible": "refused jobs that could be in time",
    "promises_broken": "promises broken",
}  # fmt: skip
_DIGITS = 3


def measure_words(measure: str) -> str:
    """A measure as people read it."""
    return _WORDS.get(measure, measure)


def advice_sentence(advice: Advice) -> str:
    """Return what to run, and what it gains over *fair*."""
    days = _days(advice)
    if advice.keeps_running:
        return (
            f"Keep {advice.scheduler}: of {len(advice.tried)} combinations none is better than"
            f" today's scheduler ({measure_words(advice.objective)}) on {days}."
        )
    if advice.abstained:
        return (
            f"Run fair: of {len(advice.tried)} combinations none is clearly better"
            f" ({measure_words(advice.objective)}) on {days}."
        )
    gain, base = advice.difference.get(advice.objective), advice.base.get(advice.objective)
    if gain is None or base is None:
        return f"Run {advice.scheduler}: it keeps to the bounds, and fair does not, on {days}."
    return (
        f"Run {advice.scheduler}: against fair, {measure_words(advice.objective)}"
        f" {_number(base)} becomes {_number(base + gain.mean)} ({_interval(gain)}), on {days}."
    )


def _days(advice: Advice) -> str:
    """The days that were simulated, and where they come from."""
    shown = advice.known_days >= advice.days > 1
    days = counted(advice.days, "day")
    if advice.known_days > 1 or advice.day_hours >= 23.5:  # noqa: PLR2004  # a whole day, about
        return f"{days} of this history" if shown else f"{days} drawn from this history"
    length = duration(3600 * advice.day_hours)
    return f"{days} of {length} drawn from this history"


def difference_table(advice: Advice) -> Table:
    """The choice against *fair* and the scheduler of today, and what its parts add: by measure."""
    columns: dict[str, Differences] = {}
    if advice.difference:
        columns["against fair"] = advice.difference
    if advice.running is not None and advice.running.difference:
        columns["against today's"] = advice.running.difference
    columns |= {part.part: part.adds for part in advice.parts}
    known = [name for name in _SHOWN if any(name in found for found in columns.values())]
    if advice.objective not in known:
        known.insert(0, advice.objective)
    return plain_table(
        "mean ± half a 95 % interval; * excludes 0; a part's column is what it adds to the others",
        names=("",),
        numbers=list(columns),
        rows=(
            (measure_words(name), *(_interval(found.get(name)) for found in columns.values()))
            for name in known
        ),
    )


def features_line(advice: Advice) -> str:
    """The history in one line."""
    found = advice.features
    jobs, tasks = int(found["jobs"] or 0), int(found["tasks"] or 0)
    words = [counted(jobs, "job"), counted(tasks, "task"), duration(3600 * (found["hours"] or 0.0))]
    for name in _SHARES:
        value = found[name]
        if value:
            words.append(f"{name.replace('_', ' ')} {value:.2g}")
    if found["tightness"]:
        words.append(f"deadlines {found['tightness']:.1f} times the time alone")
    return f"The history: {', '.join(words)}; {counted(int(found['tenants'] or 0), 'tenant')}."


def _interval(one: PairedDifference | None) -> str:
    if one is None:
        return NOTHING
    star = " *" if one.is_clear else ""
    sign = "+" if one.mean >= 0 else "-"
    mean = f"{sign}{_number(abs(one.mean))}"
    if one.high is None:
        return f"{mean}{star}"
    return f"{mean} ± {_number(one.high - one.mean)}{star}"


def _number(value: float) -> str:
    """Three digits at most, without an exponent.

    >>> _number(1234.5), _number(36.24), _number(0.6541), _number(0)
    ('1,234', '36.2', '0.65', '0')
    """
    if not value:
        return "0"
    whole = math.floor(math.log10(abs(value))) + 1
    decimals = max(0, min(2, _DIGITS - whole))
    return f"{value:,.{decimals}f}" if decimals else count(round(value))
