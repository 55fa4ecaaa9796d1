"""Jobs before and after they were put in order, above each other on one axis of time.

Lanes stand in the order of submission, so that the upper view is the file's order and the lower
one the new. A sweep has a third view: the orders to choose from, in makespan and total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sluice.planning.ordering.flow_arrays import OrderOutcome
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import (
    BLUE,
    FAINT,
    INK,
    ORANGE,
    WAITING,
    WIDTH,
    TimeAxis,
    finished,
    lanes,
    titled,
)
from sluice.reporting.formatting import count, duration, shortened

if TYPE_CHECKING:
    from sluice.reporting.ordering import OrderResult

JOBS_MAX = 60
_STEP, _STEP_MIN, _SPACIOUS_JOBS_MAX = 20, 12, 20  # pixels for each job
_NAME_CHARACTERS_MAX = 18
_FRONTIER_HEIGHT = 180
_COLOURS = {"waiting": WAITING, "maps": BLUE, "reduces": ORANGE}


def order_chart(result: OrderResult) -> Chart:
    """The chart of an order that was found."""
    ends_at_s = max(result.before.makespan_s, result.makespan_s)
    axis = TimeAxis(starts_at_s=0.0, ends_at_s=ends_at_s)
    upper = replace(axis, is_named=False)  # of views above each other the last one names it
    views = [
        _view(result, result.before, range(len(result.order)), "Order of the file", upper),
        _view(result, result.outcome, result.answer.best.order, f"By {_method(result)}", axis),
    ]
    if result.answer.frontier is not None:
        views.append(_frontier(result))
    title = {**titled(_headline(result), [_subtitle(result)]), "fontSize": 18, "offset": 18}
    return Chart(
        finished(
            {
                "title": title | {"frame": "bounds"},
                "vconcat": views,
                "spacing": 26,
                "resolve": {"scale": {"color": "independent"}},
            }
        )
    )


def _method(result: OrderResult) -> str:
    asked, picked = result.answer.method.value, result.answer.picked.value
    return asked if asked == picked else f"{asked} ({picked})"


def _headline(result: OrderResult) -> str:
    return f"{count(len(result.order))} jobs in {duration(result.makespan_s)}"


def _subtitle(result: OrderResult) -> str:
    gain = result.gain()
    parts = [
        f"gain over the file's order: makespan {gain['makespan_percent']:+.1f} %",
        f"total completion {gain['total_completion_percent']:+.1f} %",
        f"no order takes less than {duration(result.bounds.makespan_lower_s)}",
    ]
    return "  ·  ".join([*parts, "proved best"] if result.is_proved else parts)


def _view(
    result: OrderResult, outcome: OrderOutcome, order: Sequence[int], title: str, axis: TimeAxis
) -> dict[str, Any]:
    shown = _picked(order)
    few = f"{len(shown)} of {count(len(order))} jobs are shown, picked evenly."
    ends = (
        f"Ends after {duration(outcome.makespan_s)};"
        f" jobs after {duration(outcome.total_completion_s / len(order))} on average."
    )
    rows = [
        row
        for lane, job in enumerate(shown)
        for row in _bars(result.problem.jobs[job].name, lane, outcome, job, axis)
    ]
    names = [shortened(result.problem.jobs[job].name, _NAME_CHARACTERS_MAX) for job in shown]
    step = _STEP if len(shown) <= _SPACIOUS_JOBS_MAX else _STEP_MIN
    return {
        "title": titled(title, [ends, few if len(shown) < len(order) else ""]),
        "width": WIDTH,
        "height": step * len(shown),
        "layer": [
            *(_layer(rows, names, axis, part) for part in _COLOURS),
            _end(outcome, axis),
        ],
    }


def _picked(order: Sequence[int]) -> tuple[int, ...]:
    shown = min(len(order), JOBS_MAX)
    return tuple(order[lane * len(order) // shown] for lane in range(shown))


def _bars(
    name: str, lane: int, outcome: OrderOutcome, job: int, axis: TimeAxis
) -> list[dict[str, Any]]:
    """When a job waits, maps and reduces; the thinnest part is a pixel wide."""
    began_s, ended_s = outcome.began_s[job], outcome.ended_s[job]
    spans = [("waiting", 0.0, began_s)]
    mapped_s, reducing_s = outcome.mapped_s[job], outcome.reducing_s[job]
    if mapped_s is not None:
        spans.append(("maps", began_s, mapped_s))
    if mapped_s is not None and reducing_s is not None:
        spans.append(("waiting", mapped_s, reducing_s))
    if reducing_s is not None:
        spans.append(("reduces", reducing_s, ended_s))
    pixel_s = axis.span_s / WIDTH
    return [
        {
            "lane": lane,
            "job": name,
            "part": part,
            "start": axis.at(start_s),
            "end": axis.at(end_s if part == "waiting" else max(end_s, start_s + pixel_s)),
            "time": f"{duration(start_s)} – {duration(end_s)} ({duration(end_s - start_s)})",
        }
        for part, start_s, end_s in spans
        if end_s > start_s
    ]


def _layer(
    rows: list[dict[str, Any]], names: Sequence[str], axis: TimeAxis, part: str
) -> dict[str, Any]:
    height = 0.25 if part == "waiting" else 0.72
    return {
        "data": {"values": [row for row in rows if row["part"] == part]},
        "mark": {"type": "bar", "height": {"band": height}, "clip": True},
        "encoding": {
            "x": axis.encoding(),
            "x2": {"field": "end"},
            "y": lanes(names),
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
                "legend": {},
            },
            "tooltip": [{"field": field, "type": "nominal"} for field in ("job", "part", "time")],
        },
    }


def _end(outcome: OrderOutcome, axis: TimeAxis) -> dict[str, Any]:
    """A line where all is done."""
    return {
        "data": {"values": [{"start": axis.at(outcome.makespan_s)}]},
        "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
        "encoding": {"x": axis.encoding()},
    }


def _frontier(result: OrderResult) -> dict[str, Any]:
    points = [
        {
            "makespan": point.makespan_s,
            "total": point.total_s,
            "is": "chosen" if point.order == result.answer.best.order else "other",
            "tells": f"{duration(point.makespan_s)}, {duration(point.total_s)} in total",
        }
        for point in result.answer.frontier or ()
    ]
    axis = {"type": "quantitative", "scale": {"zero": False, "nice": True}}
    return {
        "title": titled("Orders to choose from", ["None beats another in both measures."]),
        "width": WIDTH,
        "height": _FRONTIER_HEIGHT,
        "data": {"values": points},
        "encoding": {
            "x": {"field": "makespan", **axis, "axis": {"title": "makespan (s)", "tickCount": 8}},
            "y": {"field": "total", **axis, "axis": {"title": "total completion (s)"}},
        },
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after", "color": FAINT}},
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {
                    "color": {
                        "field": "is",
                        "type": "nominal",
                        "scale": {"domain": ["chosen", "other"], "range": [ORANGE, BLUE]},
                        "legend": None,
                    },
                    "tooltip": [{"field": "tells", "type": "nominal"}],
                },
            },
        ],
    }
