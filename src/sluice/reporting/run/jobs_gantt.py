"""The Gantt chart by job: its waiting time and its phases; for one job of many stages, by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.core.transitions import JobState
from sluice.reporting.charts import theme
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import NOTHING, clock, clock_span, distinguished
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.run.job_choice import ChosenJobs, chosen_jobs
from sluice.reporting.run.outcomes import UNCOMMITTED, JobOutcome
from sluice.reporting.run.stages_gantt import Span, is_one_app, phase_spans, stages_gantt

_SPACIOUS_JOBS_MAX = 20
_STEP, _STEP_MIN = 20, 13  # pixels for each job
_NAME_CHARACTERS_MAX = 18
_PHASE_COLOURS = (
    theme.BLUE,
    theme.ORANGE,
    theme.GREEN,
    theme.PURPLE,
    theme.SKY,
    theme.OLIVE,
    theme.SLATE,
)
_WAIT, _LATER = "waiting", "later stages"
_BAD_ENDS = {
    JobState.FAILED.value, JobState.KILLED.value, JobState.REFUSED.value, UNCOMMITTED,
}  # fmt: skip


def jobs_gantt(result: RunFigures, axis: TimeAxis) -> dict[str, Any]:
    """The view of a run's jobs over time."""
    if is_one_app(result):
        return stages_gantt(result, axis)
    return jobs_view(result.jobs, phase_spans(result), axis)


def jobs_view(
    all_jobs: Sequence[JobOutcome], spans: Mapping[str, Sequence[Span]], axis: TimeAxis
) -> dict[str, Any]:
    """The view of jobs. spans: by job, the parts of its time in which it ran."""
    chosen = chosen_jobs(all_jobs)
    jobs = chosen.jobs
    phases = _phases(jobs, spans)
    rows = [
        {"lane": lane, **row}
        for lane, job in enumerate(jobs)
        for row in _bars(job, spans.get(job.job_id, []), axis, phases)
    ]
    step = _STEP if len(jobs) <= _SPACIOUS_JOBS_MAX else _STEP_MIN
    return theme.view(
        theme.titled("Jobs", _notes(chosen, axis)),
        step * max(1, len(jobs)),
        layer=[
            _layer(rows, _WAIT, jobs, axis, phases, height=0.3),
            # Later phases are narrower: they may start before the previous phase ends.
            *(
                _layer(rows, phase, jobs, axis, phases, height=max(0.25, 0.8 - 0.28 * number))
                for number, phase in enumerate(phases)
            ),
            _marks(jobs, axis),
        ],
    )


def _phases(jobs: tuple[JobOutcome, ...], spans: Mapping[str, Sequence[Span]]) -> list[str]:
    """The names of phases in the legend; with too many of them, the last is for all the rest."""
    names = list(dict.fromkeys(name for job in jobs for name, _, _ in spans.get(job.job_id, ())))
    most = len(_PHASE_COLOURS)
    return names if len(names) <= most else [*names[: most - 1], _LATER]


def _notes(chosen: ChosenJobs, axis: TimeAxis) -> list[str]:
    marks = []
    if _deadlines(chosen.jobs, axis):
        marks.append("Vertical lines: deadlines, red if missed.")
    if any(job.state in _BAD_ENDS for job in chosen.jobs):
        marks.append("Red crosses: failed, killed or refused.")
    return [" ".join(marks), chosen.note]


def _bars(
    job: JobOutcome, spans: Sequence[Span], axis: TimeAxis, phases: list[str]
) -> list[dict[str, Any]]:
    started_at_s = job.started_at_s
    if started_at_s is None:
        started_at_s = axis.ends_at_s if job.finished_at_s is None else job.finished_at_s
    parts = [(_WAIT, job.submitted_at_s, started_at_s), *spans]
    return [
        {
            "job": job.job_id,
            "part": part if part == _WAIT or part in phases else _LATER,
            "stage": part,
            "start": axis.at(start),
            "end": axis.at(end),
            "time": clock_span(start, end),
            "state": job.state,
            "pool": job.pool,
        }
        for part, start, end in parts
        if part != _WAIT or end > start
    ]


def _y(jobs: tuple[JobOutcome, ...]) -> dict[str, Any]:
    return theme.lanes(distinguished([job.job_id for job in jobs], _NAME_CHARACTERS_MAX))


def _layer(
    rows: list[dict[str, Any]],
    part: str,
    jobs: tuple[JobOutcome, ...],
    axis: TimeAxis,
    phases: list[str],
    *,
    height: float,
) -> dict[str, Any]:
    """The bars of one part of the jobs' time."""
    colours = [theme.WAITING, *_PHASE_COLOURS[: len(phases)]]
    return theme.layer(
        theme.mark("bar", height={"band": height}, clip=True),
        [row for row in rows if row["part"] == part],
        x=axis.encoding(),
        x2=theme.bar_end(),
        y=_y(jobs),
        color=theme.colours("part", [_WAIT, *phases], colours, legend={}),
        tooltip=theme.tooltip("job", "pool", "stage", "time", "state"),
    )


def _marks(jobs: tuple[JobOutcome, ...], axis: TimeAxis) -> dict[str, Any]:
    """Deadlines, and ends of jobs that failed or were killed or refused."""
    tick = theme.mark("tick", thickness=2, height={"band": 0.9}, opacity=1, clip=True)
    cross = theme.mark(
        "point", shape="cross", angle=45, filled=True, size=60, color=theme.BAD, opacity=1
    )
    place: dict[str, Any] = {"x": axis.encoding("at"), "y": _y(jobs)}
    return {
        "layer": [
            theme.layer(
                tick,
                _deadlines(jobs, axis),
                **place,
                color=theme.OWN_COLOUR,
                tooltip=theme.tooltip("job", "deadline", "met"),
            ),
            theme.layer(
                cross, _bad_ends(jobs, axis), **place, tooltip=theme.tooltip("job", "state", "why")
            ),
        ]
    }


def _deadlines(jobs: tuple[JobOutcome, ...], axis: TimeAxis) -> list[dict[str, Any]]:
    return [
        {
            "lane": lane,
            "job": job.job_id,
            "at": axis.at(job.deadline_at_s),
            "deadline": clock(job.deadline_at_s),
            "met": {True: "met", False: "missed", None: NOTHING}[job.deadline_met],
            "colour": theme.BAD if job.deadline_met is False else theme.INK,
        }
        for lane, job in enumerate(jobs)
        if job.deadline_at_s is not None and job.deadline_at_s <= axis.ends_at_s
    ]


def _bad_ends(jobs: tuple[JobOutcome, ...], axis: TimeAxis) -> list[dict[str, Any]]:
    return [
        {
            "lane": lane,
            "job": job.job_id,
            "at": axis.at(job.finished_at_s),
            "state": job.state,
            "why": job.reason,
        }
        for lane, job in enumerate(jobs)
        if job.state in _BAD_ENDS and job.finished_at_s is not None
    ]
