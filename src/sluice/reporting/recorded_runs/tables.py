"""Tables about recorded runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.reporting.columns import Column, column_table
from sluice.reporting.formatting import NOTHING, count, duration, size
from sluice.reporting.recorded_runs.result import (
    CleanedRuns,
    RecordedJob,
    RecordedRun,
    RecordedRuns,
)
from sluice.reporting.table_style import (
    RenderableType,
    Table,
    Text,
    framed,
    left_out,
    plain_text,
    short_name,
)
from sluice.store.run_info import RunState

ROWS_MAX = 100
_FILE_WIDTH, _PATH_WIDTH, _JOB_WIDTH, _OUTPUT_WIDTH = 10, 44, 24, 34
_STYLES = {
    RunState.FINISHED: "green",
    RunState.FAILED: "red",
    RunState.UNFINISHED: "yellow",
    RunState.DAMAGED: "red",
}


def recorded_views(recorded: RecordedRuns) -> Iterator[RenderableType]:
    """The runs, what is special about some of them, and the leftovers."""
    if recorded.runs:
        yield _run_table(recorded.runs)
    yield from _notes(recorded.runs)
    if recorded.leftovers:
        yield _leftover_table([one.document() for one in recorded.leftovers])


def _file(run: RecordedRun) -> str:
    if run.file is None:
        return "unknown"
    return "standard input" if run.file == "-" else _tail(run.file, _FILE_WIDTH)


def _tail(path: str, width_max: int) -> str:
    """The end of a path, which distinguishes files."""
    return path if len(path) <= width_max else f"…{path[1 - width_max :]}"


_RUNS: Sequence[Column[RecordedRun]] = (
    Column("id", "run", style=lambda _: "bold", is_left=True),
    Column("state.value", "state", style=lambda run: _STYLES[run.state], is_left=True),
    Column(
        "", "started (UTC)", is_left=True,
        of=lambda run: (run.started_at or NOTHING)[:16].replace("T", " "),
    ),
    Column("jobs", "jobs", count),
    Column("bytes", "size", size),
    Column("", "file", of=_file, is_left=True),
)  # fmt: skip


def _run_table(runs: Sequence[RecordedRun]) -> Table:
    # The newest runs are the last ones.
    return column_table(_RUNS, runs[-ROWS_MAX:], left_out(max(0, len(runs) - ROWS_MAX)))


def _notes(runs: Sequence[RecordedRun]) -> Iterator[Text]:
    for run in runs:
        if run.process is not None:
            yield plain_text(f"{run.id}: process {run.process} drives it now.")
        if run.problem is not None:
            yield plain_text(f"{run.id}: {run.problem}", "red")


_LEFTOVERS: Sequence[Column[Mapping[str, Any]]] = (
    Column("", "leftover", of=lambda row: row["kind"], is_left=True),
    Column("", "size", size, lambda row: row["bytes"]),
    Column("", "path", of=lambda row: _tail(row["path"], _PATH_WIDTH), is_left=True),
)


def _leftover_table(rows: Sequence[Mapping[str, object]]) -> Table:
    return column_table(_LEFTOVERS, rows, rows_max=ROWS_MAX)


def run_views(run: RecordedRun) -> Iterator[RenderableType]:
    """Everything about one run."""
    yield framed(run.id, _facts(run))
    if run.details and run.details.jobs:
        yield column_table(_JOBS, list(run.details.jobs.items()), rows_max=ROWS_MAX)


def _facts(run: RecordedRun) -> Iterator[tuple[str, str]]:
    yield "state", run.state.value
    if run.problem is not None:
        yield "problem", run.problem
    if run.process is not None:
        yield "process", f"{run.process} drives it now"
    yield "file", "standard input" if run.file == "-" else run.file or "unknown"
    if run.file == "-":
        yield "working directory", run.folder or "unknown"
    yield "started", run.started_at or "unknown"
    yield "size", size(run.bytes)
    yield "path", run.path
    if run.details is None:
        return
    for path in run.details.staging:
        yield "staging", path
    if run.details.policies:
        yield "policies", ", ".join(f"{kind} {name}" for kind, name in run.details.policies.items())
    for name, value in run.details.settings.items():
        if value not in (None, [], {}):
            yield name, value if isinstance(value, str) else json.dumps(value)


def _output(job: RecordedJob) -> str:
    output = _tail(job.output, _OUTPUT_WIDTH)
    return output if job.is_complete else f"{output} (not there)"


_JOBS: Sequence[Column[tuple[str, RecordedJob]]] = (
    Column(
        "", "job", lambda name: short_name(name, width_max=_JOB_WIDTH), lambda row: row[0],
        is_left=True,
    ),
    Column("", "state", of=lambda row: row[1].state, is_left=True),
    Column("", "finished at", duration, lambda row: row[1].finished_at_s),
    Column("", "output", of=lambda row: _output(row[1]), is_left=True),
)  # fmt: skip


def cleaned_views(cleaned: CleanedRuns) -> Iterator[RenderableType]:
    """Yield what was removed, or would be."""
    if cleaned.runs:
        yield _run_table(cleaned.runs)
    if cleaned.leftovers:
        yield _leftover_table(cleaned.leftovers)
    what = "would be removed" if cleaned.is_dry_run else "removed"
    if cleaned.runs or cleaned.leftovers:
        yield plain_text(f"{size(cleaned.bytes)} {what}.")
    elif not cleaned.kept:
        yield plain_text("There is nothing to remove.")
