"""The chart of a capacity plan: the cost by reserved VMs, and the jobs of each class.

The first view shows how many VMs to reserve: the line falls as long as more of them save money. The
second shows the accepted and refused jobs of each class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.readings import Band, readings
from sluice.reporting.formatting import count, distinguished, hundredths, money
from sluice.reporting.picking import picked_evenly

CORNERS_MAX = 500
CLASSES_MAX = 25
_NEAR_AXIS = 0.4  # of the width: left of a mark there, its text would cross the axis
_HEIGHT, _LANE, _NAME_LETTERS = 260, 20, 18
_READINGS = 80  # bands under the pointer


Document = Mapping[str, Any]  # of `capacity`


def capacity_chart(document: Document) -> Chart:
    """The chart of a plan: both views, one below the other."""
    title = theme.heading("Capacity", _notes(document))
    views = [curve_view(document), classes_view(document)]
    # Each legend is next to the view that it explains.
    resolve = {"scale": {"color": "independent"}, "legend": {"color": "independent"}}
    return Chart(theme.finished(theme.stacked(title, views, spacing=34, resolve=resolve)))


def _notes(document: Document) -> list[str]:
    reserved, on_demand = (
        hundredths(document[f"{rent}_vms"]) for rent in ("reserved", "on_demand")
    )
    vms = f"{reserved} reserved and {on_demand} on-demand VMs"
    costs = f"{vms} cost {money(document['rent_usd'])}"
    return [f"{costs}, refusals {money(document['penalties_usd'])}; bound {document['bound']}."]


def curve_view(document: Document) -> dict[str, Any]:
    """The least cost over the number of reserved VMs, jobs divisible."""
    contract = document["contract"]
    useful, now = contract["useful_vms"], contract["reserved_vms"]
    reach = max(1.15 * useful, min(now, 3 * useful), 1e-9)
    corners = [(row["reserved_vms"], row["cost_usd"]) for row in document["curve"]]
    corners = [corners[place] for place in picked_evenly(len(corners), CORNERS_MAX)]
    if reach > corners[-1][0]:
        corners.append((reach, corners[-1][1]))
    rows = [{"vms": vms, "cost": cost_usd} for vms, cost_usd in corners]
    shown_now = [_mark(corners, now, "contracted now", reach)] if now <= reach else []
    marks = [*shown_now, _mark(corners, useful, "no gain beyond", reach)]
    x = theme.quantity(
        "vms",
        scale={"domain": [0, reach], "nice": False},
        axis={"title": "reserved VMs", "tickCount": 10},
    )
    y = theme.quantity(
        "cost",
        # The label of the lowest point needs room below it.
        scale={"zero": False, "nice": False, "padding": 38},
        axis=theme.names_axis(format="$,.6~r", tickCount=6),
    )
    return theme.view(
        theme.titled("Minimum cost (rent + refusal penalties)", [_slopes(contract)]),
        _HEIGHT,
        layer=[
            _cost_readings(corners, reach, x),
            theme.layer(
                theme.mark("line", color=theme.BLUE, strokeWidth=2.5, clip=True), rows, x=x, y=y
            ),
            {"data": {"values": marks}, "layer": _marks(x, y)},
        ],
    )


def _cost_readings(
    corners: Sequence[tuple[float, float]], reach: float, x: dict[str, Any]
) -> dict[str, Any]:
    edges = [reach * k / _READINGS for k in range(_READINGS + 1)]
    bands = []
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        cost = {"least cost": money(cost_at_usd(corners, middle))}
        bands.append(Band(low, high, f"{hundredths(middle)} VMs", cost))
    return readings(bands, ["least cost"], x, title="reserved")


def _slopes(contract: Document) -> str:
    saving, reserved = contract["next_saves_usd"], hundredths(contract["reserved_vms"])
    if saving <= 0:
        return f"All {reserved} reserved VMs are enough; one more saves nothing."
    return f"One VM more than {reserved} would save {money(saving)}."


def _mark(
    corners: Sequence[tuple[float, float]], vms: float, text: str, reach: float
) -> dict[str, Any]:
    cost = cost_at_usd(corners, vms)
    lines = [f"{text}:", f"{hundredths(vms)} VMs, {money(cost)}"]
    return {
        "vms": vms,
        "cost": cost,
        "text": "\n".join(lines),
        "longest line": max(lines, key=len),
        "side": "right" if vms < _NEAR_AXIS * reach else "left",
    }


def cost_at_usd(corners: Sequence[tuple[float, float]], vms: float) -> float:
    """The cost at a number of VMs, between the corners in proportion.

    >>> cost_at_usd([(0, 30), (10, 10)], 5), cost_at_usd([(0, 30), (10, 10)], 12)
    (20.0, 10)
    """
    for (low, low_usd), (high, high_usd) in pairwise(corners):
        if low <= vms < high:
            return low_usd + (high_usd - low_usd) * (vms - low) / (high - low)
    return corners[-1][1]


def _marks(x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
    """A point for each mark, with a label below the line to the left, or above it to the right."""
    text = theme.mark("text", color=theme.INK, align="left", lineBreak="\n")
    places = (
        ("left", 18, theme.left_of("vms", "longest line")),
        ("right", -18, theme.right_of("vms", "longest line")),
    )
    return [
        theme.layer(
            theme.mark("point", filled=True, size=80, color=theme.ORANGE, opacity=1), x=x, y=y
        ),
        *(
            theme.layer(
                {**text, "dy": dy},
                where=f"datum.side == '{side}'",
                x=where,
                y=y,
                text={"field": "text"},
            )
            for side, dy, where in places
        ),
    ]


def classes_view(document: Document) -> dict[str, Any]:
    """Jobs accepted and refused, for the classes with most VMs."""
    classes = document["classes"]
    ranked = sorted(classes, key=lambda name: (-classes[name]["vms"], -classes[name]["rejected"]))
    chosen = set(ranked[:CLASSES_MAX])
    shown = [name for name in classes if name in chosen]
    hidden = len(classes) - len(shown)
    rows = [
        {"lane": lane, "what": what, "order": order, "jobs": classes[name][field], "class": name}
        for lane, name in enumerate(shown)
        for order, (what, field) in enumerate((("taken", "jobs"), ("refused", "rejected")))
    ]
    note = f"{count(hidden)} classes with fewer VMs are not shown." if hidden else ""
    return theme.view(
        theme.titled("Jobs at once, by class", [note]),
        _LANE * len(shown),
        **theme.layer(
            theme.mark("bar", height={"band": 0.7}),
            rows,
            y=theme.lanes(distinguished(list(shown), _NAME_LETTERS)),
            x=theme.quantity("jobs", stack="zero", axis={"title": "jobs", "tickCount": 8}),
            color=theme.colours(
                "what",
                ["taken", "refused"],
                [theme.BLUE, theme.WAITING],
                legend={"labelColor": theme.FAINT},
            ),
            order=theme.quantity("order"),
            tooltip=[*theme.tooltip("class", "what"), theme.quantity("jobs", format=",.2~f")],
        ),
    )
