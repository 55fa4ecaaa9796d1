"""Counts over time: slots in use by kind, and jobs that wait and run.

A count changes at instants. If there are too many of them for a chart, it shows means over equal
intervals, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from sluice.model.job import SlotKind
from sluice.reporting.charts.theme import (
    BLUE,
    FAINT,
    GREEN,
    NAMES_WIDTH,
    ORANGE,
    WAITING,
    WIDTH,
    TimeAxis,
    titled,
)
from sluice.reporting.formatting import clock, count, counted
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.outcomes import JobOutcome

INSTANTS_MAX = 500
_INTERVALS = 240
_HEIGHT = 130
_KINDS = {
    SlotKind.MAP: ("map slots", BLUE),
    SlotKind.REDUCE: ("reduce slots", ORANGE),
    SlotKind.CONTAINER: ("containers", GREEN),
}

Change = tuple[float, int]  # instant, difference
Level = tuple[float, float]  # start, count from then on


def utilisation_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """Busy slots over time, stacked by kind, below a line at all slots."""
    changes: dict[SlotKind, list[Change]] = {}
    for attempt in result.attempts:
        launch = attempt.launch
        of_kind = changes.setdefault(launch.slot_kind, [])
        of_kind.append((attempt.started_at_s, launch.tasks))
        of_kind.append((attempt.finished_at_s, -launch.tasks))
    kinds = [kind for kind in SlotKind if kind in changes] or [SlotKind.MAP, SlotKind.REDUCE]
    series, note = _series([(_KINDS[kind][0], changes.get(kind, [])) for kind in kinds], axis)
    view = _stack(series, [_KINDS[kind] for kind in kinds], axis)
    # Every slot counts as a container, too.
    all_kinds = [SlotKind.CONTAINER] if SlotKind.CONTAINER in kinds else kinds
    total = sum(result.cluster.slots(kind) for kind in all_kinds)
    if total:
        view["layer"].append(_line_of(total))
    line = f"Dashed: all {counted(total, 'slot')}." if total else ""
    return {"title": titled("Busy slots", [" ".join(filter(None, (line, note)))]), **view}


def waiting_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """Jobs that wait for their first task and jobs that run, over time."""
    return waiting_view(result.jobs, axis)


def waiting_view(jobs: Iterable[JobOutcome], axis: TimeAxis) -> dict[str, Any]:
    """The same view, of jobs."""
    waiting: list[Change] = []
    running: list[Change] = []
    for job in jobs:
        ends_at_s = axis.ends_at_s if job.finished_at_s is None else job.finished_at_s
        started_at_s = ends_at_s if job.started_at_s is None else job.started_at_s
        waiting += ((job.submitted_at_s, 1), (started_at_s, -1))
        running += ((started_at_s, 1), (ends_at_s, -1))
    series, note = _series([("running", running), ("waiting", waiting)], axis)
    looks = [("running", BLUE), ("waiting", WAITING)]
    return {
        "title": titled("Jobs running and waiting", [note]),
        **_stack(series, looks, axis),
    }


def _series(
    named: Sequence[tuple[str, Sequence[Change]]], axis: TimeAxis
) -> tuple[list[dict[str, Any]], str]:
    """Rows of all series at the same instants: only such rows can be stacked."""
    instants = {at_s for _, changes in named for at_s, _ in changes}
    instants |= {axis.starts_at_s, axis.ends_at_s}
    note = ""
    if len(instants) > INSTANTS_MAX:
        width_s = axis.span_s / _INTERVALS
        edges = [axis.starts_at_s + width_s * number for number in range(_INTERVALS + 1)]
        note = f"{count(len(instants))} changes drawn as means over {clock(width_s)}."
        levels = {name: _means(_levels(changes), edges) for name, changes in named}
    else:
        edges = sorted(instants)
        levels = {name: _at(_levels(changes), edges) for name, changes in named}
    rows = [
        {"start": axis.at(at_s), "what": name, "order": place, "count": level}
        for place, (name, of_name) in enumerate(levels.items())
        for at_s, level in zip(edges, of_name, strict=True)
    ]
    return rows, note


def _levels(changes: Iterable[Change]) -> list[Level]:
    """The running count, from each instant at which it changes."""
    by_instant: dict[float, int] = {}
    for at_s, change in changes:
        by_instant[at_s] = by_instant.get(at_s, 0) + change
    instants = sorted(by_instant)
    return list(zip(instants, accumulate(by_instant[at_s] for at_s in instants), strict=True))


def _at(levels: Sequence[Level], instants: Sequence[float]) -> list[float]:
    """The count from each instant on. Both sequences are sorted."""
    found: list[float] = []
    place, level = 0, 0.0
    for at_s in instants:
        while place < len(levels) and levels[place][0] <= at_s:
            level = levels[place][1]
            place += 1
        found.append(level)
    return found


def _means(levels: Sequence[Level], edges: Sequence[float]) -> list[float]:
    """The mean count from each edge to the next; the last edge repeats the last mean."""
    instants = sorted({*edges, *(at_s for at_s, _ in levels)})
    counts = _at(levels, instants)
    means: list[float] = []
    area, edge = 0.0, 1
    for left, right, level in zip(instants, instants[1:], counts, strict=False):
        if edges[0] <= left and edge < len(edges):
            area += level * (right - left)
            if right >= edges[edge]:
                means.append(area / (edges[edge] - edges[edge - 1]))
                area, edge = 0.0, edge + 1
    return [*means, means[-1]]


def _stack(
    rows: list[dict[str, Any]],
    looks: Sequence[tuple[str, str]],
    axis: TimeAxis,
) -> dict[str, Any]:
    names, colours = [name for name, _ in looks], [colour for _, colour in looks]
    y_axis = {
        "title": None, "minExtent": NAMES_WIDTH, "maxExtent": NAMES_WIDTH, "tickMinStep": 1,
        "tickCount": 5, "labelExpr": "datum.value % 1 ? '' : format(datum.value, '~s')",
    }  # fmt: skip
    area = {
        "data": {"values": rows},
        "mark": {"type": "area", "interpolate": "step-after", "opacity": 0.9, "clip": True},
        "encoding": {
            "x": axis.encoding(),
            "y": {"field": "count", "type": "quantitative", "stack": "zero", "axis": y_axis},
            "color": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": names, "range": colours},
                "legend": {},
            },
            "order": {"field": "order", "type": "quantitative"},
            # No count: an area is one mark, and would show its first count everywhere.
            "tooltip": [{"field": "what", "type": "nominal"}],
        },
    }
    return {"width": WIDTH, "height": _HEIGHT, "layer": [area]}


def _line_of(total: int) -> dict[str, Any]:
    """A dashed line at all slots of the cluster."""
    return {
        "data": {"values": [{"count": total}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": FAINT},
        "encoding": {"y": {"field": "count", "type": "quantitative"}},
    }
