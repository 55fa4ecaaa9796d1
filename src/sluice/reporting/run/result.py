"""The result of a run, with its data frames, charts and notebook view."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.model.errors import InvalidInput
from sluice.model.name_types import ChartName
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.formatting import count, counted, duration, share
from sluice.reporting.run import trace
from sluice.reporting.run.figures import RunFigures

if TYPE_CHECKING:
    from sluice.reporting.charts.chart import Chart

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

    def lines(self, job_id: str | None = None) -> Iterator[str]:
        """The lines of a job's output, part after part, of the only job by default.

        Raises InvalidInput if the job has no output here: a simulated or failed one, or at a URL.
        """
        outputs = self.extra.get("outputs", {})
        assert isinstance(outputs, Mapping)
        if job_id is None and len(outputs) == 1:
            (job_id,) = outputs
        folder = outputs.get(job_id)
        if folder is None or "://" in folder:
            raise InvalidInput(
                "the result has no output of it in a folder",
                where="job_id" if job_id is None else str(job_id)[:200],
                hint=f"give one of: {', '.join(map(str, outputs)) or 'none ended with an output'}",
            )
        return _lines_in(Path(folder))

    def plot(self, kind: ChartName | str = "gantt") -> Chart:
        """A chart: "gantt" (the next four in one), "jobs", "slots", "utilisation", "waiting", or
        "utility" for a policy that places job slots. Several with a common time axis are named
        as in "utility,slots".

        Raises InvalidInput for another kind.
        """
        from sluice.reporting.run.chart import chart_of

        return chart_of(self, kind)

    def __repr__(self) -> str:
        return (
            f"<RunResult: {counted(len(self.jobs), 'job')},"
            f" {counted(sum(one.tasks for one in self.attempts), 'attempt')},"
            f" makespan_s={self.makespan_s}>"
        )

    def _repr_html_(self) -> str:
        return _html(self)

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, object]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _lines_in(folder: Path) -> Iterator[str]:
    for part in sorted(folder.glob("part-*")):
        with part.open(encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            yield from (line.removesuffix("\n") for line in stream)


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
