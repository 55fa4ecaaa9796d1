"""Charts of a run by name, and all of them in one chart with a common time axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sluice.ingest.entry_points import extension, guarded, offered, refused
from sluice.model.errors import InvalidInput
from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.overview import with_overview
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import count, counted, duration, share
from sluice.reporting.run.chart_kinds import BUILT_IN, GROUP, chart_names
from sluice.reporting.run.curves import utilisation_chart, waiting_chart
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.jobs_gantt import jobs_gantt
from sluice.reporting.run.outcomes import JobOutcome
from sluice.reporting.run.placement_chart import has_placements, job_slots_chart
from sluice.reporting.run.slots_gantt import slots_gantt

View = Callable[[RunFigures, TimeAxis], dict[str, Any]]


def chart_of(result: RunFigures, kind: str) -> Chart:
    """The chart of that kind, or several above each other, as in "utility,slots".

    Raises InvalidInput for an unknown kind, and for a mistake in another package's chart.
    """
    axis = _axis(result)
    kinds, names = kind.split(","), chart_names()
    for one in kinds:
        if one not in names or (one == "gantt" and len(kinds) > 1):
            raise InvalidInput(
                f"there is no chart {one!r}", where="plot", hint=f"give one of {', '.join(names)}"
            )
    views = [_view(one) for one in kinds]
    if len(views) == 1:
        return _finished(views[0](result, axis), result.jobs, axis)
    return _finished(_stacked(result, axis, views), result.jobs, axis)


def gantt(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """Jobs, slots, busy slots and waiting jobs, with one axis of time."""
    return _stacked(result, axis, [jobs_gantt, slots_gantt, utilisation_chart, waiting_chart])


def slots_chart(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The slots of the nodes; where a policy placed job slots, those."""
    return (job_slots_chart if has_placements(result) else slots_gantt)(result, axis)


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


def _view(name: str) -> View:
    """The view of a name. Another package's is checked when it is drawn."""
    paths = {one: kind.path for one, kind in BUILT_IN.items()}
    found: View = extension(GROUP, paths, name, where="plot")
    if name in BUILT_IN:
        return found
    entry = offered(GROUP)[name]

    def checked(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
        view: object = guarded(entry, lambda: found(result, axis))
        if not isinstance(view, dict):
            raise refused(entry, f"gave {type(view).__name__}, not a view: a dict of Vega-Lite")
        return view

    return checked


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
