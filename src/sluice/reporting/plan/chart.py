"""Pareto-optimal plans by makespan and budget, with the limits and the knee.

In a browser the chart zooms and pans. The tooltip of a plan lists what each job gets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sluice.model.limits import PlanLimits
from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.formatting import NOTHING, clock, count, money, shortened
from sluice.reporting.picking import picked_evenly

PLANS_MAX = 1000
JOBS_SHOWN_MAX = 8  # in the tooltip of a plan
_HEIGHT = 380
_MARGIN = 0.06  # of a span, left free at its ends
_WIDE = 6.0  # times the least
# Ticks of a logarithmic axis of time.
_ROUND_S = tuple(
    number * unit
    for unit, numbers in (
        (1, (1, 2, 5, 10, 15, 20, 30, 45)),
        (60, (1, 2, 3, 5, 7, 10, 15, 20, 30, 45)),
        (3600, (1, 1.5, 2, 3, 4, 6, 8, 12, 18)),
        (86400, (1, 2, 3, 5, 7, 14, 28, 60, 120, 365)),
    )
    for number in numbers
)


class Region(StrEnum):
    """Where a plan is with respect to the limits; the values are the words of the legend."""

    WITHIN = "within the limits"
    BELOW = "below the minimum budget"
    BEYOND = "beyond the limits"


_COLOURS = {Region.WITHIN: theme.BLUE, Region.BELOW: theme.SKY, Region.BEYOND: theme.WAITING}


class JobShare(NamedTuple):
    """The VMs and the time that a plan gives to one job."""

    job: str
    vms: int
    map_slots: int
    reduce_slots: int
    containers: int = 0

    def __str__(self) -> str:
        slots = f"{self.map_slots} + {self.reduce_slots} slots"
        if self.containers:
            slots = f"{self.containers} containers"
        return f"{shortened(self.job, 12)}: {self.vms} VMs, {slots}"


class DrawnPlan(NamedTuple):
    """One plan of the chart.

    number: None for plans that the table does not list.  jobs: the first JOBS_SHOWN_MAX.
    """

    makespan_s: float
    budget_usd: float
    vms: int
    hour_saved_usd: float | None
    number: int | None
    region: Region
    is_knee: bool
    jobs: Sequence[JobShare]


def pareto_chart(plans: Sequence[DrawnPlan], total: int, jobs: int, limits: PlanLimits) -> Chart:
    """The chart of all plans that were found, also of those beyond the limits.

    plans: the fastest first; the first and the last of all plans are among them.
    total: how many plans were found, which may be more than are drawn.  jobs: of each plan.
    """
    if not plans:
        return Chart(theme.finished({**_frame("No plan fits into the available VMs."), **_EMPTY}))
    space = _Space(plans, limits)
    rows = [_row(plan, jobs) for plan in plans]
    hidden = total - len(rows)
    note = f" {count(hidden)} plans in between are not shown." if hidden else ""
    found = f"{count(jobs)} jobs, {count(total)} Pareto-optimal plans.{note}"
    layers = [
        *_shades(limits, space),
        _stair(rows, space),
        _points(rows, space),
        *_knee(rows, space),
    ]
    return Chart(theme.finished({**_frame(found), "layer": layers}))


_SAME = {name: name for name in ("plan", "makespan", "budget", "VMs")}
_EMPTY: dict[str, Any] = theme.layer(theme.mark("point", opacity=0), [{}])


def drawn_places(plans: int, knee: int) -> Iterator[int]:
    """Which of the plans are drawn: all, or PLANS_MAX picked evenly and the knee."""
    shown = set(picked_evenly(plans, PLANS_MAX))
    yield from sorted(shown | {knee} if len(shown) < plans else shown)


def _frame(note: str) -> dict[str, Any]:
    title = theme.heading("Makespan and budget", [note], offset=14)
    return theme.view(title, _HEIGHT)


class _Space:
    """The range of both axes: all plans, and the limits that are near them."""

    def __init__(self, plans: Sequence[DrawnPlan], limits: PlanLimits) -> None:
        self.time = _Span([plan.makespan_s for plan in plans], [limits.deadline_s])
        budgets = [limits.budget_usd_min or None, limits.budget_usd_max]
        self.money = _Span([plan.budget_usd for plan in plans], budgets)

    @property
    def x(self) -> dict[str, Any]:
        """Encoding of the makespan."""
        domain = [self.time.low * theme.MS, self.time.high * theme.MS]
        log = {"type": "quantitative", "scale": {"type": "log", "domain": domain, "nice": False}}
        axis = {"title": "makespan", "tickCount": 8, "labelExpr": theme.CLOCK}
        span = theme.time_domain(self.time.low, self.time.high)
        even = {"type": "temporal", "scale": {"type": "utc", "domain": span, "nice": False}}
        if not self.time.is_log:
            return {"field": "time", "axis": axis, **even}
        marks = [theme.MS * one for one in _ROUND_S if self.time.low <= one <= self.time.high]
        return {"field": "time", "axis": {**axis, "values": marks}, **log}

    @property
    def y(self) -> dict[str, Any]:
        """Encoding of the budget."""
        scale = {"type": "log"} if self.money.is_log else {"zero": False}
        return theme.quantity(
            "usd",
            scale={"domain": [self.money.low, self.money.high], "nice": False, **scale},
            axis={"title": "budget", "format": "$,~f", "tickCount": 8},
        )


class _Span:
    """The range of one axis, with a margin at both ends. A wide range is logarithmic."""

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
        """Position of a value on the axis, from 0 to 1."""
        low, high, at = self.low, self.high, value
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)


def _row(plan: DrawnPlan, jobs: int) -> dict[str, Any]:
    return {
        "time": plan.makespan_s * theme.MS,
        "usd": plan.budget_usd,
        "where": plan.region.value,
        "plan": NOTHING if plan.number is None else str(plan.number),
        "makespan": clock(plan.makespan_s),
        "budget": money(plan.budget_usd),
        "VMs": count(plan.vms) if plan.jobs else NOTHING,
        "hour": money(plan.hour_saved_usd),
        "jobs": _allocation(plan.jobs, jobs),
        "knee": plan.is_knee,
    }


def _allocation(shown: Sequence[JobShare], jobs: int) -> str:
    """Return what the plan gives to its first jobs, and how many more there are."""
    more = jobs - len(shown)
    return "; ".join([*map(str, shown), *([f"and {more} more"] if more else [])])


def _stair(rows: list[dict[str, Any]], space: _Space) -> dict[str, Any]:
    """The least budget for each makespan: a step at each plan."""
    return theme.layer(
        theme.mark(
            "line",
            interpolate="step-after",
            color=theme.BLUE,
            opacity=0.45,
            strokeWidth=1.5,
            clip=True,
        ),
        [{"time": row["time"], "usd": row["usd"]} for row in rows],
        x=space.x,
        y=space.y,
    )


def _points(rows: list[dict[str, Any]], space: _Space) -> dict[str, Any]:
    used = [where for where in _COLOURS if any(row["where"] == where for row in rows)]
    return theme.layer(
        theme.mark("point", filled=True, size=_dot(len(rows)), opacity=0.95, clip=True),
        rows,
        x=space.x,
        y=space.y,
        color=theme.colours(
            "where",
            used,
            [_COLOURS[where] for where in used],
            legend={"symbolType": "circle"} if len(used) > 1 else None,
        ),
        tooltip=theme.titled_tooltip({**_SAME, "hour": "cost per hour saved", "jobs": "jobs"}),
    )


def _dot(plans: int) -> int:
    """Area of a point: the more plans, the smaller."""
    return max(18, min(90, 9000 // plans))


def _knee(rows: list[dict[str, Any]], space: _Space) -> Iterator[dict[str, Any]]:
    """A ring around the knee, and its name."""
    found = [row for row in rows if row["knee"]]
    if not found:
        return
    row = found[0]
    # Two lines: one of that length would cross the points at its left in a narrow window.
    lines = [f"knee: plan {row['plan']}", f"{row['makespan']} for {row['budget']}"]
    label = {"text": "\n".join(lines), "longest": max(lines, key=len)}
    rows = [{"time": row["time"], "usd": row["usd"], **label}]
    ring = theme.mark("point", size=220, stroke=theme.ORANGE, strokeWidth=2.5, clip=True)
    yield theme.layer(ring, rows, x=space.x, y=space.y)
    name = theme.mark("text", align="left", dx=6, dy=-28, color=theme.INK, fontSize=12, clip=True)
    yield theme.layer(
        name | {"lineBreak": "\n"},
        rows,
        x=theme.right_of("time", "longest"),
        y=space.y,
        text={"field": "text"},
    )


def _shades(limits: PlanLimits, space: _Space) -> Iterator[dict[str, Any]]:
    """Grey areas beyond each limit, with the limit on the edge."""
    time, usd = space.time, space.money
    if limits.deadline_s is not None and limits.deadline_s < time.high:
        start = max(limits.deadline_s, time.low) * theme.MS
        box = {"time": start, "to": time.high * theme.MS, "usd": usd.low, "top": usd.high}
        yield _shade(box, space)
        text = f"deadline {clock(limits.deadline_s)}"
        where = _RIGHT_BELOW if time.share(start / theme.MS) > _NEAR_END else _LEFT_BELOW
        yield _edge({"time": start, "usd": usd.high, "text": text}, space, where)
    across = {"time": time.low * theme.MS, "to": time.high * theme.MS}
    right = {"time": time.high * theme.MS}
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


_NEAR_END = 0.8  # of the axis: beyond it, text to the right of an edge would be cut off
_LEFT_BELOW = {"dx": 6, "dy": 12}
_RIGHT_ABOVE = {"align": "right", "dx": -6, "dy": -8}
_RIGHT_BELOW = {"align": "right", "dx": -6, "dy": 12}


def _shade(box: dict[str, float], space: _Space) -> dict[str, Any]:
    return theme.layer(
        theme.mark("rect", color=theme.SHADE, opacity=0.13, clip=True),
        [box],
        x=space.x,
        x2={"field": "to"},
        y=space.y,
        y2={"field": "top"},
    )


def _edge(at: dict[str, Any], space: _Space, how: dict[str, Any]) -> dict[str, Any]:
    mark = theme.mark("text", align="left", color=theme.FAINT, fontSize=11.5, clip=True) | how
    return theme.layer(mark, [at], x=space.x, y=space.y, text={"field": "text"})
