"""Probability to meet all deadlines by the number of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import BAD, BLUE, SKY, WHOLE, WIDTH, finished, heading
from sluice.reporting.formatting import money, share

_HEIGHT = 320


def size_chart(points: Sequence[Mapping[str, Any]], wanted: float) -> Chart:
    """points: fields of `SizePoint`.  wanted: the probability that was asked for."""
    title = heading(
        "Probability to meet all deadlines",
        [f"Line: {share(wanted)} was asked for. Bars: 95 % intervals for the number of draws."],
    )
    # Padding: a point at the end of an axis would be cut in half.
    nodes = {
        "field": "nodes",
        "type": "quantitative",
        "scale": {"padding": 12},
        "axis": {"title": "nodes", "labelExpr": WHOLE},
    }
    view = {
        "data": {"values": [_row(point) for point in points]},
        "width": WIDTH,
        "height": _HEIGHT,
        "encoding": {
            "x": nodes,
            "tooltip": [
                {"field": name, "type": "nominal", "title": title} for name, title in _TEXTS.items()
            ],
        },
        "layer": [
            {
                "mark": {"type": "rule", "color": SKY, "strokeWidth": 6},
                "encoding": {"y": _share("low"), "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "color": BLUE, "point": {"color": BLUE, "size": 60}},
                "encoding": {"y": _share("probability")},
            },
            {
                "mark": {"type": "rule", "color": BAD, "strokeDash": [4, 4]},
                "encoding": {"y": {"datum": wanted}, "x": {"value": 0}, "x2": {"value": "width"}},
            },
        ],
    }
    return Chart(finished({"title": title, **view}))


_TEXTS = {
    "nodes": "nodes",
    "slots": "slots",
    "probability text": "probability",
    "interval text": "95 % interval",
    "cost text": "cost",
}


def _row(point: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **point,
        "probability text": share(point["probability"]),
        "interval text": f"{share(point['low'])} to {share(point['high'])}",
        "cost text": money(point.get("cost_usd")),
    }


def _share(field: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [-0.03, 1.03], "nice": False},
        "axis": {"title": "probability", "format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]},
    }
