"""The look of charts: colours that color-blind people can distinguish, sizes, and the time axis.

Colours: Okabe and Ito, "Color Universal Design", 2008, without black and yellow, which is too
pale on white.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.reporting.charts.names import literal

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH = 720  # of the plot alone; with its labels a chart is about 900 pixels wide
NAMES_WIDTH = 124

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
OLIVE, BROWN, SLATE = "#8A9A1B", "#8C564B", "#5B6C8F"
BAD, WAITING, INK, FAINT, GRID = "#C1121F", "#C9CDD3", "#24292F", "#6B7280", "#E6E8EB"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, OLIVE, BROWN, SLATE)
DARK = frozenset({BLUE, GREEN, OLIVE, BROWN, SLATE})  # white text is easier to read on these

_UNITS = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "h"), (2 * 60, 60, "min"), (0, 1, "s"))

CONFIG: dict[str, Any] = {
    "font": "Helvetica Neue, Arial, Liberation Sans, sans-serif",
    "background": "white",
    "padding": 14,
    "view": {"stroke": None},
    "title": {
        "anchor": "start", "frame": "group", "fontSize": 15, "fontWeight": 600, "color": INK,
        "offset": 10, "subtitleColor": FAINT, "subtitleFontSize": 11.5, "subtitlePadding": 4,
    },
    "axis": {
        "labelColor": FAINT, "labelFontSize": 11, "titleColor": FAINT, "titleFontSize": 11.5,
        "titleFontWeight": 400, "titlePadding": 8, "gridColor": GRID, "domainColor": "#B8BDC5",
        "tickColor": "#B8BDC5", "labelLimit": NAMES_WIDTH - 8,
    },
    "legend": {
        "orient": "top", "direction": "horizontal", "title": None, "labelFontSize": 11.5,
        "labelColor": INK, "symbolType": "square", "symbolSize": 90, "offset": 6, "columns": 8,
        "labelLimit": 150, "columnPadding": 14, "symbolOpacity": 1,
        "symbolStrokeWidth": 0,
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """A span of time, in the unit that suits it. starts_at_s, ends_at_s: seconds.

    is_named: whether the axis has a title; of several charts on one axis, the lowest has it.
    """

    starts_at_s: float
    ends_at_s: float
    is_named: bool = True

    @property
    def span_s(self) -> float:
        """Its length, never 0: a chart needs some width."""
        return (self.ends_at_s - self.starts_at_s) or 1.0

    @property
    def unit(self) -> tuple[float, str]:
        """Seconds of one unit, and its name."""
        reach_s = max(self.ends_at_s, self.span_s)
        return next((float(size_s), name) for least_s, size_s, name in _UNITS if reach_s >= least_s)

    def at(self, at_s: float) -> float:
        """An instant in the axis's unit."""
        return at_s / self.unit[0]

    def encoding(self, field: str = "start") -> dict[str, Any]:
        """The x channel."""
        ends_at_s = max(self.ends_at_s, self.starts_at_s + self.span_s)
        name = f"time since the start of the workload ({self.unit[1]})"
        return {
            "field": field,
            "type": "quantitative",
            "scale": {
                "domain": [self.at(self.starts_at_s), self.at(ends_at_s)],
                "nice": False,
            },
            "axis": {
                "title": name if self.is_named else None,
                "tickCount": 10,
            },
        }


def lanes(names: Sequence[str], *, every: int = 1) -> dict[str, Any]:
    """The y channel: lanes by number, in the field `lane`.

    every: 1 for a label at each lane, 2 for one at every second lane, and so on. Labels always
    take the same width, so that several charts line up.
    """
    shown = list(range(0, len(names), every))
    texts = literal([names[lane] for lane in shown])
    return {
        "field": "lane",
        "type": "ordinal",
        "scale": {"domain": list(range(len(names))), "padding": 0},
        "axis": {
            "title": None,
            "values": shown,
            # Looked up by the lane's number: shortened names need not be unique.
            "labelExpr": f"{texts}[datum.value / {every}]",
            "minExtent": NAMES_WIDTH,
            "maxExtent": NAMES_WIDTH,
            "ticks": False,
            "domain": False,
            "labelPadding": 6,
        },
    }


def titled(text: str, notes: Sequence[str]) -> dict[str, Any]:
    """A title, with a subtitle of the notes that are not empty."""
    subtitle = [note for note in notes if note]
    return {"text": text, "subtitle": subtitle} if subtitle else {"text": text}


def heading(text: str, notes: Sequence[str], *, offset: int = 18) -> dict[str, Any]:
    """The title of a whole chart, larger than those of its views."""
    return {**titled(text, notes), "fontSize": 18, "offset": offset}


def finished(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification of a whole chart: with schema and look."""
    return {"$schema": SCHEMA, "config": CONFIG, **spec}
