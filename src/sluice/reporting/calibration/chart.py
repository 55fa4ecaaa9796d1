"""Predicted against actual: a point for each run, a line for its interval, both axes logarithmic.

Points on the diagonal are exact predictions; points above it are too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.formatting import clock, distinguished, share, shortened

_SIDE = 460
_RUNS_MAX = 4000  # more points than pixels add nothing
_NAME_LETTERS = 20
_OTHERS = "other profiles"


def calibration_chart(document: Mapping[str, Any]) -> Chart:
    """The chart of a calibration, without runs that have no prediction.

    document: of `calibrate`.
    """
    names = _names(document["profiles"])
    every = [
        (names[profile], run)
        for profile, held in document["profiles"].items()
        for run in held["runs"]
        if run["predicted_s"] is not None
    ]
    rows = [_row(name, run) for name, run in every[:: -(-len(every) // _RUNS_MAX) or 1]]
    return Chart(
        theme.finished(
            {
                "title": theme.heading("Predicted against actual", _notes(document), offset=14),
                "width": _SIDE,
                "height": _SIDE,
                "layer": [_diagonal(_limits(rows)), _intervals(rows), _points(rows, names)],
            }
        )
    )


def _names(profiles: Iterable[str]) -> dict[str, str]:
    """The name of each profile in the legend, which has one name for each colour."""
    all_names = list(profiles)
    named = (
        all_names if len(all_names) <= len(theme.PALETTE) else all_names[: len(theme.PALETTE) - 1]
    )
    shown = dict(zip(named, distinguished(named, _NAME_LETTERS), strict=True))
    return {name: shown.get(name, _OTHERS) for name in all_names}


def _notes(document: Mapping[str, Any]) -> list[str]:
    found = document["overall"]
    method = {
        "run": "each predicted from the other runs",
        "setting": "each predicted from other settings",
        "nothing": "each predicted from all runs, itself included",
    }[document["leave_out"]]
    inside = (
        f"; {share(found['coverage'])} inside the {document['level'] * 100:g} % interval"
        if found["coverage"] is not None
        else ""
    )
    return [
        f"{found['predicted']} runs, {method}",
        f"median error {share(found['error_median'])}{inside}",
    ]


def _row(profile: str, run: Mapping[str, Any]) -> dict[str, Any]:
    predicted_s, actual_s = run["predicted_s"], run["actual_s"]
    has_interval = run["low_s"] is not None
    low_s, high_s = (run["low_s"], run["high_s"]) if has_interval else (predicted_s, predicted_s)
    return {
        "profile": profile,
        "run": shortened(run["id"], 60),
        "actual": theme.MS * actual_s,
        "predicted": theme.MS * predicted_s,
        "low": theme.MS * low_s,
        "high": theme.MS * high_s,
        "took": clock(actual_s),
        "prediction": clock(predicted_s),
        "interval": f"{clock(low_s)} – {clock(high_s)}",
    }


def _limits(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    values = [row[name] for row in rows for name in ("actual", "low", "high")]
    return (min(values) / 1.15, max(values) * 1.15) if values else (1.0, 10.0)


def _diagonal(limits: tuple[float, float]) -> dict[str, Any]:
    return theme.layer(
        theme.mark("line", color=theme.FAINT, strokeDash=[4, 4], strokeWidth=1),
        [{"actual": limit, "predicted": limit} for limit in limits],
        x=_axis("actual", "actual", limits),
        y=_axis("predicted", "predicted", limits),
    )


def _axis(field: str, name: str, limits: tuple[float, float]) -> dict[str, Any]:
    return theme.quantity(
        field,
        scale={"type": "log", "domain": list(limits), "nice": False},
        axis={"title": name, "tickCount": 6, "labelExpr": theme.CLOCK},
    )


def _intervals(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return theme.layer(
        theme.mark("rule", opacity=0.28, strokeWidth=1.2),
        list(rows),
        x=theme.quantity("actual"),
        y=theme.quantity("low"),
        y2={"field": "high"},
        color=theme.nominal("profile"),
    )


def _points(rows: Sequence[dict[str, Any]], names: dict[str, str]) -> dict[str, Any]:
    domain = list(dict.fromkeys(names.values()))
    return theme.layer(
        theme.mark("point", filled=True, size=42, opacity=0.9),
        list(rows),
        x=theme.quantity("actual"),
        y=theme.quantity("predicted"),
        color=theme.colours("profile", domain, legend={"columns": 4} if len(domain) > 1 else None),
        tooltip=theme.tooltip("profile", "run", "took", "prediction", "interval"),
    )
