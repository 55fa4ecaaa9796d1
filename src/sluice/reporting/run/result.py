"""The result of a run, with its data frames, charts and notebook view."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.model.name_types import ChartName
from sluice.reporting.charts.chart import Chart
from sluice.reporting.extras import data_frame
from sluice.reporting.formatting import count, duration, share
from sluice.reporting.run import trace
from sluice.reporting.run.chart import chart_of
from sluice.reporting.run.figures import RunFigures

if TYPE_CHECKING:
    from pandas import DataFrame

_NOTEBOOK_JOBS_MAX = 20


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
        return _html(self)

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, object]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _html(result: RunFigures) -> str:
    """The numbers and the first jobs, as an HTML fragment; ids are escaped."""
    heads = ("job", "pool", "submitted", "waited", "ran", "finished", "state")
    rows = [
        (
            job.job_id,
            job.pool,
            duration(job.submitted_at_s),
            duration(job.waited_s),
            duration(job.ran_s),
            duration(job.finished_at_s),
            job.state,
        )
        for job in result.jobs[:_NOTEBOOK_JOBS_MAX]
    ]
    more = len(result.jobs) - len(rows)
    rest = f"<p>and {count(more)} more: see <code>jobs_frame()</code></p>" if more else ""
    table = _row("th", heads) + "".join(_row("td", row) for row in rows)
    return f"<p>{html.escape(_summary(result))}</p><table>{table}</table>{rest}"


def _row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _summary(result: RunFigures) -> str:
    used = ", ".join(
        f"{name.replace('_', ' ')} {share(part)} used"
        for name, part in result.utilisation.items()
        if part is not None
    )
    head = f"{count(len(result.jobs))} jobs, makespan {duration(result.makespan_s)}"
    return f"{head}, mean response {duration(result.mean_response_s)}, {used}"
