"""An overview of a chart's time, with a brush that sets the window that the chart shows.

Only HTML pages have it: `drawing.js` draws it below its chart and links the two. It is kept in
`usermeta`, which renderers leave alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.step_counts import StepCounts
from sluice.reporting.charts.theme import TimeAxis

OVERVIEW = "overview"
_HEIGHT = 36
_START = {"field": "start", "type": "temporal"}


def with_overview(
    spec: Mapping[str, Any], spans_s: Iterable[tuple[float, float]], axis: TimeAxis, what: str
) -> dict[str, Any]:
    """The finished specification of a chart, with an overview of how many spans there are when.

    spans_s: start and end, seconds.  what: they are, such as "jobs". A chart whose
    time does not zoom has none.
    """
    zoom = _time_zoom(spec)
    if zoom is None:
        return dict(spec)
    changes = [change for span in spans_s for change in ((span[0], 1), (span[1], -1))]
    return {**spec, "usermeta": {OVERVIEW: {"zoom": zoom, "view": _view(changes, axis, what)}}}


def _view(changes: list[tuple[float, int]], axis: TimeAxis, what: str) -> dict[str, Any]:
    counts = StepCounts.of({what: changes}, axis)
    rows = [
        {"start": axis.at(at_s), "count": level}
        for at_s, level in zip(counts.edges_s, counts.counts[what], strict=True)
    ]
    x = axis.encoding()
    hidden = theme.names_axis(labels=False, ticks=False, domain=False, grid=False)
    return {
        "$schema": theme.SCHEMA,
        "config": {**theme.CONFIG, "padding": {"left": 14, "right": 14, "top": 4, "bottom": 4}},
        "title": {"text": f"Drag to choose a window ({what})", "fontSize": 11, "offset": 4,
                  "fontWeight": 400, "color": theme.FAINT},
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "data": {"values": rows},
        "params": [
            {
                "name": "brush",
                "select": {
                    "type": "interval",
                    "encodings": ["x"],
                    "mark": {"fill": theme.BLUE, "fillOpacity": 0.18, "stroke": theme.BLUE},
                },
            }
        ],
        "mark": {"type": "area", "interpolate": "step-after", "color": theme.FAINT,
                 "opacity": 0.55},
        "encoding": {
            "x": {**x, "axis": {**x["axis"], "title": None, "grid": False}},
            "y": theme.quantity("count", axis=hidden),
        },
    }  # fmt: skip


def _time_zoom(spec: Any) -> str | None:  # noqa: ANN401  # any JSON value
    """The name of the first zoom of a time axis whose field is `start`."""
    if isinstance(spec, Mapping):
        x = spec.get("encoding", {}).get("x", {})
        for param in spec.get("params", ()):
            if param.get("bind") == "scales" and _START.items() <= x.items():
                return str(param["name"])
        spec = [held for key, held in spec.items() if key != "data"]
    if isinstance(spec, list | tuple):
        return next((found for held in spec if (found := _time_zoom(held)) is not None), None)
    return None
