"""Two charts of jobs on one time axis: in the order of the file, and in the new order.

Each lane is a job, or a stage of one, in the order of submission. A sweep adds a third chart: the
orders to choose from, by makespan and total completion time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.overview import with_overview
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock, clock_span, count, distinguished, duration

JOBS_MAX = 60
_STEP, _STEP_MIN, _SPACIOUS_JOBS_MAX = 20, 12, 20  # pixels for each job
_NAME_CHARACTERS_MAX = 18
_FRONTIER_HEIGHT = 180
_COLOURS = {"waiting": theme.WAITING, "maps": theme.BLUE, "reduces": theme.ORANGE}
_COLOURS_OF_STAGES = {"waiting": theme.WAITING, "running": theme.BLUE}


class JobTimes(NamedTuple):
    """When one job starts, ends its maps, starts its reduces and ends, seconds; or one stage."""

    job: str
    began_s: float
    mapped_s: float | None
    reducing_s: float | None
    ended_s: float


class OrderView(NamedTuple):
    """One order to draw. jobs: in the order of submission.  total_s: sum of their ends.

    noun: what the lanes are.
    """

    noun: str
    title: str
    jobs: Sequence[JobTimes]
    makespan_s: float
    total_s: float


def order_chart(document: Mapping[str, Any], noun: str = "jobs") -> Chart:
    """The chart of an order that was found. document: of `order`.  noun: jobs, or stages."""
    schedule, found = document["schedule"], document["input"]
    views = [
        _order_view(noun, "Order of the file", schedule["input"], found),
        _order_view(noun, f"By {_method(document)}", schedule["order"], document),
    ]
    axis = TimeAxis(starts_at_s=0.0, ends_at_s=max(view.makespan_s for view in views))
    # Only the lowest of several charts names their common axis.
    axes = [replace(axis, is_named=False), axis]
    drawn = [_view(view, each) for view, each in zip(views, axes, strict=True)]
    if "frontier" in document:
        drawn.append(_frontier(document["frontier"], document["order"]))
    jobs = schedule["order"]
    title = f"{count(len(jobs))} {noun} in {duration(document['makespan_s'])}"
    spec = theme.finished(
        theme.stacked(
            {**theme.heading(title, [_subtitle(document)]), "frame": "bounds"},
            drawn,
            spacing=26,
            resolve={"scale": {"color": "independent"}},
        )
    )
    running = [(times["began_s"], times["ended_s"]) for times in jobs.values()]
    return Chart(with_overview(spec, running, axis, f"{noun} running"))


def _order_view(
    noun: str, title: str, jobs: Mapping[str, Mapping[str, Any]], found: Mapping[str, Any]
) -> OrderView:
    times = [JobTimes(name, **held) for name, held in jobs.items()]
    return OrderView(noun, title, times, found["makespan_s"], found["total_completion_s"])


def _method(document: Mapping[str, Any]) -> str:
    asked, picked = document["method"], document["picked"]
    return asked if asked == picked else f"{asked} ({picked})"


def _subtitle(document: Mapping[str, Any]) -> str:
    gain, bounds = document["gain"], document["bounds"]
    parts = [
        f"gain over the order of the file: makespan {gain['makespan_percent']:+.1f} %",
        f"total completion {gain['total_completion_percent']:+.1f} %",
        f"lower bound of the makespan {duration(bounds['makespan_lower_s'])}",
    ]
    return "  ·  ".join([*parts, "proved optimal"] if document["proved_optimal"] else parts)


def _view(view: OrderView, axis: TimeAxis) -> dict[str, Any]:
    jobs = len(view.jobs)
    shown = _picked(view.jobs)
    few = f"{len(shown)} of {count(jobs)} {view.noun} are shown, picked evenly."
    ends = (
        f"Ends after {duration(view.makespan_s)};"
        f" {view.noun} end after {duration(view.total_s / jobs)} on average."
    )
    colours = _COLOURS if view.noun == "jobs" else _COLOURS_OF_STAGES
    rows = [row for lane, job in enumerate(shown) for row in _bars(lane, job, axis, view.noun)]
    names = distinguished([job.job for job in shown], _NAME_CHARACTERS_MAX)
    step = _STEP if len(shown) <= _SPACIOUS_JOBS_MAX else _STEP_MIN
    return theme.view(
        theme.titled(view.title, [ends, few if len(shown) < jobs else ""]),
        step * len(shown),
        layer=[
            *(_layer(rows, names, axis, part, colours) for part in colours),
            theme.line_at("start", axis.at(view.makespan_s), along="x", channel=axis.encoding()),
        ],
    )


def _picked(jobs: Sequence[JobTimes]) -> tuple[JobTimes, ...]:
    shown = min(len(jobs), JOBS_MAX)
    return tuple(jobs[lane * len(jobs) // shown] for lane in range(shown))


def _bars(lane: int, job: JobTimes, axis: TimeAxis, noun: str) -> list[dict[str, Any]]:
    """When a job waits, maps and reduces; or when a stage waits and runs."""
    spans = [("waiting", 0.0, job.began_s)]
    if noun != "jobs":
        spans.append(("running", job.began_s, job.ended_s))
    elif job.mapped_s is not None:
        spans.append(("maps", job.began_s, job.mapped_s))
    if job.mapped_s is not None and job.reducing_s is not None:
        spans.append(("waiting", job.mapped_s, job.reducing_s))
    if job.reducing_s is not None:
        spans.append(("reduces", job.reducing_s, job.ended_s))
    return [
        {
            "lane": lane,
            "job": job.job,
            "part": part,
            "start": axis.at(start_s),
            "end": axis.at(end_s),
            "time": clock_span(start_s, end_s),
        }
        for part, start_s, end_s in spans
        if end_s > start_s
    ]


def _layer(
    rows: list[dict[str, Any]],
    names: Sequence[str],
    axis: TimeAxis,
    part: str,
    colours: Mapping[str, str],
) -> dict[str, Any]:
    height = 0.25 if part == "waiting" else 0.72
    return theme.layer(
        theme.mark("bar", height={"band": height}, clip=True),
        [row for row in rows if row["part"] == part],
        x=axis.encoding(),
        x2=theme.bar_end(),
        y=theme.lanes(names),
        color=theme.colours("part", list(colours), list(colours.values()), legend={}),
        tooltip=theme.tooltip("job", "part", "time"),
    )


def _frontier(frontier: Sequence[Mapping[str, Any]], chosen: Sequence[str]) -> dict[str, Any]:
    points = [
        {
            "makespan": theme.MS * point["makespan_s"],
            "total": theme.MS * point["total_completion_s"],
            "is": "chosen" if point["order"] == chosen else "other",
            "text": f"{clock(point['makespan_s'])}, {clock(point['total_completion_s'])} in total",
        }
        for point in frontier
    ]
    return theme.view(
        theme.titled(
            "Orders to choose from", ["No order is better than another in both measures."]
        ),
        _FRONTIER_HEIGHT,
        data={"values": points},
        encoding={
            "x": theme.lengths("makespan", "makespan"),
            "y": theme.lengths("total", "total completion"),
        },
        layer=[
            theme.layer(theme.mark("line", interpolate="step-after", color=theme.FAINT)),
            theme.layer(
                theme.mark("point", filled=True, size=70, opacity=1),
                color=theme.colours(
                    "is", ["chosen", "other"], [theme.ORANGE, theme.BLUE], legend=None
                ),
                tooltip=theme.tooltip("text"),
            ),
        ],
    )
