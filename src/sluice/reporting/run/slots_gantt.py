"""The Gantt chart by slot: one lane for each slot, one bar for each task, coloured by job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.core.story import ending_text
from sluice.core.transitions import AttemptState
from sluice.model.job import SlotKind
from sluice.reporting.charts.theme import (
    BAD,
    DARK,
    INK,
    PALETTE,
    WIDTH,
    TimeAxis,
    lanes,
    titled,
)
from sluice.reporting.formatting import duration, shortened
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.slot_bars import (
    Bar,
    NodeSlots,
    SlotBars,
    SlotName,
    slot_bars,
    slots_in_use,
)

_LEGEND_JOBS_MAX = len(PALETTE)
_LABEL_APART = 13  # pixels between two labels
_BAR_OF_SPAN_MIN = 1.2 / WIDTH  # a task too short to be seen is drawn a pixel wide
_NAMED_BARS_MAX = 400
_CHARACTER_WIDTH = 6.2
_STEP_MIN = 8
_EDGED_WIDTH_MIN = 4


def slots_gantt(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The view of a run's slots over time."""
    drawn = slot_bars(result.attempts, slots_of(result), axis.span_s)
    jobs = [job.job_id for job in result.jobs]
    step = _step(len(drawn.lanes))
    rows = [_row(bar, drawn, axis) for bar in drawn.bars]
    return {
        "title": titled("Tasks by slot", _notes(drawn, jobs)),
        "width": WIDTH,
        "height": step * max(1, len(drawn.lanes)),
        "data": {"values": rows},
        "layer": _layers(drawn, jobs, axis, step),
    }


def slots_of(result: RunFigures) -> list[NodeSlots]:
    """The slots of a run, by node and kind."""
    nodes = [
        (node.node_id, {kind: node.slots(kind) for kind in SlotKind})
        for node in result.cluster.nodes
    ]
    return slots_in_use(result.attempts, nodes)


def _step(lanes: int) -> int:
    """Pixels for each lane: the more lanes, the fewer."""
    return next((step for most, step in ((16, 22), (32, 16), (60, 11)) if lanes <= most), _STEP_MIN)


def _notes(drawn: SlotBars, jobs: Sequence[str]) -> list[str]:
    legend = "Pale: first phase; full: later phases"
    if any(bar.outcome is not AttemptState.DONE for bar in drawn.bars):
        legend += "; red outline: failed, killed or lost"
    if len(jobs) > _LEGEND_JOBS_MAX:
        legend += f". Coloured by job; colours repeat after {len(PALETTE)} jobs"
    return [f"{legend}.", *drawn.notes]


def _row(bar: Bar, drawn: SlotBars, axis: TimeAxis) -> dict[str, Any]:
    node, kind, index = drawn.lanes[bar.lane]
    phase = bar.phase
    width_s = bar.ends_at_s - bar.starts_at_s
    ends_at_s = bar.starts_at_s + max(width_s, _BAR_OF_SPAN_MIN * axis.span_s)
    row: dict[str, Any] = {
        "lane": bar.lane,
        "job": phase.job_id,
        "colour": phase.job.seq % len(PALETTE),
        "phase": phase.name,
        "later": int(bool(phase.phase.after)),
        "start": axis.at(bar.starts_at_s),
        "end": axis.at(ends_at_s),
        "slot": f"{node}, {kind.value} slot {index}",
        "task": str(bar.task) if bar.attempts == 1 else f"{bar.attempts} tasks",
        "time": f"{duration(bar.starts_at_s)} – {duration(bar.ends_at_s)} ({duration(width_s)})",
        "outcome": bar.outcome.value,
        "why": bar.first.launch.reason.text(),
        "bad": int(bar.outcome is not AttemptState.DONE),
    }
    if row["bad"]:
        row["why"] = ending_text(bar.first).split("\n")[0] or bar.outcome.value
    if width_s * WIDTH / axis.span_s > _CHARACTER_WIDTH * len(phase.job_id) + 6:
        row["name"] = phase.job_id
        is_dark = row["later"] and PALETTE[row["colour"]] in DARK
        row["ink"] = "white" if is_dark else INK
    return row


