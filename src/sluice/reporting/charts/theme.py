"""The look of charts: colours that color-blind people can distinguish, sizes, and axes of time.

Colours: Okabe and Ito, "Color Universal Design", 2008, without black and yellow, which is too
pale on white. A page in dark mode replaces the colours that `DARK_MODE` names.

Times are milliseconds in a chart and have a time scale in UTC, whose ticks are at whole seconds,
minutes and hours however far a reader zooms in. `CLOCK` writes them as 0:30 or 1:02:24.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice.reporting.charts.interaction import X_SCALE, interactive
from sluice.reporting.charts.names import literal
from sluice.reporting.formatting import distinguished

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH = 720  # of the plot alone; with its labels a chart is about 900 pixels wide
NAMES_WIDTH = 124
_LEGEND_LETTERS = 14  # of which two fit next to each other in a narrow window
PLOT_WIDTH = "plot_width"  # a parameter of each chart: pixels of a plot, as the window has them

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
OLIVE, BROWN, SLATE = "#8A9A1B", "#8C564B", "#5B6C8F"
BAD, WAITING, INK, FAINT, GRID = "#C1121F", "#C9CDD3", "#24292F", "#6B7280", "#E6E8EB"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, OLIVE, BROWN, SLATE)
DARK = frozenset({BLUE, GREEN, OLIVE, BROWN, SLATE})  # white text is easier to read on these

EDGE, RULE, SHADE, PALE = "white", "#B8BDC5", "#8A909A", "#EAF1F7"
# Text on bars: the same in dark mode, unlike INK and EDGE.
ON_PALE, ON_DARK = "#24292E", "#FFFFFF"
DARK_MODE = {
    EDGE: "#0D1117", INK: "#E6EDF3", FAINT: "#9BA5B1", GRID: "#262C34", RULE: "#4B535D",
    PALE: "#161F2B", WAITING: "#4A515B", BAD: "#FF6B6B", BLUE: "#2F8FCB", BROWN: "#B07A6E",
    SLATE: "#8195BD",
}  # fmt: skip

BAR_WIDTH_MIN = 3  # pixels
# The channel of rows that have a colour each, in the field `colour`.
OWN_COLOUR: dict[str, Any] = {"field": "colour", "type": "nominal", "scale": None}
MS = 1000.0
TICKS_S = 8.0  # an axis from this length on has ticks of whole seconds
_TICKS = 10  # of a shorter one, at most
EMPTY_S = 10.0  # length of an axis whose times are all 0: its ticks are whole seconds

_AT = "time(datum.value)"
_MINUTES = f"utcFormat({_AT}, '%-M:%S')"
_HOURS = f"floor({_AT} / 3600000) + utcFormat({_AT}, ':%M:%S')"
_DAYS = f"floor({_AT} / 86400000) + utcFormat({_AT}, ' d %H:%M')"
_PART = f"({_AT} % 1000 ? utcFormat({_AT}, '.%L') : '')"
CLOCK = f"{_AT} < 3600000 ? {_MINUTES} + {_PART} : {_AT} < 172800000 ? {_HOURS} + {_PART} : {_DAYS}"

CONFIG: dict[str, Any] = {
    "font": "Helvetica Neue, Arial, Liberation Sans, sans-serif",
    "background": EDGE,
    "padding": 14,
    "view": {"stroke": None},
    "title": {
        "anchor": "start", "frame": "group", "fontSize": 15, "fontWeight": 600, "color": INK,
        "offset": 10, "subtitleColor": FAINT, "subtitleFontSize": 11.5, "subtitlePadding": 4,
    },
    "axis": {
        "labelColor": FAINT, "labelFontSize": 11, "titleColor": FAINT, "titleFontSize": 11.5,
        "titleFontWeight": 400, "titlePadding": 8, "gridColor": GRID, "domainColor": RULE,
        "tickColor": RULE, "labelLimit": NAMES_WIDTH - 8, "labelFlush": False,
        "labelSeparation": 4,
    },
    "legend": {
        "orient": "top", "direction": "horizontal", "title": None, "labelFontSize": 11.5,
        "labelColor": INK, "titleColor": FAINT, "titleFontWeight": 400,
        "symbolType": "square", "symbolSize": 90, "offset": 6, "columns": 8,
        "labelLimit": 150, "columnPadding": 14, "symbolOpacity": 1,
        "symbolStrokeWidth": 0,
    },
}  # fmt: skip


def time_domain(starts_at_s: float, ends_at_s: float) -> dict[str, str]:
    """The domain of a scale of time.

    An expression, because Vega-Lite turns plain numbers into calls of `datetime`, which takes one
    number for a year where expressions are interpreted.
    """
    return {"signal": f"[{starts_at_s * MS!r}, {ends_at_s * MS!r}]"}


def labelled_domain(bars: Iterable[tuple[float, str]], *, empty: float = 1.0) -> dict[str, str]:
    """The domain of an axis from 0 on which each bar has room for a label at its right.

    bars: end, as the data has it, and label.  empty: where the axis ends if all are 0.
    The room is a share of the plot's width, which the window decides; a label that takes more than
    _LABEL_SHARE_MAX of it overlaps its bar.
    """
    ends: dict[float, float] = {}  # the furthest bar, by the pixels of its label
    for end, label in bars:
        pixels = text_width(label) + _LABEL_GAP
        ends[pixels] = max(end, ends.get(pixels, 0.0))
    reaches = [
        f"{end!r} / (1 - min({_LABEL_SHARE_MAX}, {pixels:g} / {PLOT_WIDTH}))"
        for pixels, end in sorted(ends.items())
        if end
    ]
    return {"signal": f"[0, max({', '.join(reaches)})]" if reaches else f"[0, {empty!r}]"}


def short_ticks(longest_s: float, *, starts_at_s: float = 0.0) -> dict[str, dict[str, str]]:
    """The ticks of an axis of time that is shorter than TICKS_S, as a part of its definition.

    Vega keeps one tick of each second: its ticks are dates, which it keeps apart by their texts.
    longest_s: what the axis shows at most; there are ticks up to twice of it, for labels of bars.

    >>> short_ticks(2.0)
    {'values': {'signal': 'sequence(0, 4000, 200)'}}
    >>> short_ticks(20.0)
    {}
    """
    if not 0 < longest_s < TICKS_S:
        return {}
    step_ms = max(1, round(nice_step(longest_s * MS / _TICKS)))
    first_ms = math.ceil(starts_at_s * MS / step_ms) * step_ms
    end_ms = math.ceil((starts_at_s + 2 * longest_s) * MS)
    return {"values": {"signal": f"sequence({first_ms}, {end_ms}, {step_ms})"}}


def nice_step(least: float) -> float:
    """The first of 1, 2 and 5 times a power of ten that is at least this number above 0.

    >>> nice_step(0.3)
    0.5
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """A span of time. starts_at_s, ends_at_s: seconds.

    is_named: whether the axis has a title; of several charts on one axis, the lowest has it.
    """

    starts_at_s: float
    ends_at_s: float
    is_named: bool = True

    @property
    def span_s(self) -> float:
        """Its length, never 0: a chart needs some width."""
        return (self.ends_at_s - self.starts_at_s) or EMPTY_S

    def at(self, at_s: float) -> float:
        """An instant as the chart's data has it, in milliseconds."""
        return at_s * MS

    def encoding(self, field: str = "start") -> dict[str, Any]:
        """The x channel."""
        ends_at_s = max(self.ends_at_s, self.starts_at_s + self.span_s)
        name = "time since the start of the workload"
        return {
            "field": field,
            "type": "temporal",
            "scale": {
                "type": "utc",
                "domain": time_domain(self.starts_at_s, ends_at_s),
                "nice": False,
            },
            "axis": {
                "title": name if self.is_named else None,
                "tickCount": 10,
                "labelExpr": CLOCK,
                **short_ticks(self.span_s, starts_at_s=self.starts_at_s),
            },
        }


