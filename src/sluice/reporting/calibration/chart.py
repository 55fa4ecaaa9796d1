"""Predicted against actual: a point for each run, a line for its interval, both axes logarithmic.

Points on the diagonal are exact predictions; points above it are too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.estimate.calibration import Calibration, RunComparison
from sluice.estimate.uncertainty import PredictionInterval
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import CLOCK, FAINT, MS, PALETTE, finished, heading
from sluice.reporting.formatting import clock, share, shortened

_SIDE = 460
_RUNS_MAX = 4000  # more points than pixels add nothing
_NAME_LETTERS = 20
_OTHERS = "other profiles"


def calibration_chart(calibration: Calibration) -> Chart:
    """The chart of a calibration; without runs that have no prediction."""
    every = [one for one in calibration.comparisons if one.predicted_s is not None]
    shown = every[:: -(-len(every) // _RUNS_MAX) or 1]
    names = _names(calibration)
    rows = [_row(one, names) for one in shown]
    return Chart(
        finished(
            {
                "title": heading("Predicted against actual", _notes(calibration), offset=14),
                "width": _SIDE,
                "height": _SIDE,
                "layer": [_diagonal(_limits(rows)), _intervals(rows), _points(rows, names)],
            }
        )
    )


def _names(calibration: Calibration) -> dict[str, str]:
    """The name of each profile in the legend, which has one name for each colour."""
    all_names = [profile.name for profile in calibration.profiles]
    named = all_names if len(all_names) <= len(PALETTE) else all_names[: len(PALETTE) - 1]
    return {
        name: shortened(name, _NAME_LETTERS) if name in named else _OTHERS for name in all_names
    }


def _notes(calibration: Calibration) -> list[str]:
    found = calibration.accuracy
    method = {
        "run": "each predicted from the other runs",
        "setting": "each predicted from other settings",
        "nothing": "each predicted from all runs, itself included",
    }[calibration.leave_out.value]
    inside = (
        f"; {share(found.coverage)} inside the {calibration.level * 100:g} % interval"
        if found.coverage is not None
        else ""
    )
    return [
        f"{found.predicted} runs, {method}",
        f"median error {share(found.error_median)}{inside}",
    ]


def _row(one: RunComparison, names: dict[str, str]) -> dict[str, Any]:
    interval = one.interval if isinstance(one.interval, PredictionInterval) else None
    predicted_s = one.predicted_s or 0.0  # only runs with a prediction are drawn
    low_s, high_s = (interval.low_s, interval.high_s) if interval else (predicted_s, predicted_s)
    return {
        "profile": names[one.profile],
        "run": shortened(one.run_id, 60),
        "actual": MS * one.actual_s,
        "predicted": MS * predicted_s,
        "low": MS * low_s,
        "high": MS * high_s,
        "took": clock(one.actual_s),
        "prediction": clock(predicted_s),
        "interval": f"{clock(low_s)} – {clock(high_s)}",
    }


def _limits(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    values = [row[name] for row in rows for name in ("actual", "low", "high")]
    return (min(values) / 1.15, max(values) * 1.15) if values else (1.0, 10.0)


def _diagonal(limits: tuple[float, float]) -> dict[str, Any]:
    return {
        "data": {"values": [{"actual": limit, "predicted": limit} for limit in limits]},
        "mark": {"type": "line", "color": FAINT, "strokeDash": [4, 4], "strokeWidth": 1},
        "encoding": {
            "x": _axis("actual", "actual", limits),
            "y": _axis("predicted", "predicted", limits),
        },
    }


def _axis(field: str, name: str, limits: tuple[float, float]) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"type": "log", "domain": list(limits), "nice": False},
        "axis": {"title": name, "tickCount": 6, "labelExpr": CLOCK},
    }


def _intervals(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "rule", "opacity": 0.28, "strokeWidth": 1.2},
        "encoding": {
            "x": {"field": "actual", "type": "quantitative"},
            "y": {"field": "low", "type": "quantitative"},
            "y2": {"field": "high"},
            "color": {"field": "profile", "type": "nominal"},
        },
    }


def _points(rows: Sequence[dict[str, Any]], names: dict[str, str]) -> dict[str, Any]:
    domain = list(dict.fromkeys(names.values()))
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.9},
        "encoding": {
            "x": {"field": "actual", "type": "quantitative"},
            "y": {"field": "predicted", "type": "quantitative"},
            "color": {
                "field": "profile",
                "type": "nominal",
                "scale": {"domain": domain, "range": list(PALETTE[: len(domain)])},
                "legend": {"columns": 4} if len(domain) > 1 else None,
            },
            "tooltip": [
                {"field": name, "type": "nominal"}
                for name in ("profile", "run", "took", "prediction", "interval")
            ],
        },
    }
