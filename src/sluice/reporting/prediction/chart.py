"""Predicted times of jobs: a point for each, and a line for its interval; the longest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.estimate.job_forecasts import JobForecast
from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.formatting import clock, counted, distinguished

JOBS_MAX = 60
_LANE = 20
_NAME_LETTERS = 18


def predictions_chart(jobs: Sequence[tuple[str, JobForecast]]) -> Chart:
    """The chart of jobs that have a predicted time."""
    longest_first = sorted(jobs, key=lambda one: (-(one[1].predicted_s or 0.0), one[0]))
    shown = longest_first[:JOBS_MAX]
    rows = [_row(lane, name, found) for lane, (name, found) in enumerate(shown)]
    most_s = max((max(found.predicted_s or 0.0, found.high_s or 0.0) for _, found in shown),
                 default=1.0)  # fmt: skip
    fields = (("job", "nominal"), ("time", "nominal"), ("interval", "nominal"),
              ("runs", "quantitative"))  # fmt: skip
    view = {
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _LANE * max(1, len(shown)),
        "encoding": {
            "y": theme.lanes(distinguished([name for name, _ in shown], _NAME_LETTERS)),
            "tooltip": [{"field": field, "type": kind} for field, kind in fields],
        },
        "layer": [
            theme.layer(
                theme.mark("rule", color=theme.SKY, strokeWidth=6),
                where="isValid(datum.low)",
                x=theme.lengths("low", "time", most_s),
                x2={"field": "high"},
            ),
            theme.layer(
                theme.mark("point", color=theme.BLUE, filled=True, size=60),
                x=theme.lengths("predicted", "time", most_s),
            ),
        ],
    }
    title = theme.heading("Predicted times", _notes(shown, len(jobs)))
    return Chart(theme.finished({"title": title, **view}))


def _row(lane: int, name: str, found: JobForecast) -> dict[str, Any]:
    return {
        "lane": lane,
        "job": name,
        "predicted": _ms(found.predicted_s),
        "low": _ms(found.low_s),
        "high": _ms(found.high_s),
        "time": clock(found.predicted_s),
        "interval": f"{clock(found.low_s)} – {clock(found.high_s)}",
        "runs": found.runs,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else theme.MS * seconds


def _notes(shown: Sequence[tuple[str, JobForecast]], jobs: int) -> list[str]:
    notes = []
    if shown:
        notes.append(f"Lines: intervals that hold for {shown[0][1].level * 100:g} % of runs.")
    if len(shown) < jobs:
        notes.append(f"The longest {counted(len(shown), 'job')} of {jobs}.")
    return notes
