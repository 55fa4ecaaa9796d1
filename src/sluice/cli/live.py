"""A run that really runs: bars while it does, and what it made when it is over."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from sluice.cli.answers import console, talk
from sluice.reporting.formatting import count, duration, shortened

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from sluice.engines.progress import JobProgress, Progress, Watcher
    from sluice.model.ids import JobId
    from sluice.reporting.result import RunResult

_BARS_MAX = 12
_JOB_WIDTH = 28


class _Lines:
    """For a stderr that is no terminal: sentences only."""

    def on_progress(self, progress: Progress) -> None: ...

    def on_message(self, message: str) -> None:
        talk(message)


class _LiveBars:
    """A bar for all jobs, and one for each of the first that run."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._all = bars.add_task("jobs", total=None, told="")
        self._jobs: dict[JobId, TaskID] = {}

    def on_progress(self, progress: Progress) -> None:
        shown = progress.jobs[:_BARS_MAX]
        more = len(progress.jobs) - len(shown)
        told = f"{progress.jobs_ended} of {progress.jobs_total} ended"
        told += f", {count(more)} more run" if more else ""
        self._bars.update(
            self._all, completed=progress.jobs_ended, total=progress.jobs_total, told=told
        )
        self._drop_all_but({job.job_id for job in shown})
        for job in shown:
            self._show(job)

    def _drop_all_but(self, job_ids: set[JobId]) -> None:
        for job_id in self._jobs.keys() - job_ids:
            self._bars.remove_task(self._jobs.pop(job_id))

    def _show(self, job: JobProgress) -> None:
        if job.job_id not in self._jobs:
            name = shortened(job.job_id, _JOB_WIDTH)
            self._jobs[job.job_id] = self._bars.add_task(name, total=job.tasks, told="")
        told = f"{count(job.tasks_done)}/{count(job.tasks)} tasks, {count(job.tasks_running)} run"
        bar = self._jobs[job.job_id]
        self._bars.update(bar, completed=job.tasks_done, total=job.tasks, told=told)

    def on_message(self, message: str) -> None:
        self._bars.console.print(message, soft_wrap=True)


@contextmanager
def live_watcher() -> Iterator[Watcher]:
    """Bars on a terminal, plain sentences elsewhere; both on stderr."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    with _bars() as bars:
        yield _LiveBars(bars)


def _bars() -> Bars:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[told]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    )


def run_views(result: RunResult) -> Sequence[RenderableType]:
    """What a real run has beside a simulation: measured lengths, outputs, what was predicted."""
    from sluice.reporting.table_style import plain_text
    from sluice.reporting.tables import measured_table

    views: list[RenderableType] = [
        measured_table(cast("dict[str, dict[str, object]]", result.extra["measured"]))
    ]
    return [*views, *(plain_text(told) for told in _told(result))]


def _told(result: RunResult) -> Iterator[str]:
    predicted_s = result.extra["predicted_makespan_s"]
    if isinstance(predicted_s, int | float) and result.makespan_s is not None:
        yield f"predicted {duration(predicted_s)}, took {duration(result.makespan_s)}"
    outputs = result.extra["outputs"]
    assert isinstance(outputs, Mapping)
    done = {job.job_id for job in result.jobs if job.state == "done"}
    yield from (f"{job}: {path}" for job, path in outputs.items() if job in done)
    yield f"run {result.extra['run_id']}"
