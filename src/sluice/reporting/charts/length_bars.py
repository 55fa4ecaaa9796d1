"""A view of lengths of time as bars, one lane each, with the length next to the bar."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from sluice.reporting.charts import theme
from sluice.reporting.formatting import distinguished

LANES_MAX = 30
_LANE, _NAME_LETTERS = 22, 18
_BAR, _LINE = 16, 14  # pixels: height of a bar, and of a line of text below it
_LETTERS, _LINES_MAX = 46, 3  # of a text below its bar: as many as a narrow window has room for
_TEXT_STARTS_AT = -96  # pixels from the axis: below the names
_BAR_OPACITY = 0.55  # the line from least to most crosses the end of its bar


class LengthBar(NamedTuple):
    """One bar. s: its length, seconds.  label: next to it.  least_s, most_s: a line across it.

    below: a sentence in lines of its own below the bar.
    """

    name: str
    s: float
    label: str
    colour: str = theme.BLUE
    least_s: float | None = None
    most_s: float | None = None
    below: str = ""


def bars_view(
    title: str,
    bars: Sequence[LengthBar],
    *,
    axis: str,
    alike: Sequence[LengthBar] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The view, with the first LANES_MAX bars. axis: what the lengths are.

    alike: bars of all views that have the same axis, so that their lengths can be compared.
    """
    shown = bars[:LANES_MAX]
    more = len(bars) - len(shown)
    names = distinguished([bar.name for bar in shown], _NAME_LETTERS)
    texts = [_wrapped(bar.below) for bar in shown]
    lines = max((text.count("\n") + 1 for text in texts if text), default=0)
    y = theme.lanes(names)
    y["axis"] |= {"labelOffset": -_LINE * lines / 2}
    rows = [
        {
            "lane": lane,
            "name": bar.name,
            "zero": 0,
            "length": theme.MS * bar.s,
            "label": bar.label,
            "below": text,
            "in full": bar.below or bar.label,
            "colour": bar.colour,
            **({} if bar.least_s is None else {"least": theme.MS * bar.least_s}),
            **({} if bar.most_s is None else {"most": theme.MS * bar.most_s}),
        }
        for lane, (bar, text) in enumerate(zip(shown, texts, strict=True))
    ]
    return theme.view(
        theme.titled(title, [*notes, f"{more} more are not shown." if more else ""]),
        (_LANE + _LINE * lines) * max(1, len(shown)),
        data={"values": rows},
        encoding={"y": y, "tooltip": [theme.nominal("name"), theme.nominal("in full", title=axis)]},
        layer=_layers(_x(axis, alike or shown), lines),
    )


def _x(title: str, bars: Sequence[LengthBar]) -> dict[str, Any]:
    """The channel of an axis on which each bar and its label have room next to each other."""
    ends = [(max(bar.s, bar.most_s or 0.0), bar.label) for bar in bars]
    domain = theme.labelled_domain(
        ((theme.MS * end_s, label) for end_s, label in ends), empty=theme.EMPTY_S * theme.MS
    )
    return theme.lengths(
        "zero", title, max((end_s for end_s, _ in ends), default=0.0), domain=domain
    )


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, _LETTERS, max_lines=_LINES_MAX, placeholder=" …"))


def _layers(x: dict[str, Any], lines: int) -> list[dict[str, Any]]:
    """The bars, their lines from least to most, and their texts. lines: of text below a bar."""
    label = theme.mark("text", align="left", fontSize=10.5, color=theme.INK)
    up = -_LINE * lines / 2
    layers: list[dict[str, Any]] = [
        theme.layer(
            theme.mark("bar", height=_BAR, yOffset=up, opacity=_BAR_OPACITY),
            x=x,
            x2={"field": "length"},
            color=theme.OWN_COLOUR,
        ),
        theme.layer(
            theme.mark("rule", color=theme.INK, strokeWidth=1.5, yOffset=up),
            where="isValid(datum.least)",
            x={**x, "field": "least"},
            x2={"field": "most"},
        ),
        {
            "transform": [{"calculate": "max(datum.length, datum.most || 0)", "as": "beyond"}],
            "mark": {**label, "clip": True, "limit": theme.WIDTH, "dy": up},
            "encoding": {"x": theme.right_of("beyond", "label"), "text": theme.nominal("label")},
        },
    ]
    if lines:
        dy = up + _BAR / 2 + 2
        below = {**label, "clip": False, "baseline": "top", "dy": dy, "lineBreak": "\n"}
        left = {"value": _TEXT_STARTS_AT}
        layers.append(theme.layer(below, x=left, text=theme.nominal("below")))
    return layers
