"""The Gantt charts of several runs above each other, on one axis of time."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.slots_gantt import slots_gantt
from sluice.reporting.charts.theme import TimeAxis, finished, titled
from sluice.reporting.quantities import duration
from sluice.reporting.result import RunResult


def gantt(runs: Mapping[str, RunResult]) -> Chart:
    """One view for each run, called by its name."""
    axis = TimeAxis(starts_at_s=0.0, ends_at_s=max(run.finished_at_s or 0 for run in runs.values()))
    views = []
    for name, run in runs.items():
        told = f"all done after {duration(run.makespan_s)}, a job's mean response"
        title = titled(name, [f"{told} {duration(run.mean_response_s)}"])
        views.append({**slots_gantt(run, axis), "title": title})
    return Chart(
        finished(
            {
                "title": titled(
                    "The same jobs under two schedulers", ["Pale: maps. Full: reduces."]
                ),
                "vconcat": views,
                "spacing": 26,
            }
        )
    )
