"""Predicted times of jobs: a point for each, and a line for its interval; the longest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.estimate.job_forecasts import JobForecast
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import BLUE, SKY, WIDTH, finished, heading, lanes
from sluice.reporting.formatting import counted, shortened

JOBS_MAX = 60
_LANE = 20
_NAME_LETTERS = 18


def predictions_chart(jobs: Sequence[tuple[str, JobForecast]]) -> Chart:
    """The chart of jobs that have a predicted time."""
    longest_first = sorted(jobs, key=lambda one: (-(one[1].predicted_s or 0.0), one[0]))
    shown = longest_first[:JOBS_MAX]
    rows = [
        {
            "lane": lane,
            "job": name,
            "predicted": found.predicted_s,
            "low": found.low_s,
            "high": found.high_s,
            "runs": found.runs,
        }
        for lane, (name, found) in enumerate(shown)
    ]
    title = heading("Predicted times", _notes(shown, len(jobs)))
    view = {
        "data": {"values": rows},
        "width": WIDTH,
        "height": _LANE * max(1, len(shown)),
        "encoding": {
            "y": lanes([shortened(name, _NAME_LETTERS) for name, _ in shown]),
            "tooltip": [
                {"field": name, "type": kind}
                for name, kind in (
                    ("job", "nominal"), ("predicted", "quantitative"), ("low", "quantitative"),
                    ("high", "quantitative"), ("runs", "quantitative"),
                )
            ],
        },
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": SKY, "strokeWidth": 6},
                "encoding": {"x": _axis("low"), "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "color": BLUE, "filled": True, "size": 60},
                "encoding": {"x": _axis("predicted")},
            },
        ],
    }  # fmt: skip
    return Chart(finished({"title": title, **view}))


def _notes(shown: Sequence[tuple[str, JobForecast]], jobs: int) -> list[str]:
    notes = []
    if shown:
        notes.append(f"Lines: intervals that hold for {shown[0][1].level * 100:g} % of runs.")
    if len(shown) < jobs:
        notes.append(f"The longest {counted(len(shown), 'job')} of {jobs}.")
    return notes


def _axis(field: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "axis": {"title": "time (s)", "tickCount": 8}}
