"""Schedulers compared: how long jobs waited, and the means of each scheduler.

The waits of all jobs are drawn as the share of jobs that waited at most so long, a line for each
scheduler. Below it is one view for each measure, because measures have different units: a bar for
the mean, and a line from the minimum to the maximum.
"""

from __future__ import annotations

from typing import Any

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import (
    BLUE,
    INK,
    NAMES_WIDTH,
    PALETTE,
    WIDTH,
    finished,
    heading,
    lanes,
)
from sluice.reporting.compare.result import SchedulerComparison
from sluice.reporting.compare.run_summary import percentile
from sluice.reporting.formatting import shortened

_MEASURES = {
    "makespan_s": "makespan (s)",
    "mean_response_s": "mean response (s)",
    "wait_s_p95": "p95 of the jobs' waits (s)",
    "slowdown_p95": "p95 of the jobs' slowdowns",
    "deadlines_met": "deadlines met",
    "cost_usd": "cost ($)",
}
_LANE = 26
_NAME_LETTERS = 18
_WAITS_HEIGHT = 200
_STEPS = 100  # points of one line


def schedulers_chart(comparison: SchedulerComparison) -> Chart:
    """The chart of a comparison; measures without values are not shown."""
    views = [_waits_view(comparison)] if any(row.waits_s for row in comparison.rows) else []
    views += [_view(comparison, measure) for measure in _MEASURES if _is_shown(comparison, measure)]
    runs = max((row.runs for row in comparison.rows), default=0)
    note = f"Bars: means over {runs} seeds; lines: minimum to maximum." if runs > 1 else ""
    title = heading("Schedulers compared", [note])
    return Chart(finished({"title": title, "vconcat": views, "spacing": 26}))


def _is_shown(comparison: SchedulerComparison, measure: str) -> bool:
    if measure == "deadlines_met" and not comparison.deadlines:
        return False
    return any(row.spreads.get(measure) is not None for row in comparison.rows)


def _waits_view(comparison: SchedulerComparison) -> dict[str, Any]:
    """The share of jobs that waited at most so long, by scheduler."""
    # Two schedulers may have the same shortened name: the number keeps their lines apart.
    names = [
        f"{place + 1} {shortened(row.scheduler, _NAME_LETTERS)}"
        for place, row in enumerate(comparison.rows)
    ]
    rows = [
        {"scheduler": name, "wait": wait_s, "share": step / _STEPS}
        for name, row in zip(names, comparison.rows, strict=True)
        if row.waits_s
        for step in range(_STEPS + 1)
        if (wait_s := percentile(row.waits_s, step / _STEPS)) is not None
    ]
    axis = {
        "title": "share of jobs", "format": "%", "minExtent": NAMES_WIDTH, "maxExtent": NAMES_WIDTH,
    }  # fmt: skip
    return {
        "title": "Jobs that waited at most so long for their first task",
        "data": {"values": rows},
        "width": WIDTH,
        "height": _WAITS_HEIGHT,
        "mark": {"type": "line", "strokeWidth": 2, "clip": True},
        "encoding": {
            "x": {"field": "wait", "type": "quantitative", "axis": {"title": "wait (s)"}},
            "y": {"field": "share", "type": "quantitative", "axis": axis},
            "order": {"field": "share", "type": "quantitative"},
            "color": {
                "field": "scheduler",
                "type": "nominal",
                "scale": {"domain": names, "range": list(PALETTE)},
                "legend": {"columns": 4},
            },
        },
    }


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
        if (spread := row.spreads.get(measure)) is not None
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
