"""Tables of a run, for 80 columns or more. Rich is imported when a table is made.

Ids are printed as text, never as markup: a job id may be "[red]".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sluice.reporting.formatting import (
    NOTHING,
    count,
    counted,
    duration,
    duration_tight,
    hundredths,
    share,
    shortened,
    signed,
    size,
    visible,
)
from sluice.reporting.run.idleness import Idleness
from sluice.reporting.run.outcomes import UNCOMMITTED
from sluice.reporting.run.rented import bill_text
from sluice.reporting.table_style import framed, left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from sluice.reporting.run.outcomes import JobOutcome
    from sluice.reporting.run.result import RunResult
    from sluice.reporting.table_style import NameCell

JOBS_MAX = 50
POOL_LETTERS_MAX = 24  # on a terminal, so that the other columns fit
_STATE_STYLES = {
    "done": "green", "failed": "bold red", "killed": "red", "refused": "red", "running": "cyan",
    UNCOMMITTED: "bold red",
}  # fmt: skip


def job_table(result: RunResult, *, jobs_max: int = JOBS_MAX) -> Table:
    """One row for each job. jobs_max: rows shown, with a note on the rest."""
    shown = result.jobs[:jobs_max]
    # A job without a named pool has its own pool, of the same name.
    has_pools = any(str(job.pool) != str(job.job_id) for job in shown)
    table = plain_table(left_out(len(result.jobs) - len(shown)), names=("job",))
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


def replay_table(result: RunResult) -> Table | None:
    """Recorded and replayed times of jobs from logs; None where no log holds any."""
    known = [
        (job.job_id, replay)
        for job in result.jobs
        if (replay := (result.replays or {}).get(job.job_id)) and replay.recorded_s is not None
    ]
    if not known:
        return None
    shown = known[:JOBS_MAX]
    table = plain_table(
        left_out(len(known) - len(shown)), names=("job",), numbers=("recorded", "replayed", "error")
    )
    for job_id, replay in shown:
        error = NOTHING if replay.replay_error is None else signed(replay.replay_error)
        cells = (duration_tight(replay.recorded_s), duration_tight(replay.replayed_s), error)
        table.add_row(name_cell(job_id), *cells)
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
    bill = bill_text(result.extra)
    if bill is not None:
        rows.append(("bill", bill))
    if result.ignored:
        rows.append(("events ignored", _counts(result.ignored)))
    return rows


def _counts(counts: Mapping[str, int]) -> str:
    shown = [f"{count(number)} {name}" for name, number in counts.items() if number]
    return ", ".join(shown) or "none"


def idle_table(rows: Sequence[Idleness]) -> Table:
    """Idle slots by node and kind."""
    shown = rows[:JOBS_MAX]
    table = plain_table(
        left_out(len(rows) - len(shown)),
        names=("node", "slots"),
        numbers=("idle", "share", "longest gap", "from", "slot"),
    )
    for row in shown:
        table.add_row(
            name_cell(row.node),
            f"{count(row.slots)} {row.kind}",
            duration(row.idle_s),
            share(row.idle_share),
            duration(row.longest_s),
            duration(row.longest_from_s) if row.longest_s else NOTHING,
            str(row.longest_slot) if row.longest_s else NOTHING,
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
    heads = ("predicted", "error") if is_predicted else ("longest",)
    table = plain_table(
        "", names=("job", "phase"), numbers=("tasks", "mean", *heads, "input", "output")
    )
    for job_id, row in rows:
        error = row["error"]
        predicted = [duration(row["predicted_avg_s"]), signed(error)]
        table.add_row(
            name_cell(job_id),
            row["name"],
            count(row["tasks"]),
            duration(row["avg_s"]),
            *(predicted if is_predicted else [duration(row["max_s"])]),
            size(row["input_bytes"]),
            size(row["output_bytes"]),
        )
    return table


def vm_pools_table(result: RunResult) -> Table | None:
    """One row for each job that had VMs or was refused; None for a run without VM pools.

    The figures are those that the task policy `vm-pools` adds to the document of the run.
    """
    found: Any = result.extra.get("vm_pools")
    if found is None or not (found["jobs"] or found["refused"]):
        return None
    rows = {**found["refused"], **found["jobs"]}
    shown = list(rows.items())[:JOBS_MAX]
    has_offers = any(row["least_deadline_at_s"] is not None for row in rows.values())
    offers = ["least deadline"] if has_offers else []
    table = plain_table(
        left_out(len(rows) - len(shown)) or _vm_caption(found),
        names=("job", "VM type"),
        numbers=("VMs", "from", "planned to", "held to", "unit-s", *offers),
    )
    for job_id, row in shown:
        cells = _vm_cells(row)
        if has_offers:
            cells.append(duration_tight(row["least_deadline_at_s"]))
        table.add_row(name_cell(job_id), *cells)
    return table


def _vm_cells(row: Mapping[str, Any]) -> list[str]:
    if "vms" not in row:
        return ["refused", *[NOTHING] * 5]
    times = (row["started_at_s"], row["planned_until_s"], row["finished_at_s"])
    return [
        row["vm_type"], count(row["vms"]), *map(duration_tight, times), hundredths(row["unit_s"]),
    ]  # fmt: skip


def _vm_caption(found: Mapping[str, Any]) -> str:
    checks = found["reconfigurations"]
    text = f"{hundredths(found['unit_s'])} unit-seconds of VMs held"
    if "power" in found:
        text += f"; {hundredths(found['power']['off_server_s'])} server-seconds off"
    done = sum(one["done"] for one in checks)
    return f"{text}; pools changed at {done} of {counted(len(checks), 'check')}" if checks else text
