"""The charts of all reproductions: lines, bars, step frontiers, surfaces and slots over time.

All of them take rows of plain values. An `Estimate` is a mean with its standard error, None for a
single run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart

_HEIGHT, _FRONTIER_HEIGHT, _TILE, _BAR_STEP = 280, 300, 150, 17

Lines = Mapping[str, Sequence[tuple[float, float]]]  # points (x, y) by name
Estimate = tuple[float, float | None]
EstimatedLines = Mapping[str, Sequence[tuple[float, Estimate]]]
EstimatedBars = Mapping[str, Mapping[str, Estimate]]  # by group and name
Tiles = Mapping[str, Sequence[tuple[float, float, float]]]  # (x, y, value) by condition


# --- lines ----------------------------------------------------------------------------------------


def lines_chart(
    title: str, note: str, axes: tuple[str, str], lines: Lines, *, is_log: bool = False
) -> Chart:
    """A line with points for each name. axes: titles of x and y.  is_log: whether y is."""
    rows = [{"what": name, "x": x, "y": y} for name, points in lines.items() for x, y in points]
    view = {
        "title": theme.titled(title, [note]),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 36, "filled": True}},
        "encoding": {
            "x": _channel("x", axes[0]),
            "y": _channel("y", axes[1], is_log=is_log),
            "color": _colours("what", list(lines)),
            "tooltip": _tooltip("what", "x", "y"),
        },
    }
    return Chart(theme.finished(view))


def curves_chart(
    title: str, note: str, axes: tuple[str, str], views: Mapping[str, EstimatedLines]
) -> Chart:
    """Lines with error bars, a view for each heading. axes: titles of x and y."""
    names = _names(views.values())
    return _stacked(title, note, [_curves(head, axes, one, names) for head, one in views.items()])


def _curves(
    head: str, axes: tuple[str, str], lines: EstimatedLines, names: list[str]
) -> dict[str, Any]:
    rows = [
        {"what": name, "x": x, **_span_of(one)}
        for name, points in lines.items()
        for x, one in points
    ]
    place = {"x": _channel("x", axes[0]), "color": _colours("what", names)}
    error = {
        "mark": {"type": "rule", "strokeWidth": 1.3},
        "encoding": {**place, **_error("y", axes[1])},
    }
    line = {
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 34, "filled": True}},
        "encoding": {
            **place,
            "y": _channel("value", axes[1]),
            "tooltip": _tooltip("what", "x", "value", "low", "high"),
        },
    }
    return {
        "title": theme.titled(head, []),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "layer": [error, line],
    }


def frontiers_chart(title: str, note: str, views: Mapping[str, Lines]) -> Chart:
    """Plans (makespan in seconds, budget), a view for each heading, a colour for each search."""
    names = _names(views.values())
    return _stacked(title, note, [_frontier(head, one, names) for head, one in views.items()])


def _frontier(head: str, lines: Lines, names: Sequence[str]) -> dict[str, Any]:
    rows = [
        {"search": name, "minutes": time_s / 60, "usd": usd}
        for name, points in lines.items()
        for time_s, usd in points
    ]
    return {
        "title": theme.titled(head, []),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _FRONTIER_HEIGHT,
        "mark": {
            "type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "clip": True,
            "point": {"size": 14, "filled": True},
        },
        "encoding": {
            "x": _channel("minutes", "makespan (min)", is_log=True),
            "y": _channel("usd", "budget ($)", is_log=True),
            "color": _colours("search", names),
            "tooltip": _tooltip("search", "minutes", "usd"),
        },
    }  # fmt: skip


# --- bars -----------------------------------------------------------------------------------------


def bars_chart(title: str, note: str, axis: str, views: Mapping[str, EstimatedBars]) -> Chart:
    """Groups of horizontal bars with error bars, a view for each heading."""
    names = _names(group for bars in views.values() for group in bars.values())
    return _stacked(title, note, [_bars(head, axis, one, names) for head, one in views.items()])


def plain_bars_chart(
    title: str, note: str, axis: str, groups: Mapping[str, Mapping[str, float]]
) -> Chart:
    """Groups of horizontal bars without errors."""
    bars = {
        group: {name: (value, None) for name, value in values.items()}
        for group, values in groups.items()
    }
    return bars_chart(title, note, axis, {"": bars})


def _bars(head: str, axis: str, bars: EstimatedBars, names: list[str]) -> dict[str, Any]:
    rows = [
        {"group": group, "what": name, **_span_of(one)}
        for group, values in bars.items()
        for name, one in values.items()
    ]
    has_errors = any(row["low"] != row["high"] for row in rows)
    place = {
        "y": {
            "field": "group", "type": "nominal", "sort": list(bars),
            "axis": {"title": None, "minExtent": 110, "labelLimit": 180, "ticks": False,
                     "domain": False},
            "scale": {"paddingInner": 0.3},
        },
        "yOffset": {"field": "what", "sort": names},
    }  # fmt: skip
    bar = {
        "mark": {"type": "bar"},
        "encoding": {
            **place,
            "x": {**_channel("value", axis), "scale": {"zero": True}},
            "color": _colours("what", names),
            "tooltip": _tooltip("group", "what", "value", *(("low", "high") if has_errors else ())),
        },
    }
    error = {
        "mark": {"type": "rule", "strokeWidth": 1.3, "color": theme.INK},
        "encoding": {**place, **_error("x", axis)},
    }
    return {
        "title": theme.titled(head, []),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": {"step": _BAR_STEP},
        "layer": [bar, error] if has_errors else [bar],
    }


def columns_chart(
    title: str,
    note: str,
    axes: tuple[str, str],
    columns: Sequence[tuple[str, str, float]],
    line: float,
) -> Chart:
    """Groups of columns (group, name, value), and a reference line. axes: titles of x and y."""
    rows = [{"group": group, "what": name, "value": value} for group, name, value in columns]
    names = list(dict.fromkeys(name for _, name, _ in columns))
    y = theme.quantity("value", axis={"title": axes[1], "tickCount": 6})
    layers = [
        {
            "data": {"values": rows},
            "mark": {"type": "bar"},
            "encoding": {
                "x": {"field": "group", "type": "nominal", "sort": None,
                      "axis": {"title": axes[0], "labelAngle": 0}},
                "xOffset": {"field": "what", "sort": None},
                "y": y,
                "color": _colours("what", names),
            },
        },
        theme.line_at("value", line, channel=y),
    ]  # fmt: skip
    view = theme.view(theme.titled(title, [note]), _HEIGHT, layer=layers)
    return Chart(theme.finished(view))


def slots_chart(
    title: str, note: str, step_s: float, views: Mapping[str, Sequence[Mapping[str, int]]]
) -> Chart:
    """Slots in use by name, stacked. views: one mapping for each step of `step_s` seconds."""
    names = _names(step for steps in views.values() for step in steps)
    stacked = [_slots(head, step_s, steps, names) for head, steps in views.items()]
    return _stacked(title, note, stacked)


def _slots(
    head: str, step_s: float, steps: Sequence[Mapping[str, int]], names: list[str]
) -> dict[str, Any]:
    rows = [
        {"what": name, "order": names.index(name), "x": number + 1, "value": step.get(name, 0)}
        for number, step in enumerate(steps)
        for name in names
    ]
    # Maps are pale and reduces are full, as in other charts of slots. A pool keeps its colour.
    shades = [(_pale(colour), colour) for colour in theme.PALETTE[: -(-len(names) // 2)]]
    colours = _colours("what", names)
    colours["scale"]["range"] = [shade for pair in shades for shade in pair][: len(names)]
    return {
        "title": theme.titled(head, []),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "mark": {"type": "bar", "stroke": theme.EDGE, "strokeWidth": 0.6},
        "encoding": {
            "x": {"field": "x", "type": "ordinal",
                  "axis": {"title": f"time step ({step_s:g} s each)", "labelAngle": 0}},
            "y": {**_channel("value", "slots in use"), "stack": True},
            "order": {"field": "order"},
            "color": colours,
            "tooltip": _tooltip("what", "x", "value"),
        },
    }  # fmt: skip


def _pale(colour: str) -> str:
    """The colour mixed with more white."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - 0.4 * (255 - part)):02x}" for part in parts)


