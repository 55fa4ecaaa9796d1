"""The chart of a capacity plan: the cost by reserved VMs, and the jobs of each class.

The first view shows how many VMs to reserve: the line falls as long as more of them save money. The
second shows the accepted and refused jobs of each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sluice.planning.capacity.plan import CapacityPlan
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import (
    BLUE,
    FAINT,
    INK,
    NAMES_WIDTH,
    ORANGE,
    WAITING,
    WIDTH,
    finished,
    heading,
    lanes,
    titled,
)
from sluice.reporting.formatting import count, hundredths, money, shortened

CORNERS_MAX = 500
CLASSES_MAX = 25
_NEAR_AXIS = 0.4  # of the width: left of a mark there, its text would cross the axis
_HEIGHT, _LANE, _NAME_LETTERS = 260, 20, 18


def capacity_chart(plan: CapacityPlan) -> Chart:
    """The chart of a plan: both views, one below the other."""
    title = heading("Capacity", _notes(plan))
    views = [curve_view(plan), classes_view(plan)]
    # Each legend is next to the view that it explains.
    resolve = {"scale": {"color": "independent"}, "legend": {"color": "independent"}}
    return Chart(finished({"title": title, "vconcat": views, "spacing": 34, "resolve": resolve}))


def _notes(plan: CapacityPlan) -> list[str]:
    reserved, on_demand = hundredths(plan.reserved_vms), hundredths(plan.on_demand_vms)
    vms = f"{reserved} reserved and {on_demand} on-demand VMs"
    costs = f"{vms} cost {money(plan.rent_usd)}, refusals {money(plan.penalties_usd)}"
    return [f"{costs}; bound {plan.bound.value}."]


def curve_view(plan: CapacityPlan) -> dict[str, Any]:
    """The least cost over the number of reserved VMs, jobs divisible."""
    curve, now = plan.curve, plan.rent.reserved_vms
    reach = max(1.15 * curve.useful_vms, min(now, 3 * curve.useful_vms), 1e-9)
    corners = np.unique(np.concatenate((curve.reserved_vms, [reach])))
    if len(corners) > CORNERS_MAX:
        corners = corners[np.linspace(0, len(corners) - 1, CORNERS_MAX).astype(int)]
    rows = [{"vms": float(vms), "cost": curve.cost_at_usd(float(vms))} for vms in corners]
    shown_now = [_mark(plan, now, "contracted now", reach)] if now <= reach else []
    marks = [*shown_now, _mark(plan, curve.useful_vms, "no gain beyond", reach)]
    x = {
        "field": "vms",
        "type": "quantitative",
        "scale": {"domain": [0, reach], "nice": False},
        "axis": {"title": "reserved VMs", "tickCount": 10},
    }
    y = {
        "field": "cost",
        "type": "quantitative",
        # The label of the lowest point needs room below it.
        "scale": {"zero": False, "nice": False, "padding": 24},
        "axis": {
            "title": None, "minExtent": NAMES_WIDTH, "maxExtent": NAMES_WIDTH, "format": "$,.6~r",
            "tickCount": 6,
        },
    }  # fmt: skip
    return {
        "title": titled("Least cost, rent and refusals together", [_slopes(plan)]),
        "width": WIDTH,
        "height": _HEIGHT,
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "line", "color": BLUE, "strokeWidth": 2.5, "clip": True},
                "encoding": {"x": x, "y": y},
            },
            {"data": {"values": marks}, "layer": _marks(x, y)},
        ],
    }


def _slopes(plan: CapacityPlan) -> str:
    saving = plan.next_vm_usd - plan.rent.reserved_usd
    reserved = hundredths(plan.rent.reserved_vms)
    if saving <= 0:
        return f"All {reserved} reserved VMs are enough; one more saves nothing."
    return f"One VM more than {reserved} would save {money(saving)}."


def _mark(plan: CapacityPlan, vms: float, text: str, reach: float) -> dict[str, Any]:
    cost = plan.curve.cost_at_usd(vms)
    return {
        "vms": vms,
        "cost": cost,
        "text": f"{text}: {hundredths(vms)} VMs, {money(cost)}",
        "side": "right" if vms < _NEAR_AXIS * reach else "left",
    }


def _marks(x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
    """A point for each mark, with a label below the line to the left, or above it to the right."""
    left: dict[str, Any] = {"type": "text", "color": INK, "align": "right", "dx": -4, "dy": 15}
    right = left | {"align": "left", "dx": 8, "dy": -8}
    return [
        {
            "mark": {"type": "point", "filled": True, "size": 80, "color": ORANGE, "opacity": 1},
            "encoding": {"x": x, "y": y},
        },
        *(
            {
                "transform": [{"filter": f"datum.side == '{side}'"}],
                "mark": place,
                "encoding": {"x": x, "y": y, "text": {"field": "text"}},
            }
            for side, place in (("left", left), ("right", right))
        ),
    ]


def classes_view(plan: CapacityPlan) -> dict[str, Any]:
    """Jobs accepted and refused, for the classes with most VMs."""
    ranked = sorted(plan.classes, key=lambda one: (-one.vms, -one.rejected))
    chosen = {one.class_id for one in ranked[:CLASSES_MAX]}
    shown = [one for one in plan.classes if one.class_id in chosen]
    hidden = len(plan.classes) - len(shown)
    rows = [
        {"lane": lane, "what": what, "order": order, "jobs": jobs, "class": one.class_id}
        for lane, one in enumerate(shown)
        for order, (what, jobs) in enumerate((("taken", one.jobs), ("refused", one.rejected)))
    ]
    note = f"{count(hidden)} classes with fewer VMs are not shown." if hidden else ""
    return {
        "title": titled("Jobs at once, by class", [note]),
        "width": WIDTH,
        "height": _LANE * len(shown),
        "data": {"values": rows},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": lanes([shortened(one.class_id, _NAME_LETTERS) for one in shown]),
            "x": {
                "field": "jobs",
                "type": "quantitative",
                "stack": "zero",
                "axis": {"title": "jobs", "tickCount": 8},
            },
            "color": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": ["taken", "refused"], "range": [BLUE, WAITING]},
                "legend": {"labelColor": FAINT},
            },
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": "class", "type": "nominal"},
                {"field": "what", "type": "nominal"},
                {"field": "jobs", "type": "quantitative", "format": ",.2~f"},
            ],
        },
    }
