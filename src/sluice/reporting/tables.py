"""Tables for people, made to read well in 80 columns. Rich is imported when one is made.

Ids are printed as text, never as markup: a job may be called "[red]".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sluice.reporting.comparison import ComparedScheduler, Comparison
from sluice.reporting.formatting import (
    NOTHING,
    count,
    duration,
    duration_tight,
    money,
    share,
    size,
)
from sluice.reporting.idleness import Idleness
from sluice.reporting.table_style import framed, left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from sluice.reporting.outcomes import JobOutcome
    from sluice.reporting.result import RunResult

JOBS_MAX = 50
WIDTH = 80
_STATE_STYLES = {
    "done": "green", "failed": "bold red", "killed": "red", "refused": "red", "running": "cyan",
}  # fmt: skip


def job_table(result: RunResult, *, jobs_max: int | None = JOBS_MAX) -> Table:
    """One row for each job. jobs_max: of more, the rest is left out and counted; None for all."""
    shown = result.jobs if jobs_max is None else result.jobs[:jobs_max]
    # A job without a pool of the user's has one of its own, of the same name.
    has_pools = any(str(job.pool) != str(job.job_id) for job in shown)
    table = plain_table(left_out(len(result.jobs) - len(shown)))
    table.add_column("job", no_wrap=True)
    if has_pools:
        table.add_column("pool", no_wrap=True)
    for name in ("submitted", "waited", "ran", "finished"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for job in shown:
        pool = [plain_text(job.pool)] if has_pools else []
        table.add_row(name_cell(job.job_id), *pool, *_job_cells(job))
    return table


def _job_cells(job: JobOutcome) -> list[Text]:
    times = (job.submitted_at_s, job.waited_s, job.ran_s, job.finished_at_s)
    state = plain_text(job.state, _STATE_STYLES.get(job.state, ""))
    if job.deadline_met is not None:
        state.append(", met" if job.deadline_met else ", late", "" if job.deadline_met else "red")
    return [*(plain_text(duration_tight(time_s)) for time_s in times), state]


def summary_panel(result: RunResult) -> Panel:
    """The run in a few lines: makespan, mean response, use of slots, jobs and attempts."""
    return framed("run", _summary(result))


def _summary(result: RunResult) -> list[tuple[str, str]]:
    used = [
        f"{name.replace('_', ' ')} {share(part)}"
        for name, part in result.utilisation.items()
        if part
    ]
    rows = [
        ("makespan", duration(result.makespan_s)),
        ("mean response", duration(result.mean_response_s)),
        ("slots in use", ", ".join(used) or NOTHING),
        ("jobs", _counts(result.states)),
        ("attempts", _counts(result.work.attempts)),
    ]
    if result.deadlines:
        rows.insert(2, ("deadlines met", f"{result.deadlines_met} of {result.deadlines}"))
    if result.ignored:
        rows.append(("events ignored", _counts(result.ignored)))
    return rows


def _counts(counts: Mapping[str, int]) -> str:
    told = [f"{count(number)} {name}" for name, number in counts.items() if number]
    return ", ".join(told) or "none"


def comparison_table(comparison: Comparison) -> Table:
    """One row for each scheduler, mean ± standard deviation over runs; the best are marked."""
    rows = comparison.rows
    runs = max((row.runs for row in rows), default=0)
    spread = f"mean ± standard deviation over {runs} seeds; " if runs > 1 else ""
    table = plain_table(f"{spread}* best")
    table.add_column("scheduler", no_wrap=True)
    measures = [measure for measure in _MEASURES if _is_told(comparison, measure)]
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
    """A number that is compared: what its column is called, and which values are better."""

    name: str
    head: str
    tell: Callable[[float], str]
    less_is_better: bool = True


def _plain(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


_MEASURES = (
    _Measure("makespan_s", "makespan", duration),
    _Measure("total_response_s", "total response", duration),
    _Measure("deadlines_met", "deadlines met", _plain, less_is_better=False),
    _Measure("cost_usd", "cost", money),
)


def _is_told(comparison: Comparison, measure: _Measure) -> bool:
    """Whether the column says anything: deadlines where there are some, cost with prices."""
    if measure.name == "deadlines_met":
        return comparison.deadlines > 0
    if measure.name == "cost_usd":
        return any(row.spreads.get(measure.name) for row in comparison.rows)
    return True


def _best(rows: Sequence[ComparedScheduler], measure: _Measure) -> frozenset[str]:
    """The schedulers with the best mean; none where all are alike."""
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
    text = measure.tell(spread.mean)
    if row.runs > 1:
        text += f" ± {measure.tell(spread.sd)}"
    if measure.name == "deadlines_met":
        text += f" of {deadlines}"
    return plain_text(f"{text} *", "bold green") if is_best else plain_text(f"{text}  ")


def idle_table(rows: Sequence[Idleness], *, rows_max: int | None = JOBS_MAX) -> Table:
    """Idle slots by node and kind, as they stand. rows_max: beyond it rows are left out."""
    shown = rows if rows_max is None else rows[:rows_max]
    table = plain_table(left_out(len(rows) - len(shown)))
    table.add_column("node", no_wrap=True)
    table.add_column("slots", no_wrap=True)
    for name in ("idle", "share", "longest gap", "from"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("slot", justify="right", no_wrap=True)
    for row in shown:
        table.add_row(
            name_cell(row.node),
            plain_text(f"{count(row.slots)} {row.kind}"),
            plain_text(duration(row.idle_s)),
            plain_text(share(row.idle_share)),
            plain_text(duration(row.longest_s)),
            plain_text(duration(row.longest_from_s) if row.longest_s else NOTHING),
            plain_text(str(row.longest_slot) if row.longest_s else NOTHING),
        )
    return table


def measured_table(measured: dict[str, dict[str, object]]) -> Table:
    """Measured phases beside what was predicted of them: the rows of `RunResult.measured`.

    What was not predicted has no columns for it.
    """
    rows = [
        (job_id, row)
        for job_id, profile in measured.items()
        for row in cast("list[dict[str, Any]]", profile["phases"])
    ]
    is_predicted = any(row["error"] is not None for _, row in rows)
    table = plain_table("")
    table.add_column("job", no_wrap=True)
    table.add_column("phase", no_wrap=True)
    told = ("predicted", "error") if is_predicted else ("longest",)
    for name in ("tasks", "mean", *told, "input", "output"):
        table.add_column(name, justify="right", no_wrap=True)
    for job_id, row in rows:
        error = row["error"]
        foretold = [
            duration(row["predicted_avg_s"]),
            NOTHING if error is None else f"{error:+.0%}".replace("%", " %"),
        ]
        table.add_row(
            name_cell(job_id),
            plain_text(row["name"]),
            plain_text(count(row["tasks"])),
            plain_text(duration(row["avg_s"])),
            *map(plain_text, foretold if is_predicted else [duration(row["max_s"])]),
            plain_text(size(row["input_bytes"])),
            plain_text(size(row["output_bytes"])),
        )
    return table
