"""The measurements of the first run as a prediction of the next, and its error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sluice.bootstrap.profiles import with_past_lengths
from sluice.engines.mapreduce.layout import prepare
from sluice.estimate.phase_measure import relative_error
from sluice.model.workload import Workload
from sluice.reporting.formatting import NOTHING, duration
from sluice.reporting.run.result import RunResult

if TYPE_CHECKING:
    from rich.table import Table

Row = tuple[str, float | None, float | None, float | None]


def with_measured_lengths(workload: Workload) -> Workload:
    """The jobs as they would run, each task as long as the mean of its phase in the last run.

    `sluice run` predicts its makespan from the same lengths. What really runs is left out: this is
    for the simulator.
    """
    jobs = with_past_lengths([prepare(job).job for job in workload.jobs], on_message=print)
    return replace(workload, jobs=tuple(replace(job, run=None) for job in jobs))


def ends(before: RunResult, predicted: RunResult, measured: RunResult) -> Iterator[Row]:
    """For each job, then for all: when it ended before, should end now, and did end. Seconds."""
    for was, should, did in zip(before.jobs, predicted.jobs, measured.jobs, strict=True):
        assert was.job_id == should.job_id == did.job_id
        yield was.job_id, was.finished_at_s, should.finished_at_s, did.finished_at_s
    yield "all (makespan)", before.makespan_s, predicted.makespan_s, measured.makespan_s


def prediction_table(rows: Iterator[Row]) -> Table:
    """The ends of jobs under two schedulers; the error is a share of what was measured."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    table.add_column("job", style="bold")
    for name in ("ended, fifo", "predicted, fair", "ended, fair", "error"):
        table.add_column(name, justify="right")
    for name, before_s, predicted_s, measured_s in rows:
        if name.startswith("all"):
            table.add_section()
        error = measured_s and relative_error(predicted_s, measured_s)
        off = NOTHING if error is None else f"{error:+.0%}".replace("%", " %")
        table.add_row(name, duration(before_s), duration(predicted_s), duration(measured_s), off)
    return table
