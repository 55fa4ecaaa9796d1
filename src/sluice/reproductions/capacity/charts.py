"""Charts of the capacity paper's evaluation: lines over a count, and surfaces over two worths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import INK, PALETTE, WIDTH, finished, titled

_HEIGHT, _TILE = 280, 150

Lines = Mapping[str, Sequence[tuple[float, float]]]


def lines_chart(title: str, note: str, x_title: str, y_title: str, lines: Lines) -> Chart:
    """A line with points for each name."""
    rows = [{"what": name, "x": x, "y": y} for name, points in lines.items() for x, y in points]
    names = list(lines)
    colours = {"domain": names, "range": [PALETTE[n % len(PALETTE)] for n in range(len(names))]}
    return Chart(
        finished(
            {
                "title": titled(title, [note]),
                "data": {"values": rows},
                "width": WIDTH,
                "height": _HEIGHT,
                "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 36, "filled": True}},
                "encoding": {
                    "x": _channel("x", x_title),
                    "y": _channel("y", y_title),
                    "color": {"field": "what", "type": "nominal", "scale": colours},
                    "tooltip": [{"field": field} for field in ("what", "x", "y")],
                },
            }
        )
    )


def _channel(field: str, title: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"zero": False, "nice": True},
        "axis": {"title": title, "tickCount": 8},
    }


def bars_chart(
    title: str,
    note: str,
    axes: tuple[str, str],
    bars: Sequence[tuple[str, str, float]],
    line: float,
) -> Chart:
    """Bars in groups (group, name, value), and a line across. axes: titles of x and y."""
    rows = [{"group": group, "name": name, "value": value} for group, name, value in bars]
    names = list(dict.fromkeys(name for _, name, _ in bars))
    colours = {"domain": names, "range": list(PALETTE[: len(names)])}
    y = {"field": "value", "type": "quantitative", "axis": {"title": axes[1], "tickCount": 6}}
    layers = [
        {
            "data": {"values": rows},
            "mark": {"type": "bar"},
            "encoding": {
                "x": {"field": "group", "type": "nominal", "sort": None,
                      "axis": {"title": axes[0], "labelAngle": 0}},
                "xOffset": {"field": "name", "sort": None},
                "y": y,
                "color": {"field": "name", "type": "nominal", "scale": colours},
            },
        },
        {
            "data": {"values": [{"value": line}]},
            "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK},
            "encoding": {"y": y},
        },
    ]  # fmt: skip
    spec = {"title": titled(title, [note]), "width": WIDTH, "height": _HEIGHT, "layer": layers}
    return Chart(finished(spec))


def surfaces_chart(
    title: str,
    note: str,
    surfaces: Mapping[str, Mapping[str, Sequence[tuple[float, float, float]]]],
) -> Chart:
    """Tiles of (x, y, value): a row for each measure, a column for each condition."""
    rows = [
        {"hconcat": [_tile(name, points) for name, points in views.items()], "spacing": 22,
         "title": titled(measure, [])}
        for measure, views in surfaces.items()
    ]  # fmt: skip
    head = {**titled(title, [note]), "fontSize": 18, "offset": 18}
    resolve = {"scale": {"color": "independent"}}
    return Chart(finished({"title": head, "vconcat": rows, "spacing": 26, "resolve": resolve}))


def _tile(name: str, points: Sequence[tuple[float, float, float]]) -> dict[str, Any]:
    rows = [{"x": x, "y": y, "value": value} for x, y, value in points]

    def axis(field: str, text: str) -> dict[str, Any]:
        return {"field": field, "type": "ordinal", "sort": "descending" if field == "y" else None,
                "axis": {"title": text, "labels": False, "ticks": False}}  # fmt: skip

    return {
        "title": {"text": name, "fontSize": 11.5, "fontWeight": 400},
        "data": {"values": rows},
        "width": _TILE,
        "height": _TILE,
        "mark": {"type": "rect"},
        "encoding": {
            "x": axis("x", "worth of class 1"),
            "y": axis("y", "worth of class 2"),
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": {"scheme": "blues"},
                "legend": {"gradientLength": _TILE, "gradientThickness": 8, "format": ".3~s"},
            },
            "tooltip": [{"field": "value"}],
        },
    }
