"""The chart of a division: what each member received, and its fairness degree, over the steps."""

from __future__ import annotations

from typing import Any

from sluice.planning.sharing.fluid import SharingHistory
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import INK, PALETTE, WHOLE, WIDTH, finished, heading, titled
from sluice.reporting.formatting import count, hundredths, shortened

MEMBERS_MAX = 8
STEPS_MAX = 1000
_HEIGHT = 200
_NAME_LETTERS = 18


def share_chart(history: SharingHistory) -> Chart:
    """Allocated units as stacked bars, and fairness degrees as lines."""
    last = history.steps[-1]
    benefit, loss = hundredths(float(last.benefit)), hundredths(float(last.loss))
    gains = f"benefit {benefit}, loss {loss}"
    notes = [
        f"rule {history.problem.options.policy}; {gains} at the last step",
        _left_out(history),
    ]
    title = heading("Shares", notes)
    views = [_units_view(history), _fairness_view(history)]
    return Chart(finished({"title": title, "vconcat": views, "spacing": 30}))


def _left_out(history: SharingHistory) -> str:
    hidden = len(history.problem.names) - MEMBERS_MAX
    return f"{count(hidden)} members are not shown." if hidden > 0 else ""


def _rows(history: SharingHistory) -> list[dict[str, Any]]:
    shown = history.problem.names[:MEMBERS_MAX]
    # Long histories are thinned out: a chart is some hundred pixels wide.
    every = -(-len(history.steps) // STEPS_MAX)
    return [
        {
            "step": number,
            "member": shortened(name, _NAME_LETTERS),
            "units": float(step.allocated[member]),
            "fairness": None if degree is None else float(degree),
        }
        for number, step in enumerate(history.steps, start=1)
        if number % every == 0 or number == len(history.steps)
        for member, name in enumerate(shown)
        for degree in [step.fairness[member]]
    ]


def _colors(history: SharingHistory) -> dict[str, Any]:
    names = [shortened(name, _NAME_LETTERS) for name in history.problem.names[:MEMBERS_MAX]]
    return {
        "field": "member",
        "type": "nominal",
        "scale": {"domain": names, "range": list(PALETTE[: len(names)])},
        "legend": {"offset": 16},
    }


def _units_view(history: SharingHistory) -> dict[str, Any]:
    return {
        "title": titled("Allocated units", []),
        "width": WIDTH,
        "height": _HEIGHT,
        "data": {"values": _rows(history)},
        "mark": "bar",
        "encoding": {
            "x": {
                "field": "step",
                "type": "ordinal",
                "axis": {"title": "step", "labelOverlap": True, "labelAngle": 0},
            },
            "y": {"field": "units", "type": "quantitative", "axis": {"title": "units"}},
            "color": _colors(history),
            "tooltip": _tooltip("units"),
        },
    }  # fmt: skip


def _tooltip(value: str) -> list[dict[str, str]]:
    return [
        {"field": "member", "type": "nominal"},
        {"field": "step", "type": "quantitative"},
        {"field": value, "type": "quantitative", "format": ",.4~g"},
    ]


def _fairness_view(history: SharingHistory) -> dict[str, Any]:
    line = {
        "mark": {"type": "line", "point": len(history.steps) <= MEMBERS_MAX},
        "encoding": {
            "x": {
                "field": "step",
                "type": "quantitative",
                "scale": {"padding": 8, "zero": False, "nice": False},
                "axis": {"title": "step", "labelExpr": WHOLE},
            },
            "y": {
                "field": "fairness",
                "type": "quantitative",
                "scale": {"zero": False, "padding": 8},
                "axis": {"title": "use / use with a fixed share"},
            },
            "color": _colors(history),
            "tooltip": _tooltip("fairness"),
        },
    }
    even = {
        "data": {"values": [{"even": 1}]},
        "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
        "encoding": {"y": {"field": "even", "type": "quantitative"}},
    }
    return {
        "title": titled("Fairness degree", ["Below 1 a member has less than its own share."]),
        "width": WIDTH,
        "height": _HEIGHT,
        "data": {"values": _rows(history)},
        "layer": [line, even],
    }
