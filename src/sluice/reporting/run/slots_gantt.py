"""The Gantt chart by slot: one lane for each slot, one bar for each task.

Bars have the colour of their job; in a run of one job, that of their stage. Where bars would be too
thin or too many, a heat map by pool takes their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.core.explain.story import ending_text
from sluice.core.transitions import AttemptState
from sluice.model.slot_kind import SlotKind
from sluice.reporting.charts import theme
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock_span, shortened, size
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.pool_heat import pool_heat
from sluice.reporting.run.slot_bars import (
    Bar,
    NodeSlots,
    SlotBars,
    SlotName,
    slot_bars,
    slots_in_use,
)

_LEGEND_MAX = len(theme.PALETTE)
_LABEL_APART = 13  # pixels between two labels
_NAMED_BARS_MAX = 400
_NAME_LETTERS = 18
_STEP_MIN = 8
_EDGED_WIDTH_MIN = 4
_LABEL_OF_SPAN_MIN = 0.03  # stages shorter than this have no label


def slots_gantt(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The view of a run's slots over time."""
    drawn = slot_bars(result.attempts, slots_of(result), axis.span_s)
    if drawn.bars and not _is_readable(drawn, axis):
        return pool_heat(result, axis, drawn.slots_used)
    key = _ColourKey.of(result)
    step = _step(len(drawn.lanes))
    rows = [_row(bar, drawn, axis, key) for bar in drawn.bars]
    return theme.view(
        theme.titled("Tasks by slot", _notes(drawn, key)),
        step * max(1, len(drawn.lanes)),
        data={"values": rows},
        layer=_layers(drawn, key, axis, step),
    )


def slots_of(result: RunFigures) -> list[NodeSlots]:
    """The slots of a run, by node and kind."""
    nodes = [
        (node.node_id, {kind: node.slots(kind) for kind in SlotKind})
        for node in result.cluster.nodes
    ]
    return slots_in_use(result.attempts, nodes)


def _is_readable(drawn: SlotBars, axis: TimeAxis) -> bool:
    """Whether nothing is left out, and most bars can be seen at their true width."""
    return drawn.is_complete and _median_width(drawn, axis) >= theme.BAR_WIDTH_MIN


