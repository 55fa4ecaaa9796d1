"""Predicted run times of each job on every cluster that the pools can give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.planning.pools.problem import PoolProblem
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import data_frame
from sluice.reporting.formatting import NOTHING, count, hundredths, share, tenths
from sluice.reporting.table_style import left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table

_ROWS_MAX = 200


@dataclass(frozen=True, slots=True, repr=False)
class PoolsGrid(NotebookView):
    """The clusters of each job, by VM type and number of VMs."""

    problem: PoolProblem

    def rows(self) -> list[tuple[str, str, int, float, float, float, bool]]:
        """(job, type, VMs, predicted, margin, cost, in time): in the order of jobs and types."""
        types = self.problem.types
        return [
            (
                job.job_id,
                types[one.pool].type_id,
                one.vms,
                one.predicted_s,
                one.run_s / one.predicted_s - 1,
                one.cost_server_s,
                job.arrives_at_s <= latest_s,
            )
            for job in self.problem.jobs
            for one, latest_s in sorted(
                zip(job.options, job.latest_starts_s, strict=True),
                key=lambda pair: (pair[0].pool, pair[0].vms),
            )
        ]

    def document(self) -> dict[str, object]:
        """As plain JSON values: job, VM type, number of VMs, then the figures."""
        grid: dict[str, dict[str, dict[str, object]]] = {}
        for job in self.problem.jobs:
            grid[job.job_id] = {one.type_id: {} for one in self.problem.types}
        for job_id, vm_type, vms, predicted_s, margin, cost, is_in_time in self.rows():
            grid[job_id][vm_type][str(vms)] = {
                "predicted_s": predicted_s,
                "margin": margin,
                "cost_server_s": cost,
                "in_time": is_in_time,
            }
        configurations = {one.type_id: one.configuration for one in self.problem.types}
        return {"configurations": configurations, "grid": grid}

    def to_frame(self) -> DataFrame:
        """One row for each cluster of each job. Raises MissingExtra without pandas."""
        names = ("job", "vm_type", "vms", "predicted_s", "margin", "cost_server_s", "in_time")
        return data_frame([dict(zip(names, row, strict=True)) for row in self.rows()])


def grid_table(result: PoolsGrid) -> Table:
    """One row for each cluster; the name of a job is in its first row."""
    rows = result.rows()
    table = plain_table(
        left_out(max(0, len(rows) - _ROWS_MAX)),
        names=("job", "VM type"),
        numbers=("VMs", "predicted s", "margin", "server-s"),
    )
    table.add_column("deadline", no_wrap=True)
    last: str | None = None
    for job_id, vm_type, vms, predicted_s, margin, cost, is_in_time in rows[:_ROWS_MAX]:
        table.add_row(
            name_cell("" if job_id == last else job_id),
            vm_type,
            count(vms),
            tenths(predicted_s),
            share(margin) if margin else NOTHING,
            hundredths(cost),
            plain_text("in time" if is_in_time else "too slow", "" if is_in_time else "red"),
        )
        last = job_id
    return table