def lengths(
    field: str, title: str, most_s: float | None = None, *, domain: dict[str, str] | None = None
) -> dict[str, Any]:
    """A channel of lengths of time, which the data has in milliseconds.

    most_s: the longest, for an axis that begins at 0; None for one that begins at the shortest.
    domain: of the axis, instead of the one that ends with the longest.
    """
    if domain is None and most_s is not None:
        domain = time_domain(0.0, 1.04 * (most_s or EMPTY_S))
    scale: dict[str, Any] = {"type": "utc", "nice": domain is None}
    if domain is not None:
        scale["domain"] = domain
    axis = {"title": title, "tickCount": 8, "labelExpr": CLOCK, **short_ticks(most_s or 0.0)}
    return {"field": field, "type": "temporal", "scale": scale, "axis": axis}


def signed_lengths(field: str, title: str, *, most_s: float) -> dict[str, Any]:
    """A channel of differences of time, which the data has in milliseconds.

    most_s: the greatest, whatever its sign. With 0 the axis has a range all the same, around 0.
    """
    size = CLOCK.replace(_AT, f"abs({_AT})")
    sign = f"({_AT} < 0 ? '−' : {_AT} > 0 ? '+' : '')"
    ticks = short_ticks(2 * most_s, starts_at_s=-2 * most_s)
    axis = {"title": title, "tickCount": 8, "labelExpr": f"{sign} + ({size})", **ticks}
    scale: dict[str, Any] = {"type": "utc", "nice": True, "padding": 12}
    if not most_s:
        scale |= {"nice": False, "domain": time_domain(-EMPTY_S, EMPTY_S)}
    return {"field": field, "type": "temporal", "scale": scale, "axis": axis}


def quantity(field: str, **more: object) -> dict[str, Any]:
    """A channel of numbers. more: its scale, its axis and so on."""
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: object) -> dict[str, Any]:
    """A channel of names and texts. more: its scale, its title and so on."""
    return {"field": field, "type": "nominal", **more}


