"""A view of lengths of time as bars, one lane each, with the length next to the bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sluice.reporting.charts import theme
from sluice.reporting.formatting import distinguished

LANES_MAX = 30
_LANE, _NAME_LETTERS = 22, 18
_GAP = 12  # pixels between a bar and its label
_LABEL_SHARE_MAX = 0.6  # of the axis; a longer label lies on its bar
_BAR_OPACITY = 0.55  # a label may lie on the end of its bar


class LengthBar(NamedTuple):
    """One bar. s: its length, seconds.  label: next to it.  least_s, most_s: a line across it."""

    name: str
    s: float
    label: str
    colour: str = theme.BLUE
    least_s: float | None = None
    most_s: float | None = None


def bars_view(
    title: str,
    bars: Sequence[LengthBar],
    *,
    axis: str,
    axis_s: float | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The view, with the first LANES_MAX bars. axis: what the lengths are.

    axis_s: the length of the axis, seconds; by default what the bars need. Views with the same can
        be compared.
    """
    shown = bars[:LANES_MAX]
    more = len(bars) - len(shown)
    names = distinguished([bar.name for bar in shown], _NAME_LETTERS)
    rows = [
        {
            "lane": lane,
            "name": bar.name,
            "zero": 0,
            "length": theme.MS * bar.s,
            "label": bar.label,
            "colour": bar.colour,
            **({} if bar.least_s is None else {"least": theme.MS * bar.least_s}),
            **({} if bar.most_s is None else {"most": theme.MS * bar.most_s}),
        }
        for lane, bar in enumerate(shown)
    ]
    return theme.view(
        theme.titled(title, [*notes, f"{more} more are not shown." if more else ""]),
        _LANE * max(1, len(shown)),
        data={"values": rows},
        encoding={
            "y": theme.lanes(names),
            "tooltip": [
                {"field": "name", "type": "nominal"},
                {"field": "label", "type": "nominal", "title": axis},
            ],
        },
        layer=_layers(theme.lengths("zero", axis, axis_s or axis_for(shown))),
    )


def axis_for(bars: Iterable[LengthBar]) -> float:
    """The length of an axis on which each bar and its label have room next to each other."""
    return max((_reach_s(bar) for bar in bars), default=1.0)


def _reach_s(bar: LengthBar) -> float:
    taken = min(_LABEL_SHARE_MAX, (theme.text_width(bar.label) + _GAP) / theme.WIDTH)
    return max(bar.s, bar.most_s or 0.0) / (1 - taken)


def _layers(x: dict[str, Any]) -> list[dict[str, Any]]:
    """The bars, their lines from least to most, and their labels."""
    label = {
        "type": "text",
        "align": "left",
        "fontSize": 10.5,
        "color": theme.INK,
        "clip": True,
        "limit": theme.WIDTH,
    }
    return [
        {
            "mark": {"type": "bar", "height": {"band": 0.72}, "opacity": _BAR_OPACITY},
            "encoding": {"x": x, "x2": {"field": "length"}, "color": theme.OWN_COLOUR},
        },
        {
            "transform": [{"filter": "isValid(datum.least)"}],
            "mark": {"type": "rule", "color": theme.INK, "strokeWidth": 1.5},
            "encoding": {"x": {**x, "field": "least"}, "x2": {"field": "most"}},
        },
        {
            "transform": [{"calculate": "max(datum.length, datum.most || 0)", "as": "beyond"}],
            "mark": label,
            "encoding": {
                "x": theme.right_of("beyond", "label"),
                "text": {"field": "label", "type": "nominal"},
            },
        },
    ]
