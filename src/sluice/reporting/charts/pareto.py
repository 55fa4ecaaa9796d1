"""Plans in time and money: a stair of those that no other beats, with the limits and the knee.

In a browser the chart can be zoomed and dragged, and each plan tells what it gives to each job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sluice.model.limits import PlanLimits
from sluice.planning.pareto.frontier import Frontier, Plan
from sluice.planning.pareto.tradeoff import hour_saved_usd
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import (
    BLUE,
    FAINT,
    INK,
    ORANGE,
    SKY,
    WAITING,
    WIDTH,
    TimeAxis,
    finished,
    titled,
)
from sluice.reporting.formatting import NOTHING, count, duration, money, shortened

if TYPE_CHECKING:
    from sluice.reporting.plans import PlanResult

PLANS_MAX = 1000
_JOBS_TOLD_MAX = 8
_HEIGHT = 380
_MARGIN = 0.06  # of a span, left free at its ends
_WIDE = 6.0  # times the least
_WITHIN, _BELOW, _BEYOND = "within the limits", "below the least budget", "beyond the limits"
_COLOURS = {_WITHIN: BLUE, _BELOW: SKY, _BEYOND: WAITING}


def pareto_chart(result: PlanResult) -> Chart:
    """The chart of all plans that were found, also of those beyond the limits."""
    frontier = result.answer.frontier
    if not len(frontier):
        return Chart(
            finished({**_frame(result, "Nothing fits into the VMs that there are."), **_EMPTY})
        )
    space = _Space(frontier, result.problem.limits)
    rows = _rows(result, frontier, space)
    hidden = len(frontier) - len(rows)
    note = f"{count(hidden)} plans between are left out." if hidden else ""
    layers = [
        *_shades(result.problem.limits, space),
        _stair(rows, space),
        _points(rows, space),
        *_knee(rows, space),
    ]
    return Chart(finished({**_frame(result, note), "layer": layers}))


_EMPTY: dict[str, Any] = {"data": {"values": [{}]}, "mark": {"type": "point", "opacity": 0}}


def _frame(result: PlanResult, note: str) -> dict[str, Any]:
    jobs = len(result.problem.jobs)
    told = f"{count(jobs)} jobs, {count(len(result.answer.frontier))} plans that no other beats."
    title = {
        **titled("Time against money", [f"{told} {note}".strip()]),
        "fontSize": 18,
        "offset": 14,
    }
    return {"title": title, "width": WIDTH, "height": _HEIGHT}


class _Space:
    """What of time and money the chart shows: all plans, and limits that lie near them."""

    def __init__(self, frontier: Frontier, limits: PlanLimits) -> None:
        self.time = _Span(frontier.makespans_s, [limits.deadline_s])
        budgets = [limits.budget_usd_min or None, limits.budget_usd_max]
        self.money = _Span(frontier.budgets_usd, budgets)
        self.unit_s, self.unit = TimeAxis(starts_at_s=0, ends_at_s=self.time.high).unit

    @property
    def x(self) -> dict[str, Any]:
        """The channel of time."""
        return _channel("time", self.time, self.unit_s, f"makespan ({self.unit})", "~f")

    @property
    def y(self) -> dict[str, Any]:
        """The channel of money."""
        return _channel("usd", self.money, 1.0, "budget", "$,~f")


class _Span:
    """From low to high, with some room beyond what it must show; wide ones are logarithmic."""

    def __init__(self, values: Sequence[float], limits: Sequence[float | None]) -> None:
        least, most = min(values), max(values)
        reach = (most - least) or most or 1.0
        near = [
            limit
            for limit in limits
            if limit is not None and least - reach <= limit <= most + reach
        ]
        least, most = min([least, *near]), max([most, *near])
        self.low: float
        self.high: float
        self.is_log = least > 0 and most / least > _WIDE
        if self.is_log:
            factor = (most / least) ** _MARGIN
            self.low, self.high = least / factor, most * factor
        else:
            room = _MARGIN * ((most - least) or most or 1.0)
            self.low, self.high = max(0.0, least - room), most + room

    def share(self, value: float) -> float:
        """Where on the axis a value stands, from 0 to 1."""
        low, high, at = self.low, self.high, value
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)


def _channel(field: str, span: _Span, unit: float, title: str, form: str) -> dict[str, Any]:
    scale = {"type": "log"} if span.is_log else {"zero": False}
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [span.low / unit, span.high / unit], "nice": False, **scale},
        "axis": {"title": title, "format": form, "tickCount": 8},
    }


def _rows(result: PlanResult, frontier: Frontier, space: _Space) -> list[dict[str, Any]]:
    """A row for each plan that is drawn."""
    numbers = _numbers(result)
    slopes = hour_saved_usd(list(frontier.points()))
    return [
        _row(result, frontier.plan(place), numbers.get(place), slopes[place], space)
        for place in _drawn(
            len(frontier), next((p for p, n in numbers.items() if n == result.knee), 0)
        )
    ]


def _numbers(result: PlanResult) -> dict[int, int]:
    """The number of each plan, by its place on the whole frontier."""
    answer = result.answer
    places = {makespan_s: place for place, makespan_s in enumerate(answer.frontier.makespans_s)}
    listed = (*answer.plans.makespans_s, *answer.below_budget_min.makespans_s)
    return {places[makespan_s]: number for number, makespan_s in enumerate(listed, start=1)}


def _drawn(total: int, knee: int) -> Iterator[int]:
    if total <= PLANS_MAX:
        yield from range(total)
        return
    evenly = {round(place * (total - 1) / (PLANS_MAX - 1)) for place in range(PLANS_MAX)}
    yield from sorted(evenly | {knee})


def _row(
    result: PlanResult, plan: Plan, number: int | None, slope: float | None, space: _Space
) -> dict[str, Any]:
    return {
        "time": plan.makespan_s / space.unit_s,
        "usd": plan.budget_usd,
        "where": _where(result, number),
        "plan": NOTHING if number is None else str(number),
        "makespan": duration(plan.makespan_s),
        "budget": money(plan.budget_usd),
        "VMs": count(plan.vms),
        "hour": money(slope),
        "jobs": _told(result, plan),
        "knee": number is not None and number == result.knee,
    }


def _where(result: PlanResult, number: int | None) -> str:
    if number is None:
        return _BEYOND
    return _WITHIN if number <= len(result.answer.plans) else _BELOW


def _told(result: PlanResult, plan: Plan) -> str:
    """What the plan gives to each job, as far as a tooltip holds it."""
    jobs = result.problem.jobs
    told = [
        f"{shortened(job.job_id, 12)}: {entry.vms} VMs,"
        f" {entry.choice.map_slots} + {entry.choice.reduce_slots} slots"
        for job, entry in list(zip(jobs, plan.entries, strict=True))[:_JOBS_TOLD_MAX]
    ]
    left = len(jobs) - len(told)
    return "; ".join([*told, *([f"and {left} more"] if left else [])])


def _stair(rows: list[dict[str, Any]], space: _Space) -> dict[str, Any]:
    """Who waits no longer than this pays what the last plan before it costs."""
    return {
        "data": {"values": [{"time": row["time"], "usd": row["usd"]} for row in rows]},
        "mark": {
            "type": "line", "interpolate": "step-after", "color": BLUE, "opacity": 0.45,
            "strokeWidth": 1.5, "clip": True,
        },
        "encoding": {"x": space.x, "y": space.y},
    }  # fmt: skip


def _points(rows: list[dict[str, Any]], space: _Space) -> dict[str, Any]:
    used = [where for where in _COLOURS if any(row["where"] == where for row in rows)]
    return {
        "data": {"values": rows},
        "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
        "mark": {
            "type": "point",
            "filled": True,
            "size": _dot(len(rows)),
            "opacity": 0.95,
            "clip": True,
        },
        "encoding": {
            "x": space.x,
            "y": space.y,
            "color": {
                "field": "where",
                "type": "nominal",
                "scale": {"domain": used, "range": [_COLOURS[where] for where in used]},
                "legend": {"symbolType": "circle"} if len(used) > 1 else None,
            },
            "tooltip": [
                {"field": field, "type": "nominal", "title": title}
                for field, title in (
                    ("plan", "plan"),
                    ("makespan", "makespan"),
                    ("budget", "budget"),
                    ("VMs", "VMs"),
                    ("hour", "an hour saved costs"),
                    ("jobs", "jobs"),
                )
            ],
        },
    }


def _dot(plans: int) -> int:
    """Area of a point: small where they are many."""
    return max(18, min(90, 9000 // plans))


def _knee(rows: list[dict[str, Any]], space: _Space) -> Iterator[dict[str, Any]]:
    """A ring around the plan to look at first, and its name."""
    found = [row for row in rows if row["knee"]]
    if not found:
        return
    row = found[0]
    text = f"knee: plan {row['plan']}, {row['makespan']} for {row['budget']}"
    data = {"values": [{"time": row["time"], "usd": row["usd"], "text": text}]}
    yield {
        "data": data,
        "mark": {"type": "point", "size": 220, "stroke": ORANGE, "strokeWidth": 2.5, "clip": True},
        "encoding": {"x": space.x, "y": space.y},
    }
    yield {
        "data": data,
        "mark": {
            "type": "text", "align": "left", "dx": 14, "dy": -12, "color": INK, "fontSize": 12,
            "clip": True,
        },
        "encoding": {"x": space.x, "y": space.y, "text": {"field": "text"}},
    }  # fmt: skip


def _shades(limits: PlanLimits, space: _Space) -> Iterator[dict[str, Any]]:
    """What lies beyond each limit, in grey, with the limit's name on its edge."""
    time, usd = space.time, space.money
    unit_s = space.unit_s
    if limits.deadline_s is not None and limits.deadline_s < time.high:
        start = max(limits.deadline_s, time.low) / unit_s
        box = {"time": start, "to": time.high / unit_s, "usd": usd.low, "top": usd.high}
        yield _shade(box, space)
        text = f"deadline {duration(limits.deadline_s)}"
        where = _RIGHT_BELOW if time.share(unit_s * start) > _NEAR_END else _LEFT_BELOW
        yield _edge({"time": start, "usd": usd.high, "text": text}, space, where)
    across = {"time": time.low / unit_s, "to": time.high / unit_s}
    right = {"time": time.high / unit_s}
    if limits.budget_usd_max is not None and limits.budget_usd_max < usd.high:
        edge = max(limits.budget_usd_max, usd.low)
        yield _shade({**across, "usd": edge, "top": usd.high}, space)
        text = f"at most {money(limits.budget_usd_max)}"
        yield _edge({**right, "usd": edge, "text": text}, space, _RIGHT_ABOVE)
    if limits.budget_usd_min > usd.low:
        edge = min(limits.budget_usd_min, usd.high)
        yield _shade({**across, "usd": usd.low, "top": edge}, space)
        text = f"at least {money(limits.budget_usd_min)}"
        yield _edge({**right, "usd": edge, "text": text}, space, _RIGHT_BELOW)


_NEAR_END = 0.8  # of the axis: beyond it, words to the right of an edge would be cut off
_LEFT_BELOW = {"dx": 6, "dy": 12}
_RIGHT_ABOVE = {"align": "right", "dx": -6, "dy": -8}
_RIGHT_BELOW = {"align": "right", "dx": -6, "dy": 12}


def _shade(box: dict[str, float], space: _Space) -> dict[str, Any]:
    return {
        "data": {"values": [box]},
        "mark": {"type": "rect", "color": "#8A909A", "opacity": 0.13, "clip": True},
        "encoding": {"x": space.x, "x2": {"field": "to"}, "y": space.y, "y2": {"field": "top"}},
    }


def _edge(at: dict[str, Any], space: _Space, how: dict[str, Any]) -> dict[str, Any]:
    mark = {"type": "text", "align": "left", "color": FAINT, "fontSize": 11.5, "clip": True, **how}
    return {
        "data": {"values": [at]},
        "mark": mark,
        "encoding": {"x": space.x, "y": space.y, "text": {"field": "text"}},
    }
