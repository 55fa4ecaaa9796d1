"""Tables of a run, for 80 columns or more. Rich is imported when a table is made.

Ids are printed as text, never as markup: a job id may be "[red]".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sluice.reporting.formatting import (
    NOTHING,
    count,
    duration,
    duration_tight,
    share,
    shortened,
    signed,
    size,
    visible,
)
from sluice.reporting.run.idleness import Idleness
from sluice.reporting.run.outcomes import UNCOMMITTED
from sluice.reporting.table_style import framed, left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from sluice.reporting.run.outcomes import JobOutcome
    from sluice.reporting.run.result import RunResult
    from sluice.reporting.table_style import NameCell

JOBS_MAX = 50
POOL_LETTERS_MAX = 24  # on a terminal, so that the figures beside it fit
WIDTH = 80
_STATE_STYLES = {
    "done": "green", "failed": "bold red", "killed": "red", "refused": "red", "running": "cyan",
    UNCOMMITTED: "bold red",
}  # fmt: skip


def job_table(result: RunResult, *, jobs_max: int | None = JOBS_MAX) -> Table:
    """One row for each job. jobs_max: rows shown, with a note on the rest; None for all."""
    shown = result.jobs if jobs_max is None else result.jobs[:jobs_max]
    # A job without a named pool has its own pool, of the same name.
    has_pools = any(str(job.pool) != str(job.job_id) for job in shown)
    table = plain_table(left_out(len(result.jobs) - len(shown)))
    table.add_column("job", no_wrap=True)
    if has_pools:
        table.add_column("pool", no_wrap=True)
    for name in ("submitted", "waited", "ran", "finished"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    has_forecasts = any(_may_end(job) != NOTHING for job in shown)
    if has_forecasts:
        table.add_column("may end", justify="right", no_wrap=True)
    for job in shown:
        pool = [_pool_cell(job.pool)] if has_pools else []
        likely = [plain_text(_may_end(job))] if has_forecasts else []
        table.add_row(name_cell(job.job_id), *pool, *_job_cells(job), *likely)
    return table


def _pool_cell(pool: str) -> NameCell:
    return name_cell(pool, "", shortened(visible(pool), POOL_LETTERS_MAX))


def _may_end(job: JobOutcome) -> str:
    """The interval in which it ends, and the probability to meet its deadline."""
    return NOTHING if job.forecast is None else job.forecast.text(job.submitted_at_s)


def _job_cells(job: JobOutcome) -> list[Text]:
    times = (job.submitted_at_s, job.waited_s, job.ran_s, job.finished_at_s)
    state = plain_text(job.state, _STATE_STYLES.get(job.state, ""))
    if job.deadline_met is not None:
        state.append(", met" if job.deadline_met else ", late", "" if job.deadline_met else "red")
    return [*(plain_text(duration_tight(time_s)) for time_s in times), state]


def replay_table(result: RunResult, *, jobs_max: int | None = JOBS_MAX) -> Table | None:
    """Recorded and replayed times of jobs from logs; None where no log holds any.

    jobs_max: rows shown, with a note on the rest; None for all.
    """
    known = [
        (job.job_id, replay)
        for job in result.jobs
        if (replay := (result.replays or {}).get(job.job_id)) and replay.recorded_s is not None
    ]
    if not known:
        return None
    shown = known if jobs_max is None else known[:jobs_max]
    table = plain_table(left_out(len(known) - len(shown)))
    table.add_column("job", no_wrap=True)
    for name in ("recorded", "replayed", "error"):
        table.add_column(name, justify="right", no_wrap=True)
    for job_id, replay in shown:
        error = NOTHING if replay.replay_error is None else signed(replay.replay_error)
        cells = (duration_tight(replay.recorded_s), duration_tight(replay.replayed_s), error)
        table.add_row(name_cell(job_id), *map(plain_text, cells))
    return table


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
    shown = [f"{count(number)} {name}" for name, number in counts.items() if number]
    return ", ".join(shown) or "none"


def idle_table(rows: Sequence[Idleness], *, rows_max: int | None = JOBS_MAX) -> Table:
    """Idle slots by node and kind. rows_max: how many rows are shown; None for all."""
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
    """Measured phases next to their predictions: the rows of `RunResult.measured`.

    Without predictions the table has no columns for them.
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
    heads = ("predicted", "error") if is_predicted else ("longest",)
    for name in ("tasks", "mean", *heads, "input", "output"):
        table.add_column(name, justify="right", no_wrap=True)
    for job_id, row in rows:
        error = row["error"]
        predicted = [
            duration(row["predicted_avg_s"]),
            signed(error),
        ]
        table.add_row(
            name_cell(job_id),
            plain_text(row["name"]),
            plain_text(count(row["tasks"])),
            plain_text(duration(row["avg_s"])),
            *map(plain_text, predicted if is_predicted else [duration(row["max_s"])]),
            plain_text(size(row["input_bytes"])),
            plain_text(size(row["output_bytes"])),
        )
    return table
