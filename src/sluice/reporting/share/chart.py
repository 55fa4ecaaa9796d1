"""The chart of a division: what each member received, and its fairness degree, over the steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.formatting import count, distinguished, hundredths

MEMBERS_MAX = 8
STEPS_MAX = 1000
_HEIGHT = 200
_NAME_LETTERS = 18


def share_chart(document: Mapping[str, Any]) -> Chart:
    """Allocated units as stacked bars, and fairness degrees as lines.

    document: of a division. With several resources the bars are dominant shares, and a third view
    has the use of each resource.
    """
    benefit, loss = hundredths(document["benefit"]), hundredths(document["loss"])
    notes = [
        f"rule {document['policy']}; benefit {benefit}, loss {loss} at the last step",
        _left_out(document),
    ]
    title = theme.heading("Shares", notes)
    views = [_units_view(document), _fairness_view(document)]
    if "capacities" in document:
        views.insert(1, _resources_view(document))
    return Chart(theme.finished(theme.stacked(title, views, spacing=30)))


def _left_out(document: Mapping[str, Any]) -> str:
    hidden = len(document["fairness"]) - MEMBERS_MAX
    return f"{count(hidden)} members are not shown." if hidden > 0 else ""


def _members(document: Mapping[str, Any]) -> list[str]:
    return list(document["fairness"])[:MEMBERS_MAX]


def _drawn_steps(document: Mapping[str, Any]) -> list[int]:
    """Numbers of the steps; long histories are thinned out: a chart is some hundred pixels wide."""
    steps = len(document["steps"])
    every = -(-steps // STEPS_MAX)
    return [n for n in range(1, steps + 1) if n % every == 0 or n == steps]


def _rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    units = "dominant" if "capacities" in document else "allocated"
    members = _members(document)
    shown = distinguished(members, _NAME_LETTERS)
    return [
        {
            "step": number,
            "member": member,
            "units": document["steps"][number - 1][name][units],
            "fairness": document["over_steps"]["fairness"][number - 1][name],
        }
        for number in _drawn_steps(document)
        for name, member in zip(members, shown, strict=True)
    ]


def _resource_rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parts of each resource that all members hold."""
    capacities = document["capacities"]
    shown = distinguished(list(capacities), _NAME_LETTERS)
    return [
        {
            "step": number,
            "resource": resource,
            "used": sum(row["resources"][name] for row in document["steps"][number - 1].values())
            / total,
        }
        for number in _drawn_steps(document)
        for resource, (name, total) in zip(shown, capacities.items(), strict=True)
    ]


def _colors(field: str, given: list[str]) -> dict[str, Any]:
    names = distinguished(given, _NAME_LETTERS)
    return theme.colours(field, names, legend={"offset": 16})


def _units_view(document: Mapping[str, Any]) -> dict[str, Any]:
    is_one = "capacities" not in document
    return theme.view(
        theme.titled("Allocated units" if is_one else "Dominant shares", []),
        _HEIGHT,
        data={"values": _rows(document)},
        mark="bar",
        encoding={
            "x": {
                "field": "step",
                "type": "ordinal",
                "axis": {"title": "step", "labelOverlap": True, "labelAngle": 0},
            },
            "y": theme.quantity(
                "units", axis={"title": "units" if is_one else "sum of dominant shares"}
            ),
            "color": _colors("member", _members(document)),
            "tooltip": _tooltip("member", "units"),
        },
    )


def _tooltip(name: str, value: str) -> list[dict[str, str]]:
    return [theme.nominal(name), theme.quantity("step"), theme.quantity(value, format=",.4~g")]


def _lines(
    document: Mapping[str, Any], value: str, axis: Mapping[str, Any], color: Mapping[str, Any]
) -> dict[str, Any]:
    """A value over the steps, a line for each name of the color."""
    return theme.layer(
        theme.mark("line", point=len(document["steps"]) <= MEMBERS_MAX),
        x=theme.quantity(
            "step",
            scale={"padding": 8, "zero": False, "nice": False},
            axis={"title": "step", "labelExpr": theme.WHOLE},
        ),
        y=theme.quantity(value, **axis),
        color=color,
        tooltip=_tooltip(color["field"], value),
    )


def _resources_view(document: Mapping[str, Any]) -> dict[str, Any]:
    axis = {"scale": {"domain": [0, 1]}, "axis": {"title": "part in use", "format": "%"}}
    return theme.view(
        theme.titled("Use of each resource", []),
        _HEIGHT,
        data={"values": _resource_rows(document)},
        **_lines(document, "used", axis, _colors("resource", list(document["capacities"]))),
    )


def _fairness_view(document: Mapping[str, Any]) -> dict[str, Any]:
    axis = {
        "scale": {"zero": False, "padding": 8},
        "axis": {"title": "use / use with a fixed share"},
    }
    line = _lines(document, "fairness", axis, _colors("member", _members(document)))
    return theme.view(
        theme.titled("Fairness degree", ["Below 1 a member has less than its own share."]),
        _HEIGHT,
        data={"values": _rows(document)},
        layer=[line, theme.line_at("even", 1)],
    )
