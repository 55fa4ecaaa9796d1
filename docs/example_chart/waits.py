"""How long each job waited for its first task, as bars."""

from typing import Any

from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.run.figures import RunFigures


def waits(run: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """A view of Vega-Lite, the longest wait first."""
    rows = [{"job": job.job_id, "waited_s": job.waited_s} for job in run.jobs]
    return {
        "title": f"Seconds until the first task, in a run of {axis.span_s:g} s",
        "data": {"values": rows},
        "mark": "bar",
        "encoding": {
            "x": {"field": "waited_s", "type": "quantitative"},
            "y": {"field": "job", "type": "nominal", "sort": "-x"},
        },
    }
