"""The chart of a diagnosis: where the time went, other slot counts, and what changes would save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.length_bars import LengthBar, bars_view
from sluice.reporting.formatting import clock, count, share, shortened

_STEPS_MAX = 24


def diagnosis_chart(document: Mapping[str, Any]) -> Chart:
    """The chart, with all lengths on one axis of time. document: of `explain`."""
    parts, others, saved = list(_parts(document)), _other_slots(document), _saved(document)
    alike = [*parts, *others, *saved]
    views = [
        bars_view(
            "Where the time went",
            parts,
            axis="time",
            alike=alike,
            notes=["Stages of the critical path in order of time, and time without a task."],
        ),
        bars_view(
            "With other numbers of slots",
            others,
            axis="replayed time",
            alike=alike,
            notes=[
                "In brackets: efficiency, the speed-up over the run's own slots, by the factor."
            ],
        ),
    ]
    if saved:
        notes = ["Each change alone; the savings do not add up."]
        views.append(
            bars_view("What would help", saved, axis="time saved", alike=alike, notes=notes)
        )
    title = theme.heading(
        shortened(f"{document['profile']} took {_took(document)}", 70), [_note(document)]
    )
    return Chart(theme.finished(theme.stacked(title, views, spacing=30)))


def _took(document: Mapping[str, Any]) -> str:
    return clock(document["recorded_s"])


def _note(document: Mapping[str, Any]) -> str:
    slots = f"{count(document['slots'])} slots, idle {share(document['idle_share'])} of their time"
    return f"{document['run_id']}: {slots}; its replay takes {clock(document['replayed_s'])}."


def _parts(document: Mapping[str, Any]) -> Iterator[LengthBar]:
    recorded_s = document["recorded_s"] or 1.0
    for name, length_s in (
        ("waited for slots", document["waited_s"]),
        ("no task running", document["driver_s"]),
    ):
        if length_s:
            yield LengthBar(name, length_s, _label(length_s, length_s / recorded_s), theme.WAITING)
    steps = document["critical_path"]
    longest = sorted(range(len(steps)), key=lambda place: -steps[place]["s"])[:_STEPS_MAX]
    for place in sorted(longest):
        step = steps[place]
        is_longest = place == longest[0]
        colour = theme.ORANGE if is_longest else theme.BLUE
        yield LengthBar(step["stage"], step["s"], _label(step["s"], step["share"]), colour)


def _other_slots(document: Mapping[str, Any]) -> list[LengthBar]:
    return [
        LengthBar(
            f"{count(one['slots'])} ({one['slots_factor']:g}x)",
            one["s"],
            _label(one["s"], one["efficiency"]),
            theme.SLATE if one["slots_factor"] == 1 else theme.BLUE,
        )
        for one in document["what_if"]
    ]


def _saved(document: Mapping[str, Any]) -> list[LengthBar]:
    return [
        LengthBar(
            f"saves {clock(one['saves_s'])}", one["saves_s"], "", theme.GREEN, below=one["what"]
        )
        for one in document["advice"]
    ]


def _label(length_s: float, part: float) -> str:
    return f"{clock(length_s)} ({share(part)})"
