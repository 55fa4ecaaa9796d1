"""Charts of DynamicMR's evaluation: lines and bars with their errors, and slots over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import INK, PALETTE, WIDTH, finished, titled
from sluice.reproductions.dynamicmr.runs import SeedMean

_HEIGHT = 230
_BAR_STEP = 17

Lines = Mapping[str, Sequence[tuple[float, SeedMean]]]
Bars = Mapping[str, Mapping[str, SeedMean]]  # by group and name


def curves_chart(title: str, note: str, axes: tuple[str, str], views: Mapping[str, Lines]) -> Chart:
    """Lines with error bars, a view for each heading. axes: titles of x and y."""
    names = list(dict.fromkeys(name for lines in views.values() for name in lines))
    return _stacked(title, note, [_curves(head, axes, one, names) for head, one in views.items()])


def _curves(heading: str, axes: tuple[str, str], lines: Lines, names: list[str]) -> dict[str, Any]:
    rows = [
        {"what": name, "x": x, **_value(one)} for name, points in lines.items() for x, one in points
    ]
    place = {
        "x": _quantity("x", axes[0]),
        "color": _colours("what", names),
    }
    line = {
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 34, "filled": True}},
        "encoding": {**place, "y": _quantity("value", axes[1]), "tooltip": _tooltip("what", "x")},
    }
    return {
        "title": titled(heading, []),
        "data": {"values": rows},
        "width": WIDTH,
        "height": _HEIGHT,
        "layer": [{"mark": {"type": "rule", "strokeWidth": 1.3},
                   "encoding": {**place, **_span("y", axes[1])}}, line],
    }  # fmt: skip


def bars_chart(title: str, note: str, axis: str, views: Mapping[str, Bars]) -> Chart:
    """Groups of lying bars with error bars, a view for each heading."""
    names = list(
        dict.fromkeys(name for bars in views.values() for group in bars.values() for name in group)
    )
    return _stacked(title, note, [_bars(head, axis, one, names) for head, one in views.items()])


def _bars(heading: str, axis: str, bars: Bars, names: list[str]) -> dict[str, Any]:
    rows = [
        {"group": group, "what": name, **_value(one)}
        for group, values in bars.items()
        for name, one in values.items()
    ]
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
            "x": {**_quantity("value", axis), "scale": {"zero": True}},
            "color": _colours("what", names),
            "tooltip": _tooltip("group", "what"),
        },
    }
    error = {
        "mark": {"type": "rule", "strokeWidth": 1.3, "color": INK},
        "encoding": {**place, **_span("x", axis)},
    }
    return {
        "title": titled(heading, []),
        "data": {"values": rows},
        "width": WIDTH,
        "height": {"step": _BAR_STEP},
        "layer": [bar, error],
    }


def slots_chart(
    title: str, note: str, step_s: float, views: Mapping[str, Sequence[Mapping[str, int]]]
) -> Chart:
    """Slots in use, by name, stacked: one mapping for each step of so many seconds."""
    names = list(dict.fromkeys(name for steps in views.values() for step in steps for name in step))
    stacked = [_slots(head, step_s, steps, names) for head, steps in views.items()]
    return _stacked(title, note, stacked)


def _slots(
    heading: str, step_s: float, steps: Sequence[Mapping[str, int]], names: list[str]
) -> dict[str, Any]:
    rows = [
        {"what": name, "order": names.index(name), "x": number + 1, "value": step.get(name, 0)}
        for number, step in enumerate(steps)
        for name in names
    ]
    # Maps are pale and reduces full, as in other charts of slots; pools keep their colour.
    shades = [(_pale(colour), colour) for colour in PALETTE[: -(-len(names) // 2)]]
    colours = _colours("what", names)
    colours["scale"]["range"] = [shade for pair in shades for shade in pair][: len(names)]
    return {
        "title": titled(heading, []),
        "data": {"values": rows},
        "width": WIDTH,
        "height": _HEIGHT,
        "mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.6},
        "encoding": {
            "x": {"field": "x", "type": "ordinal",
                  "axis": {"title": f"time step ({step_s:g} s each)", "labelAngle": 0}},
            "y": {**_quantity("value", "slots in use"), "stack": True},
            "order": {"field": "order"},
            "color": colours,
            "tooltip": [{"field": field} for field in ("what", "x", "value")],
        },
    }  # fmt: skip


def _pale(colour: str) -> str:
    """More white than colour."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - 0.4 * (255 - part)):02x}" for part in parts)


def _stacked(title: str, note: str, views: list[dict[str, Any]]) -> Chart:
    head = {**titled(title, [note]), "fontSize": 18, "offset": 18}
    return Chart(finished({"title": head, "vconcat": views, "spacing": 26}))


def _value(one: SeedMean) -> dict[str, float]:
    error = one.error or 0.0
    return {"value": one.mean, "low": one.mean - error, "high": one.mean + error}


def _span(axis: str, title: str) -> dict[str, Any]:
    """From a standard error below the mean to one above."""
    return {axis: _quantity("low", title), f"{axis}2": {"field": "high"}}


def _quantity(field: str, title: str) -> dict[str, Any]:
    axis = {"title": title, "tickCount": 8}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": {"zero": False}}


def _tooltip(*fields: str) -> list[dict[str, str]]:
    return [{"field": field} for field in (*fields, "value", "low", "high")]


def _colours(field: str, names: Sequence[str]) -> dict[str, Any]:
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(names))]
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(names), "range": colours},
        "legend": {"symbolType": "circle"} if len(names) > 1 else None,
    }
