"""Schedulers compared: how long jobs waited, and the means of each scheduler.

The waits of all jobs are drawn as the share of jobs that waited at most that long, a line for each
scheduler, and as a box for each: half of the jobs are within the box, 90 % within its line. Below
are the measures, one view each, because they have different units: a bar for the mean, and a line
from the minimum to the maximum over the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.readings import Band, readings
from sluice.reporting.compare.result import ComparedScheduler, SchedulerComparison
from sluice.reporting.formatting import NOTHING, clock, hundredths, money, share, shortened

_MEASURES = {
    "makespan_s": "makespan",
    "mean_response_s": "mean response",
    "wait_s_p95": "p95 of the jobs' waits",
    "slowdown_p95": "p95 of the jobs' slowdowns",
    "deadlines_met": "deadlines met",
    "cost_usd": "cost ($)",
}
_TIMES = frozenset({"makespan_s", "mean_response_s", "wait_s_p95"})
_LANE = 26
_NAME_LETTERS = 18
_WAITS_HEIGHT = 200
_STEPS = 100  # points of one line
_BOX = {"least": 0.05, "low": 0.25, "middle": 0.5, "high": 0.75, "most": 0.95}


def schedulers_chart(comparison: SchedulerComparison) -> Chart:
    """The chart of a comparison; measures without values are not shown."""
    views = []
    if any(row.waits_s for row in comparison.rows):
        views = [_shares_view(comparison), _boxes_view(comparison)]
    views += [_view(comparison, measure) for measure in _MEASURES if _is_shown(comparison, measure)]
    runs = max((row.runs for row in comparison.rows), default=0)
    note = f"Bars: means over {runs} seeds; lines: minimum to maximum." if runs > 1 else ""
    title = theme.heading("Schedulers compared", [note])
    return Chart(theme.finished(theme.stacked(title, views, spacing=26)))


def _is_shown(comparison: SchedulerComparison, measure: str) -> bool:
    if measure == "deadlines_met" and not comparison.deadlines:
        return False
    return any(row.spreads.get(measure) is not None for row in comparison.rows)


def _names(comparison: SchedulerComparison) -> list[str]:
    """Names that fit; both ends stay. The number keeps apart two that are then the same."""
    return [
        f"{place + 1} {shortened(row.scheduler, _NAME_LETTERS - 2)}"
        for place, row in enumerate(comparison.rows)
    ]


def _colour(names: Sequence[str]) -> dict[str, Any]:
    return theme.colours("scheduler", names, legend={"columns": 4, "offset": 16})


# --- waits of the jobs ----------------------------------------------------------------------------


def _shares_view(comparison: SchedulerComparison) -> dict[str, Any]:
    """The share of jobs that waited at most that long, by scheduler."""
    names = _names(comparison)
    rows = [
        {"scheduler": name, "wait": theme.MS * wait_s, "share": step / _STEPS}
        for name, row in zip(names, comparison.rows, strict=True)
        for step, wait_s in enumerate(row.wait_s_by_percent)
    ]
    axis = theme.names_axis(format="%")
    y = theme.quantity("share", scale={"domain": [0, 1]}, axis=axis)
    return theme.view(
        theme.titled(
            "How long jobs waited for their first task",
            ["The share of the jobs of all seeds that waited at most that long."],
        ),
        _WAITS_HEIGHT,
        layer=[
            _wait_readings(comparison, names, y),
            theme.layer(
                theme.mark("line", strokeWidth=2, clip=True),
                rows,
                x=theme.lengths("wait", "wait", _longest_s(comparison)),
                y=y,
                order=theme.quantity("share"),
                color=_colour(names),
            ),
        ],
    )


def _wait_readings(
    comparison: SchedulerComparison, names: Sequence[str], y: dict[str, Any]
) -> dict[str, Any]:
    """A band for each percent of the jobs, with the wait under each scheduler."""
    by_name = {
        name: row.wait_s_by_percent for name, row in zip(names, comparison.rows, strict=True)
    }
    bands = [
        Band(
            (percent - 0.5) / _STEPS,
            (percent + 0.5) / _STEPS,
            share(percent / _STEPS),
            {name: clock(waits_s[percent]) if waits_s else NOTHING
             for name, waits_s in by_name.items()},
        )
        for percent in range(1, _STEPS)
    ]  # fmt: skip
    return readings(bands, names, y, title="of the jobs waited at most", along="y")


def _longest_s(comparison: SchedulerComparison) -> float:
    return max(
        (waits_s[-1] for row in comparison.rows if (waits_s := row.wait_s_by_percent)), default=1.0
    )


def _boxes_view(comparison: SchedulerComparison) -> dict[str, Any]:
    """The quartiles of the waits of each scheduler, and the range of 90 % of them."""
    names = _names(comparison)
    rows = [
        {"lane": lane, "scheduler": name, **_box(row)}
        for lane, (name, row) in enumerate(zip(names, comparison.rows, strict=True))
        if row.waits_s
    ]
    longest_s = _longest_s(comparison)

    def x(field: str) -> dict[str, Any]:
        return theme.lengths(field, "wait", longest_s)

    texts = [
        ("scheduler", "scheduler"),
        *((f"{part} text", share(at)) for part, at in _BOX.items()),
    ]
    return {
        "title": theme.titled(
            "The same waits", ["Box: the middle half of the jobs; line: 5 % to 95 %; mark: median."]
        ),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _LANE * len(comparison.rows),
        "encoding": {"y": theme.lanes(names), "tooltip": theme.titled_tooltip(dict(texts))},
        "layer": [
            theme.layer(theme.mark("rule", color=theme.INK), x=x("least"), x2={"field": "most"}),
            theme.layer(
                theme.mark("bar", height={"band": 0.5}),
                x=x("low"),
                x2={"field": "high"},
                color=_colour(names),
            ),
            theme.layer(
                theme.mark("tick", color=theme.INK, thickness=3, height={"band": 0.66}),
                x=x("middle"),
            ),
        ],
    }


def _box(row: ComparedScheduler) -> dict[str, object]:
    by_percent = row.wait_s_by_percent
    waits = {part: by_percent[round(_STEPS * at)] for part, at in _BOX.items()}
    found: dict[str, object] = {part: theme.MS * wait_s for part, wait_s in waits.items()}
    return found | {f"{part} text": clock(wait_s) for part, wait_s in waits.items()}


# --- means ----------------------------------------------------------------------------------------


def _view(comparison: SchedulerComparison, measure: str) -> dict[str, Any]:
    names = _names(comparison)
    factor = theme.MS if measure in _TIMES else 1.0
    rows: list[dict[str, Any]] = [
        {
            "lane": lane,
            "scheduler": names[lane],
            "zero": 0,
            "mean": factor * spread.mean,
            "least": factor * spread.least,
            "most": factor * spread.most,
            "text": _text(measure, spread.mean),
            "range": f"{_text(measure, spread.least)} – {_text(measure, spread.most)}",
        }
        for lane, row in enumerate(comparison.rows)
        if (spread := row.spreads.get(measure)) is not None
    ]
    ends = [(row["most"], row["text"]) for row in rows]
    x = _axis(
        measure,
        max((row["most"] for row in rows), default=0.0),
        theme.labelled_domain(ends, empty=theme.EMPTY_S * factor if measure in _TIMES else factor),
    )
    tooltip = [
        theme.nominal("scheduler"),
        theme.nominal("text", title="mean"),
        theme.nominal("range"),
    ]
    return {
        "title": theme.titled(_MEASURES[measure].capitalize(), []),
        "data": {"values": rows},
        "width": theme.WIDTH,
        "height": _LANE * len(comparison.rows),
        # All schedulers in every view, in the order in which they were named.
        "encoding": {"y": theme.lanes(names), "tooltip": tooltip},
        "layer": [
            theme.layer(
                theme.mark("bar", height={"band": 0.62}),
                x={**x, "field": "zero"},
                x2={"field": "mean"},
                color=_colour(names),
            ),
            theme.layer(
                theme.mark("rule", color=theme.INK, strokeWidth=1.5),
                x={**x, "field": "least"},
                x2={"field": "most"},
            ),
            theme.layer(
                theme.mark("text", align="left", fontSize=10.5, color=theme.INK),
                x=theme.right_of("most", "text"),
                text=theme.nominal("text"),
            ),
        ],
    }


def _text(measure: str, value: float) -> str:
    if measure in _TIMES:
        return clock(value)
    return money(value) if measure == "cost_usd" else hundredths(value)


def _axis(measure: str, most: float, domain: dict[str, str]) -> dict[str, Any]:
    if measure in _TIMES:
        return theme.lengths("most", "", most / theme.MS, domain=domain)
    axis: dict[str, Any] = {"title": None, "tickCount": 8}
    if measure == "deadlines_met":
        axis |= {"labelExpr": theme.WHOLE}
    return theme.quantity("most", scale={"domain": domain, "nice": False}, axis=axis)
