"""Values under the pointer: invisible bands, each with a tooltip of all values of a view there.

An area or a line is one mark and would show its first value everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from sluice.reporting.charts import theme
from sluice.reporting.charts.step_counts import StepCounts
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock_span, tenths

NAMES_MAX = 12  # values in one tooltip


class Band(NamedTuple):
    """A part of an axis. start, end: as the data has them.  at: in words.  values: by name."""

    start: float
    end: float
    at: str
    values: Mapping[str, str]


def readings(
    bands: Iterable[Band],
    names: Sequence[str],
    channel: Mapping[str, Any],
    *,
    title: str,
    along: Literal["x", "y"] = "x",
) -> dict[str, Any]:
    """The layer of the bands. names: values in this order.  channel: of the axis that they are on.

    title: what the axis shows. Below lines, so that these can be pointed at; above areas.
    """
    shown = list(names[:NAMES_MAX])
    # Names of users would be fields, and a field's dots and brackets have a meaning.
    rows = [
        {
            "start": band.start,
            "end": band.end,
            "at": band.at,
            **{f"value {place}": band.values[name] for place, name in enumerate(shown)},
        }
        for band in bands
    ]
    tooltip = [theme.nominal("at", title=title)]
    tooltip += theme.titled_tooltip({f"value {place}": name for place, name in enumerate(shown)})
    span: dict[str, Any] = {along: {**channel, "field": "start"}, f"{along}2": {"field": "end"}}
    mark = theme.mark("rect", fill="transparent", clip=True)
    return theme.layer(mark, rows, **span, tooltip=tooltip)


def count_readings(counts: StepCounts, axis: TimeAxis) -> dict[str, Any]:
    """The layer for counts over time."""
    names = list(counts.counts)
    edges = counts.edges_s
    bands = [
        Band(
            axis.at(start_s),
            axis.at(end_s),
            clock_span(start_s, end_s),
            {name: tenths(counts.counts[name][place]) for name in names},
        )
        for place, (start_s, end_s) in enumerate(pairwise(edges))
    ]
    return readings(bands, names, axis.encoding(), title="time")
