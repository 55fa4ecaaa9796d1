"""Charts of the pareto paper's evaluation: frontiers side by side, and figures by job count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import PALETTE, WIDTH, finished, titled

_HEIGHT = 300

Series = Mapping[str, Sequence[tuple[float, float]]]


def frontiers_chart(title: str, note: str, views: Mapping[str, Series]) -> Chart:
    """Plans in time and money, a view for each workload, a colour for each search."""
    names = list(dict.fromkeys(name for series in views.values() for name in series))
    stacked = [_frontier(heading, series, names) for heading, series in views.items()]
    head = {**titled(title, [note]), "fontSize": 18, "offset": 18}
    return Chart(finished({"title": head, "vconcat": stacked, "spacing": 26}))


def _frontier(heading: str, series: Series, names: Sequence[str]) -> dict[str, Any]:
    rows = [
        {"search": name, "minutes": time_s / 60, "usd": usd}
        for name, points in series.items()
        for time_s, usd in points
    ]
    return {
        "title": titled(heading, []),
        "data": {"values": rows},
        "width": WIDTH,
        "height": _HEIGHT,
        "mark": {
            "type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "clip": True,
            "point": {"size": 14, "filled": True},
        },
        "encoding": {
            "x": _channel("minutes", "makespan (min)", is_log=True),
            "y": _channel("usd", "budget ($)", is_log=True),
            "color": _colours("search", names),
            "tooltip": [{"field": field} for field in ("search", "minutes", "usd")],
        },
    }  # fmt: skip


def growth_chart(title: str, note: str, x_title: str, y_title: str, series: Series) -> Chart:
    """Lines over a count, with a logarithmic y."""
    rows = [{"what": name, "x": x, "y": y} for name, points in series.items() for x, y in points]
    return Chart(
        finished(
            {
                "title": titled(title, [note]),
                "data": {"values": rows},
                "width": WIDTH,
                "height": _HEIGHT,
                "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 40, "filled": True}},
                "encoding": {
                    "x": _channel("x", x_title),
                    "y": _channel("y", y_title, is_log=True),
                    "color": _colours("what", list(series)),
                    "tooltip": [{"field": field} for field in ("what", "x", "y")],
                },
            }
        )
    )


def bars_chart(
    title: str, note: str, axis: str, groups: Mapping[str, Mapping[str, float]]
) -> Chart:
    """A group of bars for each name, a bar for each way."""
    rows = [
        {"group": group, "way": way, "value": value}
        for group, values in groups.items()
        for way, value in values.items()
    ]
    ways = list(dict.fromkeys(row["way"] for row in rows))
    value = {**_channel("value", axis), "scale": {"zero": True}}
    return Chart(
        finished(
            {
                "title": titled(title, [note]),
                "data": {"values": rows},
                "width": WIDTH,
                "height": {"step": 18},
                "mark": {"type": "bar"},
                "encoding": {
                    "y": {
                        "field": "group",
                        "type": "nominal",
                        "sort": list(groups),
                        "axis": {"title": None},
                        "scale": {"paddingInner": 0.35},
                    },
                    "yOffset": {"field": "way", "sort": ways},
                    "x": value,
                    "color": _colours("way", [str(way) for way in ways]),
                    "tooltip": [{"field": field} for field in ("group", "way", "value")],
                },
            }
        )
    )


def _channel(field: str, title: str, *, is_log: bool = False) -> dict[str, Any]:
    scale: dict[str, Any] = {"zero": False}
    if is_log:
        scale = {"type": "log", "nice": False, "padding": 14}
    axis = {"title": title, "tickCount": 8, "format": ",~f"}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _colours(field: str, names: Sequence[str]) -> dict[str, Any]:
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(PALETTE[: len(names)])},
        "legend": {"symbolType": "circle"},
    }
