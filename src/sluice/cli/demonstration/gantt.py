"""The Gantt charts of several runs above each other, on one axis of time."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import duration
from sluice.reporting.run.result import RunResult
from sluice.reporting.run.slots_gantt import slots_gantt


def gantt(runs: Mapping[str, RunResult]) -> Chart:
    """One view for each run, called by its name."""
    axis = TimeAxis(starts_at_s=0.0, ends_at_s=max(run.finished_at_s or 0 for run in runs.values()))
    views = []
    for name, run in runs.items():
        makespan, response = duration(run.makespan_s), duration(run.mean_response_s)
        title = theme.titled(
            name, [f"all done after {makespan}, a job after {response} on average"]
        )
        views.append({**slots_gantt(run, axis), "title": title})
    title = theme.titled("The same jobs, scheduled differently", ["Pale: maps. Full: reduces."])
    title |= {"fontSize": 18, "offset": 16, "frame": "bounds"}
    # A legend for each view, in its own place: one for all would cover the first view's title.
    resolve = {"scale": {"color": "independent"}}
    return Chart(theme.finished(theme.stacked(title, views, spacing=26, resolve=resolve)))
