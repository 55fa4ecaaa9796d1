"""The table of `compare`: one row for each scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sluice.reporting.compare.result import ComparedScheduler, SchedulerComparison
from sluice.reporting.formatting import NOTHING, duration, money, tenths
from sluice.reporting.table_style import name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def comparison_table(comparison: SchedulerComparison) -> Table:
    """One row for each scheduler, mean ± standard deviation over runs; the best are marked."""
    rows = comparison.rows
    runs = max((row.runs for row in rows), default=0)
    spread = f"mean ± standard deviation over {runs} seeds; " if runs > 1 else ""
    table = plain_table(f"{spread}* best")
    table.add_column("scheduler", no_wrap=True)
    measures = [measure for measure in _MEASURES if _is_shown(comparison, measure)]
    for measure in measures:
        table.add_column(measure.head, justify="right", no_wrap=True)
    bests = {measure: _best(rows, measure) for measure in measures}
    for row in rows:
        cells = [
            _measure_cell(row, measure, comparison.deadlines, is_best=row.scheduler in best)
            for measure, best in bests.items()
        ]
        table.add_row(name_cell(row.scheduler), *cells)
    return table


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
)


def _is_shown(comparison: SchedulerComparison, measure: _Measure) -> bool:
    """Whether to show the column: deadlines if jobs have some, cost if there are prices."""
    if measure.name == "deadlines_met":
        return comparison.deadlines > 0
    if measure.name == "cost_usd":
        return any(row.spreads.get(measure.name) for row in comparison.rows)
    return True


def _best(rows: Sequence[ComparedScheduler], measure: _Measure) -> frozenset[str]:
    """The schedulers with the best mean; none if all are equal."""
    means = {row.scheduler: one.mean for row in rows if (one := row.spreads.get(measure.name))}
    if not means:
        return frozenset()
    target = min(means.values()) if measure.less_is_better else max(means.values())
    best = frozenset(name for name, mean in means.items() if math.isclose(mean, target))
    return best if len(best) < len(means) else frozenset()


def _measure_cell(
    row: ComparedScheduler, measure: _Measure, deadlines: int, *, is_best: bool
) -> Text:
    spread = row.spreads.get(measure.name)
    if spread is None:
        return plain_text(NOTHING, "dim")
    text = measure.text(spread.mean)
    if row.runs > 1:
        text += f" ± {measure.text(spread.sd)}"
    if measure.name == "deadlines_met":
        text += f" of {deadlines}"
    return plain_text(f"{text} *", "bold green") if is_best else plain_text(f"{text}  ")
