"""The tables of `compare`: figures of each scheduler, waits, differences to the first, and pools.

A star marks a figure only where the interval of its difference to the first scheduler excludes 0,
and the two figures do not read the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sluice.reporting.compare.result import ComparedScheduler, MeasureSpread, SchedulerComparison
from sluice.reporting.formatting import (
    NOTHING,
    count,
    duration,
    duration_tight,
    hundredths,
    listed,
    money,
    shortened,
    tenths,
)
from sluice.reporting.table_style import Table, Text, left_out, name_cell, plain_table, plain_text

_POOL_ROWS_MAX = 24
_HEAD_LETTERS = 30


def comparison_sentence(comparison: SchedulerComparison) -> str:
    """The answer in one sentence: which scheduler is best by deadlines, response and makespan."""
    first, *others = comparison.rows
    if not others:
        makespan = _text(first.spreads.get("makespan_s"), duration)
        return f"Under {first.scheduler} the jobs are done after {makespan}."
    measures = ((_MEASURES[2], "most deadlines met"), (_MEASURES[1], "least total response"),
                (_MEASURES[0], "shortest makespan"))  # fmt: skip
    found = [
        f"{words} under {best}"
        for measure, words in measures
        if _is_shown(comparison, measure) and (best := _best(comparison, measure))
    ]
    text = "; ".join(found) or f"no scheduler is clearly better than {first.scheduler}"
    return f"{text[0].upper()}{text[1:]}."


def _best(comparison: SchedulerComparison, measure: _Measure) -> str:
    """The best schedulers and their figure; empty if all are alike or no difference is clear.

    A scheduler that does not clearly differ from the first is not called better. One seed gives
    no interval: each difference counts.
    """
    rows, first = comparison.rows, comparison.rows[0]
    known = {
        row.scheduler: spread for row in rows if (spread := row.spreads.get(measure.name))
        and (row is first or row.runs == 1 or measure.name in row.clear_differences)
    }  # fmt: skip
    if len(known) < 2 or measure.name not in first.spreads:  # noqa: PLR2004  # one is no best
        return ""
    best = (min if measure.less_is_better else max)(known.values(), key=lambda one: one.mean)
    figure = measure.text(best.mean)
    names = [
        row.scheduler
        for row in rows
        if _text(row.spreads.get(measure.name), measure.text) == figure
    ]
    if len(names) == len(rows):
        return ""
    whole = f" of {count(comparison.deadlines)}" if measure.name == "deadlines_met" else ""
    against = f"; {first.scheduler}: {_text(first.spreads.get(measure.name), measure.text)}"
    return f"{listed(names)} ({figure}{whole}{'' if first.scheduler in names else against})"


def comparison_tables(comparison: SchedulerComparison) -> Iterator[Table]:
    """The tables, in the order in which they are printed."""
    yield comparison_table(comparison)
    yield waits_table(comparison)
    if len(comparison.rows) > 1 and comparison.rows[0].runs > 1:
        yield differences_table(comparison)
    if any(len(row.pools) > 1 for row in comparison.rows):
        yield pools_table(comparison)


def comparison_table(comparison: SchedulerComparison) -> Table:
    """One row for each scheduler, mean ± standard deviation over runs."""
    rows = comparison.rows
    runs = max((row.runs for row in rows), default=0)
    spread = f"mean ± standard deviation over {runs} seeds" if runs > 1 else ""
    caption = "; ".join([*filter(None, [spread]), *_star_note(comparison)])
    measures = [measure for measure in _MEASURES if _is_shown(comparison, measure)]
    return _table(caption, rows, measures, lambda row, one: _measure_cell(row, one, comparison))


def _table(
    caption: str,
    rows: Sequence[ComparedScheduler],
    measures: Sequence[_Measure],
    cell: Callable[[ComparedScheduler, _Measure], Text],
    head: str = "scheduler",
) -> Table:
    """One row for each scheduler, and a column for each measure."""
    return plain_table(
        caption,
        names=(head,),
        numbers=[one.head for one in measures],
        rows=((name_cell(row.scheduler), *(cell(row, one) for one in measures)) for row in rows),
    )


class _Measure(NamedTuple):
    """A compared number: its column, its format, and whether less is better."""

    name: str
    head: str
    text: Callable[[float], str]
    less_is_better: bool = True


_MEASURES = (
    _Measure("makespan_s", "makespan", duration),
    _Measure("total_response_s", "total response", duration),
    _Measure("deadlines_met", "deadlines met", tenths, less_is_better=False),
    _Measure("cost_usd", "cost", money),
    _Measure("bill_usd", "with penalties", money),
)
_WAITS = (
    _Measure("wait_s_p50", "wait p50", duration_tight),
    _Measure("wait_s_p95", "p95", duration_tight),
    _Measure("wait_s_p99", "p99", duration_tight),
    _Measure("slowdown_p50", "slowdown p50", hundredths),
    _Measure("slowdown_p95", "p95", hundredths),
    _Measure("slowdown_p99", "p99", hundredths),
    _Measure("jain", "Jain", hundredths, less_is_better=False),
)
_OF_POOL: Mapping[str, Callable[[float], str]] = {
    "jobs": tenths,
    "wait_s_p50": duration_tight,
    "wait_s_p95": duration_tight,
    "slowdown_p50": hundredths,
    "slowdown_p95": hundredths,
}
_DIFFERENCES = (
    _Measure("makespan_s", "makespan", duration_tight),
    _Measure("wait_s_p95", "wait p95", duration_tight),
    _Measure("slowdown_p95", "slowdown p95", hundredths),
)


def waits_table(comparison: SchedulerComparison) -> Table:
    """Percentiles of waits and slowdowns of each scheduler, means over seeds, and Jain's index."""
    caption = "slowdown: response over the time alone on the cluster, at least 1"
    first = comparison.rows[0]
    return _table(caption, comparison.rows, _WAITS, lambda row, one: _star_cell(row, one, first))