def colours(
    field: str, names: Sequence[object], chosen: Sequence[str] | None = None, **more: object
) -> dict[str, Any]:
    """A channel that gives each name a colour. chosen: the colours; by default those of PALETTE."""
    if chosen is None:
        chosen = [PALETTE[place % len(PALETTE)] for place in range(len(names))]
    scale = {"domain": list(names), "range": list(chosen)}
    return nominal(field, scale=scale, **more)


def short_legend(names: Sequence[str]) -> dict[str, Any]:
    """A legend of names that fit a narrow window, and stay different there."""
    shown = literal(distinguished(names, _LEGEND_LETTERS))
    return {"labelExpr": f"{shown}[indexof({literal(names)}, datum.label)]"}


def tooltip(*fields: str) -> list[dict[str, Any]]:
    """The tooltip channel: texts under the names of their fields."""
    return [nominal(field) for field in fields]


def titled_tooltip(titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """The tooltip channel: texts by field, under these titles."""
    return [nominal(field, title=title) for field, title in titles.items()]


def mark(kind: str, **look: object) -> dict[str, Any]:
    """Marks of a kind, such as "bar" or "rule". look: their properties, as Vega-Lite names them."""
    return {"type": kind, **look}


def layer(
    marks: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    where: str = "",
    **channels: object,
) -> dict[str, Any]:
    """A layer: the marks of some rows, by default those of its view.

    where: which rows have a mark, an expression of Vega-Lite.  channels: its encoding.
    """
    made: dict[str, Any] = {} if rows is None else {"data": {"values": rows}}
    if where:
        made["transform"] = [{"filter": where}]
    made["mark"] = marks
    return {**made, "encoding": channels} if channels else made


def line_at(
    field: str, value: float, *, along: str = "y", channel: object = None, colour: str = INK
) -> dict[str, Any]:
    """A layer: a dashed line across a view at a value.

    channel: of the axis on which the value is; by default numbers on y.
    """
    rule = mark("rule", color=colour, strokeDash=[4, 3])
    place: dict[str, Any] = {along: channel or quantity(field)}
    return layer(rule, [{field: value}], **place)


def names_axis(**more: object) -> dict[str, Any]:
    """The y axis of a view without a title, as wide as the names of `lanes`."""
    return {"title": None, "minExtent": NAMES_WIDTH, "maxExtent": NAMES_WIDTH, **more}


def view(title: Mapping[str, Any], height: float, **more: object) -> dict[str, Any]:
    """A view of the common width. more: its data, mark, encoding or layers."""
    return {"title": title, "width": WIDTH, "height": height, **more}


def stacked(
    title: Mapping[str, Any], views: Sequence[object], *, spacing: int, **more: object
) -> dict[str, Any]:
    """Views above each other, below a common title."""
    return {"title": title, "vconcat": views, "spacing": spacing, **more}


def bar_end() -> dict[str, Any]:
    """The x2 channel of bars from `start`: their end, at least BAR_WIDTH_MIN to the right.

    The width is that on the screen, so a short bar has its true width after zooming in.
    """
    start, end = (f"scale('{X_SCALE}', datum['{name}'])" for name in ("start", "end"))
    return {"value": {"expr": f"max({end}, {start} + {BAR_WIDTH_MIN})"}}


def fitting(field: str) -> dict[str, Any]:
    """The opacity channel of a text within a bar: 1 where the bar has room for it."""
    width = f"(scale('{X_SCALE}', datum.end) - scale('{X_SCALE}', datum.start))"
    room = f"{_CHARACTER_WIDTH} * length(datum['{field}']) + 6"
    return {"value": {"expr": f"{width} > {room} ? 1 : 0"}}


def right_of(field: str, text: str) -> dict[str, Any]:
    """The x channel of a text that begins right of a point, moved left if it would be cut."""
    point, end = f"scale('{X_SCALE}', datum['{field}'])", f"range('{X_SCALE}')[1]"
    width = f"{_CHARACTER_WIDTH} * length(datum['{text}'])"
    return {"value": {"expr": f"max(4, min({point} + 8, {end} - {width}))"}}


def left_of(field: str, text: str) -> dict[str, Any]:
    """The x channel of a text that ends left of a point, moved right if it would be cut."""
    point = f"scale('{X_SCALE}', datum['{field}'])"
    width = f"{_CHARACTER_WIDTH} * length(datum['{text}'])"
    return {"value": {"expr": f"max(4, {point} - 8 - {width})"}}


def text_width(text: str) -> float:
    """About the pixels that a label takes."""
    return _CHARACTER_WIDTH * len(text)


_CHARACTER_WIDTH = 6.2
_LABEL_GAP = 14  # pixels: before a label and after it
_LABEL_SHARE_MAX = 0.8  # of a plot
# The label of a tick of counts: none between whole numbers.
WHOLE = "datum.value % 1 ? '' : format(datum.value, ',d')"


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
    """The specification of a whole chart: with schema, look, and what a reader can do in it."""
    made = interactive(spec)
    width = {"name": PLOT_WIDTH, "value": WIDTH}
    return {"$schema": SCHEMA, "config": CONFIG, **made, "params": [width, *made.get("params", ())]}
