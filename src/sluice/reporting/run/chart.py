"""Charts of a run by name, and all of them in one chart with a common time axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.overview import with_overview
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import count, counted, duration, share
from sluice.reporting.run.chart_kinds import CHART_KINDS as KINDS
from sluice.reporting.run.curves import utilisation_chart, waiting_view
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.jobs_gantt import jobs_gantt
from sluice.reporting.run.outcomes import JobOutcome
from sluice.reporting.run.placement_chart import has_placements, job_slots_chart, utility_chart
from sluice.reporting.run.slots_gantt import slots_gantt

View = Callable[[RunFigures, TimeAxis], dict[str, Any]]

_VIEWS: dict[str, View] = {
    "jobs": jobs_gantt,
    "slots": slots_gantt,
    "utilisation": utilisation_chart,
    "waiting": lambda result, axis: waiting_view(result.jobs, axis),
}


def chart_of(result: RunFigures, kind: str) -> Chart:
    """The chart of that kind, one of KINDS, or several above each other, as in "utility,slots".

    Raises InvalidInput for another.
    """
    axis = _axis(result)
    if kind == "gantt":
        return _finished(_stacked(result, axis, list(_VIEWS.values())), result.jobs, axis)
    kinds = kind.split(",")
    for one in kinds:
        if one not in KINDS or (one == "gantt" and len(kinds) > 1):
            raise InvalidInput(
                f"there is no chart {one!r}", where="plot", hint=f"give one of {', '.join(KINDS)}"
            )
    views = [_view(result, one) for one in kinds]
    if len(views) == 1:
        return _finished(views[0](result, axis), result.jobs, axis)
    return _finished(_stacked(result, axis, views), result.jobs, axis)


def run_overview(
    spec: Mapping[str, Any], jobs: Iterable[JobOutcome], axis: TimeAxis
) -> dict[str, Any]:
    """The finished chart with an overview of the jobs in the system."""
    spans = (
        (job.submitted_at_s, axis.ends_at_s if job.finished_at_s is None else job.finished_at_s)
        for job in jobs
    )
    return with_overview(spec, spans, axis, "jobs")


def _finished(spec: dict[str, Any], jobs: Iterable[JobOutcome], axis: TimeAxis) -> Chart:
    return Chart(run_overview(theme.finished(spec), jobs, axis))


def _view(result: RunFigures, kind: str) -> View:
    """The view of a kind. Where a policy placed job slots, those are its slots."""
    if kind == "utility":
        return utility_chart
    return job_slots_chart if kind == "slots" and has_placements(result) else _VIEWS[kind]


def _axis(result: RunFigures) -> TimeAxis:
    """From the first submission to the last end of a job or attempt."""
    ends = [attempt.finished_at_s for attempt in result.attempts]
    ends += [job.finished_at_s for job in result.jobs if job.finished_at_s is not None]
    starts_at_s = result.started_at_s
    return TimeAxis(starts_at_s=starts_at_s, ends_at_s=max(ends, default=starts_at_s))


def _stacked(result: RunFigures, axis: TimeAxis, views: list[View]) -> dict[str, Any]:
    """Views above each other, with one time axis."""
    unnamed = replace(axis, is_named=False)
    *upper, last = views
    return theme.stacked(
        {**theme.heading(_headline(result), [_subtitle(result)]), "frame": "bounds"},
        [*(view(result, unnamed) for view in upper), last(result, axis)],
        spacing=26,
        # Colours differ by view: they mean jobs, phases or kinds of slot.
        resolve={"scale": {"color": "independent", "opacity": "independent"}},
    )


def _headline(result: RunFigures) -> str:
    return f"{counted(len(result.jobs), 'job')} in {duration(result.makespan_s)}"


def _subtitle(result: RunFigures) -> str:
    parts = [f"mean response {duration(result.mean_response_s)}"]
    parts += [
        f"{name.replace('_', ' ')} {share(part)} used"
        for name, part in result.utilisation.items()
        if part is not None
    ]
    if result.deadlines:
        parts.append(f"{count(result.deadlines_met)} of {count(result.deadlines)} deadlines met")
    return "  ·  ".join(parts)
