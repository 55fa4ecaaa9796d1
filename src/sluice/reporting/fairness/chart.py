"""The chart of a ledger: debts, fairness degrees, benefit and loss over time; the Lorenz curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sluice.planning.sharing.ledger import Ledger
from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.fairness.amounts import unit_of
from sluice.reporting.formatting import clock, count, distinguished, hundredths

TENANTS_MAX = 8
_HEIGHT = 200
_NAME_LETTERS = 18

Row = Mapping[str, object]


def fairness_chart(ledger: Ledger, scheduler: str) -> Chart:
    """All views, one below the other."""
    total = ledger.total
    hidden = len(ledger.shares) - TENANTS_MAX
    gains = f"benefit {hundredths(total.benefit)}, loss {hundredths(total.loss)}"
    notes = [
        f"{scheduler}: {gains} at the end",
        f"{count(hidden)} tenants with the smallest shares are not shown." if hidden > 0 else "",
    ]
    names = sorted(ledger.shares, key=lambda name: -ledger.shares[name])[:TENANTS_MAX]
    views = [
        _tenants_view(ledger, names, "owed", "Owed", unit_of(ledger).name, even=0.0),
        _tenants_view(
            ledger, names, "fairness", "Fairness degree", "use / use with a fixed share", even=1
        ),
        _gains_view(ledger),
        _lorenz_view(ledger),
    ]
    title = theme.heading("Fairness ledger", notes)
    own_colors = {"scale": {"color": "independent"}}
    return Chart(theme.finished(theme.stacked(title, views, spacing=30, resolve=own_colors)))


def _time(ledger: Ledger) -> TimeAxis:
    return TimeAxis(starts_at_s=0.0, ends_at_s=ledger.total.ended_at_s)


def _tenants_view(
    ledger: Ledger, names: list[str], field: str, title: str, axis: str, *, even: float
) -> dict[str, Any]:
    time = _time(ledger)
    scale = unit_of(ledger).size_s if field == "owed" else 1.0
    shown = distinguished(names, _NAME_LETTERS)
    rows = [
        {
            "at": time.at(period.ended_at_s),
            "tenant": tenant,
            "time": clock(period.ended_at_s),
            "value": None if value is None else value / scale,
        }
        for period in ledger.periods
        for name, tenant in zip(names, shown, strict=True)
        for value in [getattr(period.tenants[name], field)]
    ]
    lines = _lines(time.encoding("at"), axis, "tenant", shown, theme.PALETTE, "time")
    return _view(theme.titled(title, []), rows, [lines, theme.line_at("even", even)])


def _gains_view(ledger: Ledger) -> dict[str, Any]:
    """Return what all tenants gained and lost by sharing, so far."""
    time = _time(ledger)
    rows = [
        {
            "at": time.at(period.ended_at_s),
            "time": clock(period.ended_at_s),
            "what": what,
            "value": getattr(period, what),
        }
        for period in ledger.periods
        for what in ("benefit", "loss")
    ]
    axis = "sum of degrees above 1, below 1"
    lines = _lines(
        time.encoding("at"), axis, "what", ["benefit", "loss"], (theme.GREEN, theme.BAD), "time"
    )
    return _view(theme.titled("Benefit and loss", []), rows, [lines])


def _lorenz_view(ledger: Ledger) -> dict[str, Any]:
    """Use by share of the least served tenants, against equal use."""
    tenants = max(1, len(ledger.lorenz) - 1)
    kinds = ("tenants", "equal")
    rows = [
        {"part": k / tenants, "what": what, "value": value}
        for k, used in enumerate(ledger.lorenz)
        for what, value in zip(kinds, (used, k / tenants), strict=True)
    ]
    part = theme.quantity(
        "part",
        scale={"domain": [0, 1], "nice": False},
        axis={"title": "part of the tenants, the least served first", "format": "%"},
    )
    lines = _lines(
        part, "part of all use, for its share", "what", kinds, (theme.PALETTE[0], theme.INK)
    )
    note = f"Jain's index {hundredths(ledger.jain)}"
    return _view(theme.titled("Lorenz curve", [note]), rows, [lines])


def _lines(
    x: Mapping[str, Any],
    axis: str,
    field: str,
    names: Sequence[str],
    colors: Sequence[str],
    *tips: str,
) -> dict[str, Any]:
    scale = {"domain": list(names), "range": list(colors[: len(names)])}
    return theme.layer(
        theme.mark("line", point=True),
        x=x,
        y=theme.quantity("value", axis={"title": axis}),
        color=theme.nominal(field, scale=scale),
        tooltip=[
            *(theme.nominal(name) for name in (field, *tips)),
            theme.quantity("value", format=",.4~g"),
        ],
    )


def _view(
    title: Mapping[str, Any], rows: Iterable[Row], layers: list[dict[str, Any]]
) -> dict[str, Any]:
    return theme.view(title, _HEIGHT, data={"values": list(rows)}, layer=layers)
