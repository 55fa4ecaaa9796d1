"""Schedulers compared: a bar for the mean of each, and a line from its minimum to its maximum.

One view for each measure, because measures have different units.
"""

from __future__ import annotations

from typing import Any

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import BLUE, INK, WIDTH, finished, heading, lanes
from sluice.reporting.compare.result import SchedulerComparison
from sluice.reporting.formatting import shortened

_MEASURES = {
    "makespan_s": "makespan (s)",
    "mean_response_s": "mean response (s)",
    "deadlines_met": "deadlines met",
    "cost_usd": "cost ($)",
}
_LANE = 26
_NAME_LETTERS = 18


def schedulers_chart(comparison: SchedulerComparison) -> Chart:
    """The chart of a comparison; measures without values are not shown."""
    views = [_view(comparison, measure) for measure in _MEASURES if _is_shown(comparison, measure)]
    runs = max((row.runs for row in comparison.rows), default=0)
    note = f"Bars: means over {runs} seeds; lines: minimum to maximum." if runs > 1 else ""
    title = heading("Schedulers compared", [note])
    return Chart(finished({"title": title, "vconcat": views, "spacing": 26}))


def _is_shown(comparison: SchedulerComparison, measure: str) -> bool:
    if measure == "deadlines_met" and not comparison.deadlines:
        return False
    return any(row.spreads[measure] is not None for row in comparison.rows)


def _view(comparison: SchedulerComparison, measure: str) -> dict[str, Any]:
    rows = [
        {
            "lane": lane,
            "scheduler": row.scheduler,
            "mean": spread.mean,
            "least": spread.least,
            "most": spread.most,
        }
        for lane, row in enumerate(comparison.rows)
        if (spread := row.spreads[measure]) is not None
    ]
    # All schedulers in every view, in the order in which they were named; both ends of a name stay.
    names = [shortened(row.scheduler, _NAME_LETTERS) for row in comparison.rows]
    return {
        "data": {"values": rows},
        "width": WIDTH,
        "height": _LANE * len(comparison.rows),
        "encoding": {"y": lanes(names)},
        "layer": [
            {
                "mark": {"type": "bar", "color": BLUE, "height": {"band": 0.62}},
                "encoding": {"x": _axis("mean", measure)},
            },
            {
                "mark": {"type": "rule", "color": INK},
                "encoding": {"x": _axis("least", measure), "x2": {"field": "most"}},
            },
        ],
    }


def _axis(field: str, measure: str) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": _MEASURES[measure], "tickCount": 8}
    if measure == "deadlines_met":
        axis |= {"tickMinStep": 1}
    return {"field": field, "type": "quantitative", "axis": axis}
