"""Tables about recorded runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sluice.reporting.formatting import NOTHING, count, duration, shortened, size
from sluice.reporting.recorded_runs.result import (
    CleanedRuns,
    RecordedJob,
    RecordedRun,
    RecordedRuns,
)
from sluice.reporting.table_style import framed, left_out, plain_table, plain_text
from sluice.store.run_info import RunState

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

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


def _run_table(runs: Sequence[RecordedRun]) -> Table:
    shown = runs[-ROWS_MAX:]
    table = plain_table(
        left_out(len(runs) - len(shown)),
        names=("run", "state", "started (UTC)"),
        numbers=("jobs", "size"),
    )
    table.add_column("file", no_wrap=True)
    for run in shown:
        table.add_row(
            plain_text(run.id, "bold"),
            plain_text(run.state.value, _STYLES[run.state]),
            run.started_at[:16].replace("T", " ") if run.started_at else NOTHING,
            NOTHING if run.jobs is None else count(run.jobs),
            size(run.bytes),
            _file(run),
        )
    return table


def _file(run: RecordedRun) -> str:
    if run.file is None:
        return "unknown"
    return "standard input" if run.file == "-" else _tail(run.file, _FILE_WIDTH)


def _tail(path: str, width_max: int) -> str:
    """The end of a path, which distinguishes files."""
    return path if len(path) <= width_max else f"…{path[1 - width_max :]}"


def _notes(runs: Sequence[RecordedRun]) -> Iterator[Text]:
    for run in runs:
        if run.process is not None:
            yield plain_text(f"{run.id}: process {run.process} drives it now.")
        if run.problem is not None:
            yield plain_text(f"{run.id}: {run.problem}", "red")


def _leftover_table(rows: Sequence[Mapping[str, object]]) -> Table:
    shown = rows[:ROWS_MAX]
    table = plain_table(left_out(len(rows) - len(shown)), names=("leftover",), numbers=("size",))
    table.add_column("path", no_wrap=True)
    for row in shown:
        size_bytes = row["bytes"]
        assert isinstance(size_bytes, int)
        table.add_row(str(row["kind"]), size(size_bytes), _tail(str(row["path"]), _PATH_WIDTH))
    return table


def run_views(run: RecordedRun) -> Iterator[RenderableType]:
    """Everything about one run."""
    yield framed(run.id, _facts(run))
    if run.details and run.details.jobs:
        yield _job_table(run.details.jobs)


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


def _job_table(jobs: Mapping[str, RecordedJob]) -> Table:
    shown = list(jobs.items())[:ROWS_MAX]
    table = plain_table(
        left_out(len(jobs) - len(shown)), names=("job", "state"), numbers=("finished at",)
    )
    table.add_column("output", no_wrap=True)
    for job_id, job in shown:
        output = _tail(job.output, _OUTPUT_WIDTH)
        table.add_row(
            plain_text(shortened(job_id, _JOB_WIDTH), "bold"),
            job.state,
            duration(job.finished_at_s),
            output if job.is_complete else f"{output} (not there)",
        )
    return table


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
