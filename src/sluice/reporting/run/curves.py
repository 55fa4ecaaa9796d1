"""Counts over time: slots in use by kind, and jobs that wait and run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sluice.model.slot_kind import SlotKind
from sluice.reporting.charts import theme
from sluice.reporting.charts.readings import count_readings
from sluice.reporting.charts.step_counts import Change, StepCounts
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import counted
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.outcomes import JobOutcome

_HEIGHT = 130
_KINDS = {
    SlotKind.MAP: ("map slots", theme.BLUE),
    SlotKind.REDUCE: ("reduce slots", theme.ORANGE),
    SlotKind.CONTAINER: ("containers", theme.GREEN),
}


def utilisation_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """Busy slots over time, stacked by kind, below a line at all slots."""
    changes: dict[SlotKind, list[Change]] = {}
    for attempt in result.attempts:
        launch = attempt.launch
        of_kind = changes.setdefault(launch.slot_kind, [])
        of_kind.append((attempt.started_at_s, launch.tasks))
        of_kind.append((attempt.finished_at_s, -launch.tasks))
    kinds = [kind for kind in SlotKind if kind in changes] or [SlotKind.MAP, SlotKind.REDUCE]
    counts = StepCounts.of({_KINDS[kind][0]: changes.get(kind, []) for kind in kinds}, axis)
    view = _stack(counts, [_KINDS[kind] for kind in kinds], axis)
    # Every slot counts as a container, too.
    all_kinds = [SlotKind.CONTAINER] if SlotKind.CONTAINER in kinds else kinds
    total = sum(result.cluster.slots(kind) for kind in all_kinds)
    if total:
        view["layer"].insert(1, theme.line_at("count", total, colour=theme.FAINT))
    line = f"Dashed: all {counted(total, 'slot')}." if total else ""
    return {
        "title": theme.titled("Busy slots", [" ".join(filter(None, (line, counts.note)))]),
        **view,
    }


def waiting_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """Jobs of a run that wait and that run, over time."""
    return waiting_view(result.jobs, axis)


def waiting_view(jobs: Iterable[JobOutcome], axis: TimeAxis) -> dict[str, Any]:
    """Jobs that wait for their first task and jobs that run, over time."""
    waiting: list[Change] = []
    running: list[Change] = []
    for job in jobs:
        ends_at_s = axis.ends_at_s if job.finished_at_s is None else job.finished_at_s
        started_at_s = ends_at_s if job.started_at_s is None else job.started_at_s
        waiting += ((job.submitted_at_s, 1), (started_at_s, -1))
        running += ((started_at_s, 1), (ends_at_s, -1))
    counts = StepCounts.of({"running": running, "waiting": waiting}, axis)
    looks = [("running", theme.BLUE), ("waiting", theme.WAITING)]
    return {
        "title": theme.titled("Jobs running and waiting", [counts.note]),
        **_stack(counts, looks, axis),
    }


def _stack(counts: StepCounts, looks: Sequence[tuple[str, str]], axis: TimeAxis) -> dict[str, Any]:
    names, colours = [name for name, _ in looks], [colour for _, colour in looks]
    rows = [
        {"start": axis.at(at_s), "what": name, "order": place, "count": level}
        for place, (name, levels) in enumerate(counts.counts.items())
        for at_s, level in zip(counts.edges_s, levels, strict=True)
    ]
    whole = "datum.value % 1 ? '' : format(datum.value, '~s')"
    y_axis = theme.names_axis(tickMinStep=1, tickCount=5, labelExpr=whole)
    area = theme.layer(
        theme.mark("area", interpolate="step-after", opacity=0.9, clip=True),
        rows,
        x=axis.encoding(),
        y=theme.quantity("count", stack="zero", axis=y_axis),
        color=theme.colours("what", names, colours, legend={}),
        order=theme.quantity("order"),
    )
    return {"width": theme.WIDTH, "height": _HEIGHT, "layer": [area, count_readings(counts, axis)]}