def differences_table(comparison: SchedulerComparison) -> Table:
    """Differences to the first scheduler, with their intervals."""
    first, *others = comparison.rows
    caption = "mean difference over the same seeds [95 % interval]"
    head = shortened(f"vs {first.scheduler}", _HEAD_LETTERS)
    return _table(caption, others, _DIFFERENCES, _difference_cell, head)


def pools_table(comparison: SchedulerComparison) -> Table:
    """p95 and p99 of each pool's waits and slowdowns, schedulers below each other."""
    pools = list(comparison.rows[0].pools)
    shown = pools[: max(1, _POOL_ROWS_MAX // len(comparison.rows))]
    table = plain_table(
        left_out(len(pools) - len(shown), "more pool"),
        names=("pool", "scheduler"),
        numbers=("jobs", "wait p50", "p95", "slowdown p50", "p95"),
    )
    for pool in shown:
        for row in comparison.rows:
            spreads = row.pools.get(pool, {})
            texts = [_text(spreads.get(measure), text) for measure, text in _OF_POOL.items()]
            name = str(pool) if row is comparison.rows[0] else ""
            table.add_row(name_cell(name), name_cell(row.scheduler, style=""), *texts)
    return table


def _star_note(comparison: SchedulerComparison) -> list[str]:
    """Return what a star means here; nothing where there can be none."""
    rows = comparison.rows
    if not any(row.clear_differences for row in rows):
        return []
    return [f"* differs from {rows[0].scheduler}"]


def _is_shown(comparison: SchedulerComparison, measure: _Measure) -> bool:
    """Whether to show the column: deadlines if jobs have some, cost if there are prices."""
    if measure.name == "deadlines_met":
        return comparison.deadlines > 0
    if measure.name in {"cost_usd", "bill_usd"}:
        return any(row.spreads.get(measure.name) for row in comparison.rows)
    return True


def _measure_cell(
    row: ComparedScheduler, measure: _Measure, comparison: SchedulerComparison
) -> Text:
    spread = row.spreads.get(measure.name)
    if spread is None:
        return plain_text(NOTHING, "dim")
    text = measure.text(spread.mean)
    if row.runs > 1:
        text += f" ± {measure.text(spread.sd)}"
    if measure.name == "deadlines_met":
        text += f" of {count(comparison.deadlines)}"
    if _reads_as(row, comparison.rows[0], measure):
        return plain_text(f"{text}  ")
    return _starred(text, row, measure)


def _reads_as(row: ComparedScheduler, first: ComparedScheduler, measure: _Measure) -> bool:
    """Whether the figure reads as that of the first scheduler: a star would puzzle the reader."""
    one, other = row.spreads.get(measure.name), first.spreads.get(measure.name)
    return one is not None and _text(one, measure.text) == _text(other, measure.text)


def _star_cell(row: ComparedScheduler, measure: _Measure, first: ComparedScheduler) -> Text:
    spread = row.spreads.get(measure.name)
    if spread is None:
        return plain_text(NOTHING, "dim")
    if _reads_as(row, first, measure):
        return plain_text(f"{measure.text(spread.mean)} ")
    return _starred(measure.text(spread.mean), row, measure, is_tight=True)


def _difference_cell(row: ComparedScheduler, measure: _Measure) -> Text:
    one = row.differences.get(measure.name)
    if one is None or one.low is None or one.high is None:
        return plain_text(NOTHING, "dim")
    if one.low == one.high == 0:
        return plain_text("0  ", "dim")
    mean, low, high = (measure.text(value) for value in (one.mean, one.low, one.high))
    sign = "+" if one.mean > 0 else ""
    return _starred(f"{sign}{mean} [{low}, {high}]", row, measure)


def _starred(
    text: str, row: ComparedScheduler, measure: _Measure, *, is_tight: bool = False
) -> Text:
    """The text with a star where the difference is clear: green for better, red for worse."""
    if measure.name not in row.clear_differences:
        return plain_text(f"{text} " if is_tight else f"{text}  ")
    one = row.differences[measure.name]
    is_better = one is not None and (one.mean < 0) == measure.less_is_better
    return plain_text(
        f"{text}*" if is_tight else f"{text} *", "bold green" if is_better else "bold red"
    )


def _text(spread: MeasureSpread | None, text: Callable[[float], str]) -> str:
    return NOTHING if spread is None else text(spread.mean)
