"""The chart of a ledger: what tenants are owed, and their fairness degrees, over time."""

from __future__ import annotations

from typing import Any

from sluice.planning.sharing.ledger import Ledger
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import (
    INK,
    PALETTE,
    WIDTH,
    TimeAxis,
    finished,
    heading,
    titled,
)
from sluice.reporting.formatting import clock, count, hundredths, shortened

TENANTS_MAX = 8
_HEIGHT = 200
_NAME_LETTERS = 18
_HOUR_S = 3600.0


def fairness_chart(ledger: Ledger, scheduler: str) -> Chart:
    """Both views, one below the other."""
    total = ledger.total
    hidden = len(ledger.shares) - TENANTS_MAX
    gains = f"benefit {hundredths(total.benefit)}, loss {hundredths(total.loss)}"
    notes = [
        f"{scheduler}: {gains} at the end",
        f"{count(hidden)} tenants with the smallest shares are not shown." if hidden > 0 else "",
    ]
    names = sorted(ledger.shares, key=lambda name: -ledger.shares[name])[:TENANTS_MAX]
    views = [
        _view(ledger, names, "owed", "Owed", "container-hours", even=0.0),
        _view(ledger, names, "fairness", "Fairness degree", "use / use with a fixed share", even=1),
    ]
    title = heading("Fairness ledger", notes)
    return Chart(finished({"title": title, "vconcat": views, "spacing": 30}))


def _view(
    ledger: Ledger, names: list[str], field: str, title: str, axis: str, *, even: float
) -> dict[str, Any]:
    time = TimeAxis(starts_at_s=0.0, ends_at_s=ledger.total.ended_at_s)
    scale = _HOUR_S if field == "owed" else 1.0
    rows = [
        {
            "at": time.at(period.ended_at_s),
            "tenant": shortened(name, _NAME_LETTERS),
            "time": clock(period.ended_at_s),
            "value": None if value is None else value / scale,
        }
        for period in ledger.periods
        for name in names
        for value in [getattr(period.tenants[name], field)]
    ]
    shown = [shortened(name, _NAME_LETTERS) for name in names]
    color = {"domain": shown, "range": list(PALETTE[: len(shown)])}
    line = {
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": time.encoding("at"),
            "y": {"field": "value", "type": "quantitative", "axis": {"title": axis}},
            "color": {"field": "tenant", "type": "nominal", "scale": color},
            "tooltip": [
                {"field": "tenant", "type": "nominal"},
                {"field": "time", "type": "nominal"},
                {"field": "value", "type": "quantitative", "format": ",.4~g"},
            ],
        },
    }
    rule = {
        "data": {"values": [{"even": even}]},
        "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
        "encoding": {"y": {"field": "even", "type": "quantitative"}},
    }
    return {
        "title": titled(title, []),
        "width": WIDTH,
        "height": _HEIGHT,
        "data": {"values": rows},
        "layer": [line, rule],
    }
