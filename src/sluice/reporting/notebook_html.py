"""What a notebook shows for a result: its numbers and its first jobs, as a small HTML table."""

from __future__ import annotations

import html

from sluice.reporting.formatting import count, duration, share
from sluice.reporting.run.figures import RunFigures

_JOBS_MAX = 20


def result_html(result: RunFigures) -> str:
    """The result as an HTML fragment; ids are escaped."""
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
        for job in result.jobs[:_JOBS_MAX]
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
