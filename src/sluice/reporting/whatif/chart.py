"""The chart of `whatif`: the waits of each queue, and how much they differ from the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.length_bars import LANES_MAX, LengthBar, bars_view
from sluice.reporting.formatting import clock, counted, distinguished

_LANE, _NAME_LETTERS = 22, 18
_MEASURE = "wait_s_p95"


def whatif_chart(document: Mapping[str, Any]) -> Chart:
    """The chart. document: of `whatif`."""
    views = [_waits(document)]
    rows = _differences(document)
    if rows:
        views.append(_differences_view(rows))
    containers = counted(document["containers"], "container")
    note = f"{containers}, {counted(document['seeds'], 'seed')}."
    title = theme.heading("Waits by queue", [note])
    return Chart(theme.finished(theme.stacked(title, views, spacing=30)))


def _waits(document: Mapping[str, Any]) -> dict[str, Any]:
    bars = []
    queues = document["queues"]
    shown = distinguished(list(queues), _NAME_LETTERS - 4)
    for name, queue in zip(shown, queues.values(), strict=True):
        for side, colour in (("old", theme.WAITING), ("new", theme.BLUE)):
            figures = queue[side]
            wait_s = None if figures is None else figures["wait_s"]["p95"]
            if wait_s is not None:
                least_s, most_s = (figures[f"wait_s_{one}"]["p95"] for one in ("min", "max"))
                lane = f"{name} {side}"
                bars.append(LengthBar(lane, wait_s, clock(wait_s), colour, least_s, most_s))
    return bars_view(
        "p95 of the jobs' waits",
        bars,
        axis="wait",
        notes=["Bars: means over the seeds; lines: minimum to maximum."],
    )


def _differences(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for name, queue in document["queues"].items():
        one = queue["difference"].get(_MEASURE)
        if one is None or one["mean"] is None:
            continue
        low_s = one["mean"] if one["low"] is None else one["low"]
        high_s = one["mean"] if one["high"] is None else one["high"]
        # Of this difference alone: a queue may win or lose by its slowdown, and wait as before.
        verdict = _verdict(one["low"], one["high"])
        rows.append(
            {
                "queue": name,
                "mean": theme.MS * one["mean"],
                "low": theme.MS * low_s,
                "high": theme.MS * high_s,
                "difference": _signed(one["mean"]),
                "interval": f"{_signed(low_s)} to {_signed(high_s)}",
                "verdict": verdict,
                "colour": {"waits less": theme.GREEN, "waits longer": theme.BAD}.get(
                    verdict, theme.SLATE
                ),
            }
        )
    return rows


def _verdict(low_s: float | None, high_s: float | None) -> str:
    """Which way the wait changes, if its interval says so. None: one seed has no interval."""
    if low_s is None or high_s is None or low_s <= 0 <= high_s:
        return "no clear difference"
    return "waits less" if high_s < 0 else "waits longer"


def _signed(seconds: float) -> str:
    """A difference: "+0:30" or "-2:24"."""
    sign = "+" if seconds > 0 else "-" if seconds < 0 else ""
    return f"{sign}{clock(abs(seconds))}"


def _differences_view(all_rows: list[dict[str, Any]]) -> dict[str, Any]:
    """New minus old, with the interval; queues with the greatest differences first."""
    rows = sorted(all_rows, key=lambda row: -abs(row["mean"]))[:LANES_MAX]
    rows = [{"lane": lane, **row} for lane, row in enumerate(rows)]
    more = len(all_rows) - len(rows)
    names = distinguished([row["queue"] for row in rows], _NAME_LETTERS)
    x = theme.signed_lengths(
        "mean",
        "new minus old, p95 of the waits",
        most_s=max(
            (abs(row[end]) / theme.MS for row in rows for end in ("low", "high")), default=0
        ),
    )
    fields = ("queue", "difference", "interval", "verdict")
    look: dict[str, Any] = {
        "y": theme.lanes(names), "color": theme.OWN_COLOUR, "tooltip": theme.tooltip(*fields),
    }  # fmt: skip
    notes = [
        "Points: means over the seeds; lines: 95 % intervals.",
        "Green: waits less; red: longer; grey: no clear difference.",
        f"{counted(more, 'queue')} with smaller differences not shown." if more else "",
    ]
    return theme.view(
        theme.titled("Who waits less, and who longer", notes),
        _LANE * len(rows),
        data={"values": rows},
        layer=[
            theme.line_at("zero", 0, along="x", channel={**x, "field": "zero"}, colour=theme.FAINT),
            theme.layer(
                theme.mark("rule", strokeWidth=5, opacity=0.45),
                x={**x, "field": "low"},
                x2={"field": "high"},
                **look,
            ),
            theme.layer(theme.mark("point", filled=True, size=70, opacity=1), x=x, **look),
        ],
    )
