"""Tables of a run, for 80 columns or more. Rich is imported when a table is made.

Ids are printed as text, never as markup: a job id may be "[red]".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sluice.core.transitions import JobState
from sluice.reporting.columns import Column, column_table, field
from sluice.reporting.formatting import (
    NOTHING,
    count,
    counted,
    duration,
    duration_tight,
    hundredths,
    listed,
    share,
    shortened,
    signed,
    size,
    visible,
)
from sluice.reporting.run.idleness import Idleness
from sluice.reporting.run.outcomes import REPLAY_COLUMNS, UNCOMMITTED
from sluice.reporting.run.rented import bill_text
from sluice.reporting.table_style import Panel, Table, Text, framed, name_cell, plain_text

if TYPE_CHECKING:
    from sluice.reporting.run.outcomes import JobOutcome
    from sluice.reporting.run.result import RunResult
    from sluice.reporting.table_style import NameCell

JOBS_MAX = 50
POOL_LETTERS_MAX = 24  # on a terminal, so that the other columns fit
_STATE_STYLES = {
    "done": "green", "failed": "bold red", "killed": "red", "refused": "red", "running": "cyan",
    UNCOMMITTED: "bold red",
}  # fmt: skip


def run_sentence(result: RunResult) -> str:
    """The answer in one sentence: when the jobs are done, and which are late or not done."""
    names: dict[str, list[str]] = {}
    for job in result.jobs:
        is_late = job.state == JobState.DONE.value and job.deadline_met is False
        names.setdefault("late" if is_late else job.state, []).append(str(job.job_id))
    late = names.pop("late", [])
    done = [*names.pop(JobState.DONE.value, []), *late]
    which = _done_jobs(done, len(result.jobs))
    parts = [f"{which} done after {duration(result.makespan_s)}" if done else f"{which} done"]
    if result.deadlines:
        met, every = result.deadlines_met, counted(result.deadlines, "deadline")
        whole = (
            "every deadline is met" if met == result.deadlines else f"{count(met)} of {every} met"
        )
        parts.append(whole + (f", late: {listed(late)}" if late else ""))
    parts += [f"{state}: {listed(jobs)}" for state, jobs in names.items()]
    return "; ".join(parts) + "."


def _done_jobs(done: Sequence[str], jobs: int) -> str:
    """The jobs that are done, with their verb.

    >>> _done_jobs(["a"], 1), _done_jobs(["a", "b"], 2), _done_jobs(["a"], 2), _done_jobs([], 1)
    ('a is', 'All 2 jobs are', '1 of 2 jobs is', 'No job is')
    """
    if not done:
        return "No job is"
    if jobs == 1:
        return f"{listed(done)} is"
    which = "All" if len(done) == jobs else f"{count(len(done))} of"
    return f"{which} {counted(jobs, 'job')} {'is' if len(done) == 1 else 'are'}"


def job_table(result: RunResult, *, jobs_max: int = JOBS_MAX) -> Table:
    """One row for each job. jobs_max: rows shown, with a note on the rest."""
    columns: Sequence[Column[JobOutcome]] = (
        # A job without a named pool has its own pool, of the same name.
        Column(
            "pool", "pool", _pool_cell, is_left=True,
            is_shown=lambda jobs: any(str(job.pool) != str(job.job_id) for job in jobs),
        ),
        Column("submitted_at_s", "submitted", duration_tight),
        Column("waited_s", "waited", duration_tight),
        Column("ran_s", "ran", duration_tight),
        Column("finished_at_s", "finished", duration_tight),
        Column("", "state", of=lambda job: job, text=_state, is_left=True),
        Column("", "may end", of=_may_end, is_shown=lambda jobs: any(map(_may_end, jobs))),
    )  # fmt: skip
    jobs = {str(job.job_id): job for job in result.jobs}
    return column_table(columns, jobs, key="job", rows_max=jobs_max)


def _pool_cell(pool: str) -> NameCell:
    return name_cell(pool, "", shortened(visible(pool), POOL_LETTERS_MAX))


def _may_end(job: JobOutcome) -> str | None:
    """The interval in which it ends, and the probability to meet its deadline."""
    if job.forecast is None:
        return None
    text = job.forecast.text(job.submitted_at_s)
    return None if text == NOTHING else text


def _state(job: JobOutcome) -> Text:
    state = plain_text(job.state, _STATE_STYLES.get(job.state, ""))
    if job.deadline_met is not None:
        state.append(", met" if job.deadline_met else ", late", "" if job.deadline_met else "red")
    return state


def replay_table(result: RunResult) -> Table | None:
    """Recorded and replayed times of jobs from logs; None where no log holds any."""
    known = {
        str(job.job_id): replay
        for job in result.jobs
        if (replay := (result.replays or {}).get(job.job_id)) and replay.recorded_s is not None
    }
    return column_table(REPLAY_COLUMNS, known, key="job", rows_max=JOBS_MAX) if known else None


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
        met = f"{count(result.deadlines_met)} of {count(result.deadlines)}"
        rows.insert(2, ("deadlines met", met))
    bill = bill_text(result.extra)
    if bill is not None:
        rows.append(("bill", bill))
    if result.ignored:
        rows.append(("events ignored", _counts(result.ignored)))
    return rows


def _counts(counts: Mapping[str, int]) -> str:
    shown = [f"{count(number)} {name}" for name, number in counts.items() if number]
    return ", ".join(shown) or "none"


_IDLE: Sequence[Column[Idleness]] = (
    Column("node", "node", name_cell, is_left=True),
    Column("", "slots", of=lambda row: f"{count(row.slots)} {row.kind}", is_left=True),
    Column("idle_s", "idle", duration),
    Column("idle_share", "share", share),
    Column("longest_s", "longest gap", duration),
    Column("", "from", duration, lambda row: row.longest_from_s if row.longest_s else None),
    Column("", "slot", of=lambda row: row.longest_slot if row.longest_s else None),
)


def idle_table(rows: Sequence[Idleness]) -> Table:
    """Idle slots by node and kind."""
    return column_table(_IDLE, rows, rows_max=JOBS_MAX)


def measured_table(measured: dict[str, dict[str, object]]) -> Table:
    """Measured phases next to their predictions: the rows of `RunResult.measured`.

    Without predictions the table has no columns for them.
    """
    rows = [
        {"job": job_id} | row
        for job_id, profile in measured.items()
        for row in cast("list[dict[str, Any]]", profile["phases"])
    ]
    is_predicted = any(row["error"] is not None for row in rows)
    predicted = (field("predicted_avg_s", "predicted", duration), field("error", "error", signed))
    columns = (
        field("job", "job", name_cell, is_left=True),
        field("name", "phase", is_left=True),
        field("tasks", "tasks", count),
        field("avg_s", "mean", duration),
        *(predicted if is_predicted else (field("max_s", "longest", duration),)),
        field("input_bytes", "input", size),
        field("output_bytes", "output", size),
    )
    return column_table(columns, rows)


_VMS: Sequence[Column[Mapping[str, Any]]] = (
    Column(
        "", "VM type", of=lambda row: row["vm_type"] if "vms" in row else "refused", is_left=True
    ),
    field("vms", "VMs", count),
    field("started_at_s", "from", duration_tight),
    field("planned_until_s", "planned to", duration_tight),
    field("finished_at_s", "held to", duration_tight),
    field("unit_s", "unit-s", hundredths),
    field(
        "least_deadline_at_s", "least deadline", duration_tight,
        is_shown=lambda rows: any(row["least_deadline_at_s"] is not None for row in rows),
    ),
)  # fmt: skip


def vm_pools_table(result: RunResult) -> Table | None:
    """One row for each job that had VMs or was refused; None for a run without VM pools.

    The figures are those that the task policy `vm-pools` adds to the document of the run.
    """
    found: Any = result.extra.get("vm_pools")
    if found is None or not (found["jobs"] or found["refused"]):
        return None
    rows = {**found["refused"], **found["jobs"]}
    caption = "" if len(rows) > JOBS_MAX else _vm_caption(found)
    return column_table(_VMS, rows, caption, key="job", rows_max=JOBS_MAX)


def _vm_caption(found: Mapping[str, Any]) -> str:
    checks = found["reconfigurations"]
    text = f"{hundredths(found['unit_s'])} unit-seconds of VMs held"
    if "power" in found:
        text += f"; {hundredths(found['power']['off_server_s'])} server-seconds off"
    done = sum(one["done"] for one in checks)
    return f"{text}; pools changed at {done} of {counted(len(checks), 'check')}" if checks else text