def _median_width(drawn: SlotBars, axis: TimeAxis) -> float:
    """The median width of a bar, in pixels of the whole plot."""
    widths_s = sorted(bar.ends_at_s - bar.starts_at_s for bar in drawn.bars)
    return widths_s[len(widths_s) // 2] * theme.WIDTH / axis.span_s if widths_s else 0.0


@dataclass(frozen=True, slots=True)
class _ColourKey:
    """The meaning of colours. field: of a row.  names: the legend, in order; each has a colour."""

    field: str
    names: Sequence[str]
    place: dict[str, int]

    @classmethod
    def of(cls, result: RunFigures) -> _ColourKey:
        """Jobs, or the stages of the only job."""
        if len(result.entries) == 1 and len(result.entries[0].phases) > 1:
            field, names = "stage", [phase.name for phase in result.entries[0].phases]
        else:
            field, names = "job", [str(job.job_id) for job in result.jobs]
        return cls(field, names, {name: place for place, name in enumerate(names)})

    @property
    def is_by_stage(self) -> bool:
        return self.field == "stage"

    @property
    def has_legend(self) -> bool:
        return 0 < len(self.names) <= _LEGEND_MAX

    def number(self, bar: Bar) -> int:
        """The colour of a bar."""
        name = bar.phase.name if self.is_by_stage else bar.phase.job_id
        return self.place[name] % len(theme.PALETTE)


def _step(lanes: int) -> int:
    """Pixels for each lane: the more lanes, the fewer."""
    return next((step for most, step in ((16, 22), (32, 16), (60, 11)) if lanes <= most), _STEP_MIN)


def _notes(drawn: SlotBars, key: _ColourKey) -> list[str]:
    legend = "Coloured by stage" if key.is_by_stage else "Pale: first phase; full: later phases"
    if any(bar.outcome is not AttemptState.DONE for bar in drawn.bars):
        legend += "; red outline: failed, killed or lost"
    if not key.has_legend:
        by = "" if key.is_by_stage else ". Coloured by job"
        what = "stages" if key.is_by_stage else "jobs"
        legend += f"{by}; colours repeat after {len(theme.PALETTE)} {what}"
    return [f"{legend}.", *drawn.notes]


def _row(bar: Bar, drawn: SlotBars, axis: TimeAxis, key: _ColourKey) -> dict[str, Any]:
    node, kind, index = drawn.lanes[bar.lane]
    phase = bar.phase
    row: dict[str, Any] = {
        "lane": bar.lane,
        "job": phase.job_id,
        "colour": key.number(bar),
        "stage": phase.name,
        "later": int(key.is_by_stage or bool(phase.phase.after)),
        "start": axis.at(bar.starts_at_s),
        "end": axis.at(bar.ends_at_s),
        "slot": f"{node}, {kind.value} slot {index}",
        "task": str(bar.task) if bar.attempts == 1 else f"{bar.attempts} tasks",
        "time": clock_span(bar.starts_at_s, bar.ends_at_s),
        "outcome": bar.outcome.value,
        "why": bar.first.launch.reason.text(),
        "bad": int(bar.outcome is not AttemptState.DONE),
    }
    if row["bad"]:
        row["why"] = ending_text(bar.first).split("\n")[0] or bar.outcome.value
    usage = bar.first.usage
    if usage is not None and usage.fetched:
        row["why"] += f"; moved {size(sum(moved for _, moved in usage.fetched))}"
    is_long = bar.ends_at_s - bar.starts_at_s > _LABEL_OF_SPAN_MIN * axis.span_s
    if is_long or not key.is_by_stage:
        # A stage of Spark is called "stage 3: map at Words.scala:12".
        name = phase.name.split(":")[0] if key.is_by_stage else phase.job_id
        row["name"] = shortened(name, _NAME_LETTERS)
        row["ink"] = _ink(row)
    return row


def _ink(row: dict[str, Any]) -> str:
    """The colour of text on a bar."""
    if not row["later"]:
        return theme.INK
    return theme.ON_DARK if theme.PALETTE[row["colour"]] in theme.DARK else theme.ON_PALE


def _layers(drawn: SlotBars, key: _ColourKey, axis: TimeAxis, step: int) -> list[dict[str, Any]]:
    place: dict[str, Any] = {"x": axis.encoding(), "x2": theme.bar_end(), "y": _lanes(drawn, step)}
    bar = theme.mark("bar", height={"band": 0.86 if step > _STEP_MIN else 1.0}, clip=True)
    is_edged = _median_width(drawn, axis) > _EDGED_WIDTH_MIN
    good = theme.layer(
        bar | ({"stroke": theme.EDGE, "strokeWidth": 0.6} if is_edged else {}),
        where="datum.bad == 0",
        **place,
        **_looks(key),
        tooltip=_tooltip(),
    )
    bad = theme.layer(
        bar | {"stroke": theme.BAD, "strokeWidth": 1.2, "fillOpacity": 0.22},
        where="datum.bad == 1",
        **place,
        color=_looks(key)["color"],
        tooltip=_tooltip(),
    )
    layers = [good, bad]
    if step > _STEP_MIN and len(drawn.bars) <= _NAMED_BARS_MAX:
        layers.append(_bar_names(place))
    return layers


def _bar_names(place: dict[str, Any]) -> dict[str, Any]:
    """The name of the job or stage, in bars that are wide enough at the moment."""
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
            "opacity": theme.fitting("name"),
            "color": theme.nominal("ink", scale=None),
        },
    }


def _looks(key: _ColourKey) -> dict[str, Any]:
    """Colours, with a legend if there are enough of them; shade by phase."""
    if key.has_legend:
        color = theme.colours(key.field, key.names, legend=theme.short_legend(key.names))
    else:
        color = theme.colours("colour", range(len(theme.PALETTE)), legend=None)
    opacity = {
        "field": "later",
        "type": "ordinal",
        "scale": {"domain": [0, 1], "range": [0.55, 1.0]},
        "legend": None,
    }
    return {"color": color, "opacity": opacity}


def _tooltip() -> list[dict[str, str]]:
    fields = ("job", "stage", "task", "slot", "time", "outcome", "why")
    return theme.titled_tooltip(dict(zip(fields, fields, strict=True)))


def _lanes(drawn: SlotBars, step: int) -> dict[str, Any]:
    """Lanes, labelled by slot; only as many labels as are readable."""
    has_nodes = len({node for node, _, _ in drawn.lanes}) > 1
    names = [_name(slot, has_node=has_nodes) for slot in drawn.lanes]
    return theme.lanes(names, every=-(-_LABEL_APART // step))


def _name(slot: SlotName, *, has_node: bool) -> str:
    node, kind, index = slot
    name = f"{kind.value} {index}"
    return f"{shortened(node, 10)} {name}" if has_node else name
