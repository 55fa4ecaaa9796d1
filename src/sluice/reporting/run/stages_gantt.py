"""The Gantt chart of one application by stage: a lane for each, the longest in another colour.

A label gives the share of the application's time that a stage was active, above 3 %.
"""

from __future__ import annotations

import math
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock_span, count, distinguished, share, shortened
from sluice.reporting.run.figures import RunFigures

STAGES_MAX = 60
_TYPED = 2  # phases of a map-reduce job, which fits into one lane
_LABELLED_MIN = 0.03
_NEAR = 0.2  # of the axis: nearer to its start or end, a narrow window would cut a label
_STEP, _STEP_MIN, _SPACIOUS_MAX = 20, 13, 24
_NAME_LETTERS = 18

Span = tuple[str, float, float]  # phase, first start, last end


def is_one_app(result: RunFigures) -> bool:
    """Whether a run has one job only, with more stages than a lane can show."""
    return len(result.entries) == 1 and len(result.entries[0].phases) > _TYPED


def phase_spans(result: RunFigures) -> dict[str, list[Span]]:
    """The time from first start to last end of each job and phase that ran."""
    spans: dict[object, list[float]] = {}
    for attempt in result.attempts:
        span = spans.setdefault(attempt.phase, [math.inf, -math.inf])
        span[0] = min(span[0], attempt.started_at_s)
        span[1] = max(span[1], attempt.finished_at_s)
    return {
        entry.job_id: [
            (phase.name, spans[phase][0], spans[phase][1])
            for phase in entry.phases
            if phase in spans
        ]
        for entry in result.entries
    }


def stages_gantt(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The view of the stages of the only job over time."""
    (job,) = result.jobs
    numbered = list(enumerate(phase_spans(result)[job.job_id]))
    longest = sorted(numbered, key=lambda one: one[1][1] - one[1][2])[:STAGES_MAX]
    shown = sorted(longest)
    names = distinguished([name for _, (name, _, _) in shown], _NAME_LETTERS)
    rows = [
        {"lane": lane, "job": job.job_id, **_row(span, axis, is_longest=number == longest[0][0])}
        for lane, (number, span) in enumerate(shown)
    ]
    step = _STEP if len(shown) <= _SPACIOUS_MAX else _STEP_MIN
    few = f"The {STAGES_MAX} longest of {count(len(numbered))} stages are shown."
    notes = [
        "From first start to last end; labels: share of the time. Orange: the longest stage.",
        few if len(shown) < len(numbered) else "",
    ]
    return theme.view(
        theme.titled(f"Stages of {shortened(job.job_id, 40)}", notes),
        step * max(1, len(shown)),
        data={"values": rows},
        layer=_layers(names, axis),
    )


def _row(span: Span, axis: TimeAxis, *, is_longest: bool) -> dict[str, Any]:
    name, starts_at_s, ends_at_s = span
    part = (ends_at_s - starts_at_s) / axis.span_s
    return {
        "stage": name,
        "colour": theme.ORANGE if is_longest else theme.BLUE,
        "start": axis.at(starts_at_s),
        "end": axis.at(ends_at_s),
        "time": clock_span(starts_at_s, ends_at_s),
        "share": share(part),
        "label": share(part) if part > _LABELLED_MIN else "",
        "side": _side(starts_at_s - axis.starts_at_s, ends_at_s - axis.starts_at_s, axis.span_s),
    }


def _side(after_start_s: float, ended_s: float, span_s: float) -> str:
    """The side of a bar on which its label has room."""
    if span_s - ended_s > _NEAR * span_s:
        return "right"
    return "left" if after_start_s > _NEAR * span_s else "inside"


def _layers(names: list[str], axis: TimeAxis) -> list[dict[str, Any]]:
    y = theme.lanes(names)
    tooltip = theme.tooltip("job", "stage", "time", "share")
    bar = theme.layer(
        theme.mark("bar", height={"band": 0.74}, clip=True),
        x=axis.encoding(),
        x2=theme.bar_end(),
        y=y,
        color=theme.OWN_COLOUR,
        tooltip=tooltip,
    )
    places: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("right", "end", {"align": "left", "dx": 4, "color": theme.INK}),
        ("left", "start", {"align": "right", "dx": -4, "color": theme.INK}),
        ("inside", "end", {"align": "right", "dx": -4, "color": theme.ON_DARK}),
    )
    text: dict[str, Any] = {"type": "text", "fontSize": 10, "clip": True}
    labels = [
        theme.layer(
            text | place,
            where=f"datum.side == '{side}' && datum.label != ''",
            x=axis.encoding(field),
            y=y,
            text=theme.nominal("label"),
        )
        for side, field, place in places
    ]
    return [bar, *labels]
