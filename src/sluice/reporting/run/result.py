"""The result of a run, with its data frames, charts and notebook view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.model.name_types import ChartName
from sluice.reporting.charts.chart import Chart
from sluice.reporting.extras import data_frame
from sluice.reporting.notebook_html import result_html
from sluice.reporting.run import trace
from sluice.reporting.run.chart import chart_of
from sluice.reporting.run.figures import RunFigures

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunResult(RunFigures):
    """The outcome of a simulation or of a live run."""

    def to_frame(self) -> DataFrame:
        """One row for each line of the trace. Raises MissingExtra without pandas."""
        rows = trace.records(self.attempts, is_totals=self.cluster.is_totals)
        return data_frame(rows, columns=trace.FIELDS)

    def jobs_frame(self) -> DataFrame:
        """One row for each job. Raises MissingExtra without pandas."""
        rows = [{"job": job.job_id, **job.document()} for job in self.jobs]
        for row in rows:
            row.pop("failure", None)  # not a single value
        return data_frame(rows)

    def plot(self, kind: ChartName | str = "gantt") -> Chart:
        """A chart: "gantt" (the next four in one), "jobs", "slots", "utilisation", "waiting", or
        "utility" for a policy that places job slots. Several with a common time axis are named
        as in "utility,slots".

        Raises InvalidInput for another kind.
        """
        return chart_of(self, kind)

    def __repr__(self) -> str:
        return (
            f"<RunResult: {len(self.jobs)} jobs, {len(self.attempts)} attempts,"
            f" makespan_s={self.makespan_s}>"
        )

    def _repr_html_(self) -> str:
        return result_html(self)

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, object]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