def _layers(
    drawn: SlotBars, jobs: Sequence[str], axis: TimeAxis, step: int
) -> list[dict[str, Any]]:
    place = {
        "x": axis.encoding(),
        "x2": {"field": "end"},
        "y": _lanes(drawn, step),
    }
    bar = {"type": "bar", "height": {"band": 0.86 if step > _STEP_MIN else 1.0}, "clip": True}
    good: dict[str, Any] = {
        "transform": [{"filter": "datum.bad == 0"}],
        "mark": bar | ({"stroke": "white", "strokeWidth": 0.6} if _has_wide(drawn, axis) else {}),
        "encoding": {**place, **_looks(jobs), "tooltip": _tooltip()},
    }
    bad = {
        "transform": [{"filter": "datum.bad == 1"}],
        "mark": bar | {"stroke": BAD, "strokeWidth": 1.2, "fillOpacity": 0.22},
        "encoding": {**place, "color": _looks(jobs)["color"], "tooltip": _tooltip()},
    }
    layers = [good, bad]
    if step > _STEP_MIN and len(drawn.bars) <= _NAMED_BARS_MAX:
        layers.append(_bar_names(place))
    return layers


def _bar_names(place: dict[str, Any]) -> dict[str, Any]:
    """The name of the job, in bars that are wide enough."""
    return {
        "transform": [
            {"filter": "datum.name && datum.bad == 0"},
            {"calculate": "(datum.start + datum.end) / 2", "as": "middle"},
        ],
        "mark": {"type": "text", "fontSize": 10, "clip": True},
        "encoding": {
            "x": {**place["x"], "field": "middle"},
            "y": place["y"],
            "text": {"field": "name"},
            "color": {"field": "ink", "type": "nominal", "scale": None},
        },
    }


def _has_wide(drawn: SlotBars, axis: TimeAxis) -> bool:
    """Whether most bars are wide enough for a white edge."""
    widths_s = sorted(bar.ends_at_s - bar.starts_at_s for bar in drawn.bars)
    return bool(widths_s) and widths_s[len(widths_s) // 2] * WIDTH / axis.span_s > _EDGED_WIDTH_MIN


def _looks(jobs: Sequence[str]) -> dict[str, Any]:
    """Colour by job, with a legend if there are enough colours; shade by phase."""
    if 0 < len(jobs) <= _LEGEND_JOBS_MAX:
        color: dict[str, Any] = {
            "field": "job",
            "type": "nominal",
            "scale": {"domain": list(jobs), "range": list(PALETTE[: len(jobs)])},
            "legend": {},
        }
    else:
        color = {
            "field": "colour",
            "type": "nominal",
            "scale": {"domain": list(range(len(PALETTE))), "range": list(PALETTE)},
            "legend": None,
        }
    opacity = {
        "field": "later",
        "type": "ordinal",
        "scale": {"domain": [0, 1], "range": [0.55, 1.0]},
        "legend": None,
    }
    return {"color": color, "opacity": opacity}


def _tooltip() -> list[dict[str, str]]:
    fields = ("job", "phase", "task", "slot", "time", "outcome", "why")
    return [{"field": field, "type": "nominal", "title": field} for field in fields]


def _lanes(drawn: SlotBars, step: int) -> dict[str, Any]:
    """Lanes, labelled by slot; only as many labels as are readable."""
    has_nodes = len({node for node, _, _ in drawn.lanes}) > 1
    names = [_name(slot, has_node=has_nodes) for slot in drawn.lanes]
    return lanes(names, every=-(-_LABEL_APART // step))


def _name(slot: SlotName, *, has_node: bool) -> str:
    node, kind, index = slot
    name = f"{kind.value} {index}"
    return f"{shortened(node, 10)} {name}" if has_node else name
