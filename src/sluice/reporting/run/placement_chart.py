"""Utility and job slots of each job over time, of a policy that publishes placements (`ras`).

Both step at control cycles and end with the job. A dashed line marks each goal, in the colour of
its job; goals beyond the end of the run are left out. Source: RAS paper, figures 3 to 6.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.reporting.charts import theme
from sluice.reporting.charts.readings import Band, readings
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock_span, hundredths, shortened
from sluice.reporting.run.figures import RunFigures

_HEIGHT = 210
_UTILITY_CUT = -3.0  # jobs whose goal comes first are below it until they have their slots
_UTILITY_LOW, _UTILITY_HIGH = -1.0, 1.0  # shown at least
_HEADROOM = 0.12  # of an axis: above the lines, for the names of goals
_NAME_LETTERS, _NAME_ROOM = 12, 0.3  # of a goal; the part of the axis that one takes at most

Change = Mapping[str, Any]  # an item of `placements` in the document of a run
Step = tuple[float, float | None]  # an instant, and the level from then on


def has_placements(result: RunFigures) -> bool:
    """Whether the policy of the run published placements."""
    return bool(_placements(result))


def utility_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The utility of each job. Raises InvalidInput if the run has no placements."""
    _check(result, "utility")
    note = "0: as many slots as the goal needs; a gap: no map slot. Dashed: goals."
    shown = _lowest(result), _UTILITY_HIGH
    return {
        "title": theme.titled("Utility", [note]),
        **_lines(result, axis, lambda change: change["utility"], shown),
    }


def job_slots_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The map slots and reduce slots of each job together. Raises as `utility_chart`."""
    _check(result, "slots")
    changes = (one for of_job in _placements(result).values() for one in of_job)
    most = max(map(_slots, changes), default=0.0)
    return {
        "title": theme.titled("Job slots", ["Map and reduce slots of each job. Dashed: goals."]),
        **_lines(result, axis, _slots, (0.0, most or 1.0)),
    }


def _slots(change: Change) -> float:
    return float(change["map_slots"] + change["reduce_slots"])


def _lowest(result: RunFigures) -> float:
    """The lower end of the utility axis. Far lower ones, of aim=goals, are cut off."""
    utilities: list[float | None] = [
        one["utility"] for of_job in _placements(result).values() for one in of_job
    ]
    shown = [one for one in utilities if one is not None and one >= _UTILITY_CUT]
    return min([_UTILITY_LOW, *shown])


def _check(result: RunFigures, kind: str) -> None:
    if not has_placements(result):
        raise InvalidInput(
            f"the run has no placements, which the chart {kind!r} shows",
            where="plot",
            hint="simulate with --tasks ras",
        )


def _placements(result: RunFigures) -> Mapping[str, Sequence[Change]]:
    found = result.extra.get("placements")
    return found if isinstance(found, Mapping) else {}


def _lines(
    result: RunFigures,
    axis: TimeAxis,
    value: Callable[[Change], float | None],
    shown: tuple[float, float],
) -> dict[str, Any]:
    placements = _placements(result)
    names = [str(job.job_id) for job in result.jobs if job.job_id in placements]
    steps = {name: _steps(result, name, placements[name], value, axis) for name in names}
    rows = [
        {"job": name, "start": axis.at(at_s), "value": level}
        for name, of_job in steps.items()
        for at_s, level in of_job
    ]
    low, high = shown
    y = theme.quantity(
        "value",
        axis=theme.names_axis(tickCount=6),
        scale={"domain": [low, high + _HEADROOM * (high - low)], "clamp": True, "nice": False},
    )
    colour = theme.colours("job", names, legend={"symbolType": "stroke", "symbolStrokeWidth": 3})
    line = theme.layer(
        theme.mark(
            "line",
            interpolate="step-after",
            strokeWidth=1.8,
            clip=True,
            invalid="break-paths-show-path-domains",
        ),
        rows,
        x=axis.encoding(),
        y=y,
        color=colour,
        tooltip=theme.tooltip("job"),
    )
    return {
        "width": theme.WIDTH,
        "height": _HEIGHT,
        "layer": [_step_readings(steps, axis), line, _goals(result, names, axis, colour)],
    }


def _step_readings(steps: Mapping[str, Sequence[Step]], axis: TimeAxis) -> dict[str, Any]:
    """The level of each job between two changes of any of them."""
    edges = sorted({at_s for of_job in steps.values() for at_s, _ in of_job})
    bands = [
        Band(
            axis.at(start_s),
            axis.at(end_s),
            clock_span(start_s, end_s),
            {name: hundredths(_level(of_job, start_s)) for name, of_job in steps.items()},
        )
        for start_s, end_s in pairwise(edges)
    ]
    return readings(bands, list(steps), axis.encoding(), title="time")


def _level(steps: Sequence[Step], at_s: float) -> float | None:
    """The last level up to an instant; None before the first and from the end on."""
    if not steps or at_s >= steps[-1][0]:
        return None
    place = bisect_right([instant for instant, _ in steps], at_s) - 1
    return steps[place][1] if place >= 0 else None


def _steps(
    result: RunFigures,
    name: str,
    changes: Sequence[Change],
    value: Callable[[Change], float | None],
    axis: TimeAxis,
) -> list[Step]:
    """Instants and levels, with the end of the job (or of the run) as last instant."""
    steps = [(float(change["at_s"]), value(change)) for change in changes]
    ended = next(job.finished_at_s for job in result.jobs if job.job_id == name)
    ends_at_s = axis.ends_at_s if ended is None else ended
    kept = [step for step in steps if step[0] <= ends_at_s]
    return [*kept, (ends_at_s, kept[-1][1])] if kept else []


def _goals(
    result: RunFigures, names: list[str], axis: TimeAxis, colour: dict[str, Any]
) -> dict[str, Any]:
    """A dashed line at each goal within the run, with the name of its job if it has room."""
    goals = sorted(
        (job.deadline_at_s, str(job.job_id))
        for job in result.jobs
        if job.deadline_at_s is not None
        and job.job_id in names
        and axis.starts_at_s <= job.deadline_at_s <= axis.ends_at_s
    )
    rows = []
    named_s = -math.inf
    for at_s, name in goals:
        has_room = at_s - named_s > _NAME_ROOM * axis.span_s
        named_s = at_s if has_room else named_s
        shown = shortened(name, _NAME_LETTERS) if has_room else ""
        rows.append({"job": name, "label": shown, "start": axis.at(at_s)})
    x = axis.encoding()
    rule = theme.layer(
        theme.mark("rule", strokeDash=[5, 4], strokeWidth=1.3, opacity=0.8), x=x, color=colour
    )
    label = theme.layer(
        theme.mark("text", align="left", baseline="top", fontSize=10, color=theme.FAINT),
        x=theme.right_of("start", "label"),
        y={"value": 2},
        text={"field": "label"},
    )
    return {"data": {"values": rows}, "layer": [rule, label]}