# --- surfaces -------------------------------------------------------------------------------------


def surfaces_chart(title: str, note: str, surfaces: Mapping[str, Tiles]) -> Chart:
    """Coloured tiles: a row of views for each measure, a column for each condition."""
    rows = [
        {"hconcat": [_tile(name, points) for name, points in views.items()], "spacing": 22,
         "title": theme.titled(measure, [])}
        for measure, views in surfaces.items()
    ]  # fmt: skip
    return _stacked(title, note, rows, resolve={"scale": {"color": "independent"}})


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
            "color": theme.quantity(
                "value",
                scale={"scheme": "blues"},
                legend={"gradientLength": _TILE, "gradientThickness": 8, "format": ".3~s"},
            ),
            "tooltip": _tooltip("value"),
        },
    }


# --- parts of all of them -------------------------------------------------------------------------


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    """The keys of all mappings, each once, in the order of their first use."""
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _stacked(title: str, note: str, views: list[dict[str, Any]], **more: object) -> Chart:
    view = theme.stacked(theme.heading(title, [note]), views, spacing=26, **more)
    return Chart(theme.finished(view))


def _span_of(one: Estimate) -> dict[str, float]:
    mean, error = one[0], one[1] or 0.0
    return {"value": mean, "low": mean - error, "high": mean + error}


def _error(axis: str, title: str) -> dict[str, Any]:
    """From a standard error below the mean to one above."""
    return {axis: _channel("low", title), f"{axis}2": {"field": "high"}}


def _channel(field: str, title: str, *, is_log: bool = False) -> dict[str, Any]:
    scale: dict[str, Any] = {"zero": False}
    if is_log:
        scale = {"type": "log", "nice": False, "padding": 14}
    axis = {"title": title, "tickCount": 8, "format": ",~f"}
    return theme.quantity(field, scale=scale, axis=axis)


def _tooltip(*fields: str) -> list[dict[str, str]]:
    return [{"field": field} for field in fields]


def _colours(field: str, names: Sequence[str]) -> dict[str, Any]:
    return theme.colours(field, names, legend={"symbolType": "circle"} if len(names) > 1 else None)
