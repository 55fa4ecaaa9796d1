"""The charts of a run by name, in a module that loads none of them.

A chart is a function of the run and of the axis of time; it returns a view, in Vega-Lite. A new one
is one file and one line here. Other packages add theirs by entry points of the group
`sluice.charts`: the chart's name, and the function.
"""

from __future__ import annotations

from typing import NamedTuple

from sluice.ingest.entry_points import all_names

GROUP = "sluice.charts"


class ChartKind(NamedTuple):
    """path: MODULE:FUNCTION.  summary: what the chart shows, for completion and documents."""

    path: str
    summary: str


_RUN = "sluice.reporting.run"
BUILT_IN = {
    "gantt": ChartKind(f"{_RUN}.chart:gantt", "the next four, above each other"),
    "jobs": ChartKind(f"{_RUN}.jobs_gantt:jobs_gantt", "when jobs wait, and their phases run"),
    "slots": ChartKind(f"{_RUN}.chart:slots_chart", "what runs in each slot"),
    "utilisation": ChartKind(f"{_RUN}.curves:utilisation_chart", "busy slots by kind"),
    "waiting": ChartKind(f"{_RUN}.curves:waiting_chart", "how many jobs run and wait"),
    "utility": ChartKind(
        f"{_RUN}.placement_chart:utility_chart", "how near jobs are to their goals, under `ras`"
    ),
}


def chart_names() -> tuple[str, ...]:
    """All charts of a run, Sluice's own first."""
    return all_names(GROUP, BUILT_IN)
