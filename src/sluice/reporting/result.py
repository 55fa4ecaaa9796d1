"""What a run came to, with all the ways to look at it: frames, charts, notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.reporting import trace
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.dashboard import chart_of
from sluice.reporting.extras import required
from sluice.reporting.figures import RunFigures
from sluice.reporting.notebook_html import result_html

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunResult(RunFigures):
    """The outcome of a simulation or of a live run."""

    def to_frame(self) -> DataFrame:
        """One row for each line of the trace. Raises MissingExtra without pandas."""
        pandas = required("pandas", extra="frame", what="a data frame")
        rows = list(trace.records(self.attempts, is_totals=self.cluster.is_totals))
        frame: DataFrame = pandas.DataFrame(rows, columns=trace.FIELDS)
        return frame

    def jobs_frame(self) -> DataFrame:
        """One row for each job. Raises MissingExtra without pandas."""
        pandas = required("pandas", extra="frame", what="a data frame")
        rows = [{"job": job.job_id, **job.document()} for job in self.jobs]
        frame: DataFrame = pandas.DataFrame(rows)
        return frame.drop(columns="failure", errors="ignore")  # not a single value

    def plot(self, kind: str = "gantt") -> Chart:
        """A chart: "gantt" (all of the others in one), "slots", "jobs", "utilisation", "waiting".

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
