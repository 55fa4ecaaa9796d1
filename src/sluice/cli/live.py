"""A live run on the terminal: progress bars while it runs, and its outputs at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from sluice.cli.answers import talk
from sluice.cli.progress import LINE_EVERY_S, progress_bars
from sluice.reporting.formatting import count, counted, duration, share, shortened

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from sluice.engines.progress import JobProgress, Progress, Watcher
    from sluice.model.ids import JobId
    from sluice.reporting.run.result import RunResult

_BARS_MAX = 12
_JOB_WIDTH = 28


class _Lines:
    """For a stderr that is not a terminal: messages, and progress every 15 seconds."""

    def __init__(self) -> None:
        self._next_at_s = LINE_EVERY_S
        self._is_first = True

    def on_progress(self, progress: Progress) -> None:
        if self._is_first:  # a resumed run does not start at 0
            self._is_first = False
            self._next_at_s = progress.at_s + LINE_EVERY_S
        if progress.at_s >= self._next_at_s:
            self._next_at_s = progress.at_s + LINE_EVERY_S
            talk(f"running: {summary(progress)}")

    def on_message(self, message: str) -> None:
        talk(message)


def summary(progress: Progress) -> str:
    """Share, time left and jobs: `42 %, about 70 s left, 2 of 4 jobs ended, 6 tasks running`."""
    parts = []
    if progress.fraction is not None:
        parts.append(share(progress.fraction))
    if progress.left_s is not None and progress.fraction != 1:
        parts.append(f"about {duration(progress.left_s)} left")
    parts.append(f"{progress.jobs_ended} of {progress.jobs_total} jobs ended")
    if progress.jobs_uncommitted:
        parts.append(f"{count(progress.jobs_uncommitted)} not committed")
    running = sum(job.tasks_running for job in progress.jobs)
    parts.append(f"{count(running)} task{'' if running == 1 else 's'} running")
    return ", ".join(parts)


class _LiveBars:
    """A bar for all jobs, and a bar for each of the first running jobs."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._all = bars.add_task("jobs", total=None, text="")
        self._jobs: dict[JobId, TaskID] = {}

    def on_progress(self, progress: Progress) -> None:
        shown = progress.jobs[:_BARS_MAX]
        more = len(progress.jobs) - len(shown)
        text = summary(progress)
        text += f", {counted(more, 'more job')}" if more else ""
        self._bars.update(self._all, completed=progress.fraction or 0.0, total=1.0, text=text)
        self._drop_all_but({job.job_id for job in shown})
        for job in shown:
            self._show(job)

    def _drop_all_but(self, job_ids: set[JobId]) -> None:
        for job_id in self._jobs.keys() - job_ids:
            self._bars.remove_task(self._jobs.pop(job_id))

    def _show(self, job: JobProgress) -> None:
        if job.job_id not in self._jobs:
            name = shortened(job.job_id, _JOB_WIDTH)
            self._jobs[job.job_id] = self._bars.add_task(name, total=1.0, text="")
        text = f"{count(job.tasks_done)}/{count(job.tasks)} tasks"
        text += f", {count(job.tasks_running)} running"
        bar = self._jobs[job.job_id]
        self._bars.update(bar, completed=job.fraction or 0.0, text=text)

    def on_message(self, message: str) -> None:
        self._bars.console.print(message, soft_wrap=True)


@contextmanager
def live_watcher() -> Iterator[Watcher]:
    """Progress bars on a terminal, messages elsewhere; both on stderr."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    with progress_bars() as bars:
        yield _LiveBars(bars)


def run_views(result: RunResult) -> Sequence[RenderableType]:
    """The views of a live run only: measured lengths, the prediction, the outputs."""
    from sluice.reporting.run.tables import measured_table
    from sluice.reporting.table_style import plain_text

    views: list[RenderableType] = [
        measured_table(cast("dict[str, dict[str, object]]", result.extra["measured"]))
    ]
    return [*views, *(plain_text(line) for line in _lines(result))]


def _lines(result: RunResult) -> Iterator[str]:
    from sluice.reporting.run.buffers import buffer_text
    from sluice.reporting.run.links import moved_text

    predicted_s = result.extra["predicted_makespan_s"]
    if isinstance(predicted_s, int | float) and result.makespan_s is not None:
        yield f"predicted {duration(predicted_s)}, took {duration(result.makespan_s)}"
    by_level = result.extra.get("moved_bytes")
    if isinstance(by_level, dict):
        yield moved_text(by_level)
    buffers = result.extra.get("buffers", {})
    assert isinstance(buffers, Mapping)
    yield from (buffer_text(job_id, figures) for job_id, figures in buffers.items())
    outputs = result.extra["outputs"]
    assert isinstance(outputs, Mapping)
    done = {job.job_id for job in result.jobs if job.state == "done"}
    yield from (f"{job}: {path}" for job, path in outputs.items() if job in done)
    yield f"run {result.extra['run_id']}"
