"""Predicted run times of each job on every cluster that the pools can give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sluice.planning.pools.problem import PoolProblem
from sluice.reporting.columns import Column, column_document, column_frame, column_table, named
from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import NOTHING, count, hundredths, share, tenths

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table

_ROWS_MAX = 200


class GridRow(NamedTuple):
    """A cluster of a job. margin: by which share it is booked longer than predicted."""

    job: str
    vm_type: str
    vms: int
    predicted_s: float
    margin: float
    cost_server_s: float
    in_time: bool
    is_first: bool  # of its job


_FIGURES: Sequence[Column[GridRow]] = (
    Column("predicted_s", "predicted s", tenths),
    Column("margin", "margin", lambda part: share(part) if part else NOTHING),
    Column("cost_server_s", "server-s", hundredths),
    Column("in_time"),
    Column(
        "", "deadline", of=lambda row: "in time" if row.in_time else "too slow",
        style=lambda row: "" if row.in_time else "red", is_left=True,
    ),
)  # fmt: skip
_CLUSTER: Sequence[Column[GridRow]] = (
    Column("vm_type", "VM type", is_left=True),
    Column("vms", "VMs", count),
)


@dataclass(frozen=True, slots=True, repr=False)
class PoolsGrid(NotebookView):
    """The clusters of each job, by VM type and number of VMs."""

    problem: PoolProblem

    def rows(self) -> list[GridRow]:
        """In the order of jobs and types."""
        types = self.problem.types
        return [
            GridRow(
                job.job_id,
                types[one.pool].type_id,
                one.vms,
                one.predicted_s,
                one.run_s / one.predicted_s - 1,
                one.cost_server_s,
                job.arrives_at_s <= latest_s,
                place == 0,
            )
            for job in self.problem.jobs
            for place, (one, latest_s) in enumerate(
                sorted(
                    zip(job.options, job.latest_starts_s, strict=True),
                    key=lambda pair: (pair[0].pool, pair[0].vms),
                )
            )
        ]

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values: job, VM type, number of VMs, then the figures."""
        grid: dict[str, dict[str, dict[str, object]]] = {}
        for job in self.problem.jobs:
            grid[job.job_id] = {one.type_id: {} for one in self.problem.types}
        for row in self.rows():
            grid[row.job][row.vm_type][str(row.vms)] = column_document(_FIGURES, row)
        configurations = {one.type_id: one.configuration for one in self.problem.types}
        return {"configurations": configurations, "grid": grid}

    def to_frame(self) -> DataFrame:
        """One row for each cluster of each job. Raises MissingExtra without pandas."""
        return column_frame((Column("job"), *_CLUSTER, *_FIGURES), self.rows())


def grid_table(result: PoolsGrid) -> Table:
    """One row for each cluster; the name of a job is in its first row."""
    job: Column[GridRow] = named("job", lambda row: row.job if row.is_first else "")
    return column_table((job, *_CLUSTER, *_FIGURES), result.rows(), rows_max=_ROWS_MAX)
