"""Probability to meet all deadlines by the number of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.formatting import money, share

_HEIGHT = 320


def size_chart(points: Sequence[Mapping[str, Any]], wanted: float) -> Chart:
    """points: fields of `SizePoint`.  wanted: the probability that was asked for."""
    title = theme.heading(
        "Probability to meet all deadlines",
        [f"Line: {share(wanted)} was asked for. Bars: 95 % intervals for the number of draws."],
    )
    # Padding: a point at the end of an axis would be cut in half.
    nodes = theme.quantity(
        "nodes", scale={"padding": 12}, axis={"title": "nodes", "labelExpr": theme.WHOLE}
    )
    view = {
        "data": {"values": [_row(point) for point in points]},
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "encoding": {"x": nodes, "tooltip": theme.titled_tooltip(_TEXTS)},
        "layer": [
            {
                "mark": {"type": "rule", "color": theme.SKY, "strokeWidth": 6},
                "encoding": {"y": _share("low"), "y2": {"field": "high"}},
            },
            {
                "mark": {
                    "type": "line",
                    "color": theme.BLUE,
                    "point": {"color": theme.BLUE, "size": 60},
                },
                "encoding": {"y": _share("probability")},
            },
            {
                "mark": {"type": "rule", "color": theme.BAD, "strokeDash": [4, 4]},
                "encoding": {"y": {"datum": wanted}, "x": {"value": 0}, "x2": {"value": "width"}},
            },
        ],
    }
    return Chart(theme.finished({"title": title, **view}))


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
    return theme.quantity(
        field,
        scale={"domain": [-0.03, 1.03], "nice": False},
        axis={"title": "probability", "format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]},
    )
