"""Probability to meet all deadlines by the number of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.formatting import counted, money, share

_HEIGHT = 320
_ROOM = 1.12  # from the first and last point to the ends of the axis, as a factor
_TICKS_MAX = 12


def size_chart(
    points: Sequence[Mapping[str, Any]], wanted: float, *, answer: int | None = None
) -> Chart:
    """points: fields of `SizePoint`.  wanted: the target probability.  answer: its nodes."""
    title = theme.heading(
        "Probability to meet all deadlines",
        [
            f"Dashed line: target {share(wanted)}. Bars: 95 % intervals for the number of draws."
            + ("" if answer is None else " Ring: the answer.")
        ],
    )
    numbers = sorted({point["nodes"] for point in points}) or [1]
    # Room at both ends: a point at the end of an axis would be cut in half.
    ends = [numbers[0] / _ROOM, numbers[-1] * _ROOM]
    nodes = theme.quantity(
        "nodes",
        scale={"type": "log", "domain": ends, "nice": False},
        axis={"title": "nodes (log scale)", "values": _ticks(numbers), "format": ",d"}
        | {"labelSeparation": 8},
    )
    view = {
        "data": {"values": [_row(point) for point in points]},
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "encoding": {"x": nodes, "tooltip": theme.titled_tooltip(_TEXTS)},
        "layer": [
            theme.layer(
                theme.mark("rule", color=theme.SKY, strokeWidth=6),
                y=_share("low"),
                y2={"field": "high"},
            ),
            theme.layer(
                theme.mark("line", color=theme.BLUE, point={"color": theme.BLUE, "size": 60}),
                y=_share("probability"),
            ),
            *_answer(answer, numbers),
            theme.layer(
                theme.mark("rule", color=theme.BAD, strokeDash=[4, 4]),
                y={"datum": wanted},
                x={"value": 0},
                x2={"value": "width"},
            ),
        ],
    }
    return Chart(theme.finished({"title": title, **view}))


def _answer(answer: int | None, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """A ring around the answer and its name, where the chart has room for it; none without one."""
    if answer is None:
        return []
    is_left = answer**2 < numbers[0] * numbers[-1]  # left of the middle of a log scale
    ring = theme.mark("point", color=theme.ORANGE, size=260, strokeWidth=3, filled=False)
    name = theme.mark(
        "text",
        align="left" if is_left else "right",
        dx=0 if is_left else -16,
        dy=34 if is_left else 0,
        fontWeight="bold",
        color=theme.INK,
    )
    is_answer, y = f"datum.nodes == {answer}", _share("probability")
    return [
        theme.layer(ring, where=is_answer, y=y),
        theme.layer(name, where=is_answer, y=y, text={"value": counted(answer, "node")}),
    ]


def _ticks(numbers: Sequence[int]) -> list[int]:
    """At the sizes that were simulated, as far as there is room for their labels."""
    every = -(-len(numbers) // _TICKS_MAX)
    return list(numbers[::every])


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
