"""The chart of a schedule on VM pools: one view for each pool, its VMs over time.

A box is a job: as wide as it runs and as high as its VMs. The line above is the size of the pool; a
dashed line is the end of a reservation window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.overview import with_overview
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock, clock_span, count, counted, hundredths, shortened

BOXES_MAX = 3000
_COLOURS = (theme.BLUE, theme.SKY, theme.GREEN, theme.PURPLE)  # in turn, so that neighbours differ
_LATE = "late"
_HEIGHT_MIN, _HEIGHT_MAX, _VM_HEIGHT = 70, 240, 4
_LETTER, _NAME_LETTERS, _LINE = 7, 12, 12  # pixels of a letter; letters of a name; a line's pixels
_WINDOWS_MAX = 60  # more lines would hide the jobs


class PoolJob(NamedTuple):
    """A job that ran, as the document has it. number: its place in the document."""

    name: str
    number: int
    pool: str
    vms: int
    begins_s: float
    ends_s: float
    deadline_at_s: float
    met: bool


Box = tuple[PoolJob, int, int]  # a job with its first VM and the one after its last
Document = Mapping[str, Any]  # of `pools`


def pools_chart(document: Document) -> Chart:
    """The chart of all pools that were used, or have VMs."""
    ran = list(_ran(document))
    submitted = [one["submitted_at_s"] for one in document["jobs"].values()]
    first_s = min((*submitted, *(one.begins_s for one in ran)), default=0.0)
    last_s = max((one.ends_s for one in ran), default=first_s)
    # The jobs that started first, if there are too many.
    shown = sorted(ran, key=lambda one: (one.begins_s, one.number))[:BOXES_MAX]
    boxes = {pool: _boxes(shown, pool) for pool in document["pools"]}
    used = [pool for pool, held in boxes.items() if held or document["pools"][pool]["vms"]]
    views = [
        _view(document, pool, boxes[pool], TimeAxis(
            starts_at_s=first_s, ends_at_s=last_s, is_named=pool == used[-1]
        ))
        for pool in used
    ]  # fmt: skip
    title = theme.heading("VM pools", _notes(document, len(ran), len(shown)))
    spec = theme.finished(theme.stacked(title, views, spacing=22))
    axis = TimeAxis(starts_at_s=first_s, ends_at_s=last_s)
    spans = [(one.begins_s, one.ends_s) for one in ran]
    return Chart(with_overview(spec, spans, axis, "jobs running"))


def _ran(document: Document) -> Iterator[PoolJob]:
    for number, (name, one) in enumerate(document["jobs"].items()):
        if one["started_at_s"] is not None and one["vm_type"] is not None:
            yield PoolJob(
                name=name,
                number=number,
                pool=one["vm_type"],
                vms=one["vms"],
                begins_s=one["started_at_s"],
                ends_s=one["finished_at_s"],
                deadline_at_s=one["deadline_at_s"],
                met=one["met"],
            )


def _notes(document: Document, ran: int, shown: int) -> list[str]:
    cost = f"{hundredths(document['total_cost_server_s'])} server-seconds"
    jobs = f"{counted(len(document['jobs']), 'job')}, {count(len(document['missed']))} missed"
    few = f"The {count(shown)} jobs that started first are shown." if shown < ran else ""
    marks = "Dashed: ends of reservation windows." if document["windows"] else ""
    colours = "Colours only separate jobs; red: late."
    return [f"{document['policy']}: {jobs}, {cost}.", " ".join(filter(None, (colours, marks, few)))]


def _boxes(jobs: Sequence[PoolJob], pool: str) -> list[Box]:
    """Jobs of a pool with the VMs they are drawn on: the lowest free ones, perhaps in parts."""
    free_from_s: list[float] = []  # by VM
    made: list[Box] = []
    for one in jobs:
        if one.pool != pool:
            continue
        rows = _rows(free_from_s, one.begins_s, one.vms)
        free_from_s += [0.0] * (rows[-1] + 1 - len(free_from_s))
        for row in rows:
            free_from_s[row] = one.ends_s
        made += ((one, first, last) for first, last in _runs(rows))
    return made


def _rows(free_from_s: Sequence[float], begins_s: float, vms: int) -> list[int]:
    """VMs that are free at an instant: side by side if possible, or else the lowest ones."""
    rows = [row for row, at_s in enumerate(free_from_s) if at_s <= begins_s]
    for first, last in _runs(rows):
        if last - first >= vms:
            return list(range(first, first + vms))
    beyond = len(free_from_s)
    return [*rows, *range(beyond, beyond + vms)][:vms]


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as half-open runs.

    >>> list(_runs([0, 1, 4, 5, 6]))
    [(0, 2), (4, 7)]
    """
    first = 0
    for place in range(1, len(rows) + 1):
        if place == len(rows) or rows[place] != rows[place - 1] + 1:
            yield rows[first], rows[place - 1] + 1
            first = place


def _view(document: Document, pool: str, boxes: Sequence[Box], axis: TimeAxis) -> dict[str, Any]:
    size_steps = _sizes(document, pool, axis)
    reach = max([1, *(last for _, _, last in boxes), *(step["vms"] for step in size_steps)])
    height = min(_HEIGHT_MAX, max(_HEIGHT_MIN, _VM_HEIGHT * reach))
    one_type = document["pools"][pool]
    note = f"{counted(one_type['vms'], 'VM')} of {one_type['units']:g} units; height: VMs in use"
    y = {
        "type": "quantitative",
        "scale": {"domain": [0, reach * 1.02], "nice": False},
        "axis": theme.names_axis(tickCount=4),
    }
    return theme.view(
        theme.titled(shortened(pool, 60), [note]),
        height,
        layer=[
            _jobs(boxes, axis, y),
            _labels(boxes, axis, y, height / reach),
            _steps(size_steps, axis, y),
            _window_ends(document, pool, axis),
        ],
    )


def _jobs(boxes: Sequence[Box], axis: TimeAxis, y: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "job": one.name,
            "start": axis.at(one.begins_s),
            "end": axis.at(one.ends_s),
            "low": low,
            "high": high,
            "vms": one.vms,
            "time": clock_span(one.begins_s, one.ends_s),
            "deadline": clock(one.deadline_at_s),
            "colour": str(one.number % len(_COLOURS)) if one.met else _LATE,
        }
        for one, low, high in boxes
    ]
    domain = [*(str(number) for number in range(len(_COLOURS))), _LATE]
    return theme.layer(
        theme.mark("rect", stroke=theme.EDGE, strokeWidth=0.8, clip=True),
        rows,
        x=axis.encoding(),
        x2=theme.bar_end(),
        y={"field": "low", **y},
        y2={"field": "high"},
        color=theme.colours("colour", domain, [*_COLOURS, theme.BAD], legend=None),
        tooltip=theme.tooltip("job", "vms", "time", "deadline"),
    )


def _labels(
    boxes: Sequence[Box], axis: TimeAxis, y: Mapping[str, Any], vm_height: float
) -> dict[str, Any]:
    """Names in the boxes that have room for them, once for each job."""
    tallest: dict[str, Box] = {}
    for box in boxes:
        name = box[0].name
        if name not in tallest or box[2] - box[1] > tallest[name][2] - tallest[name][1]:
            tallest[name] = box
    rows = []
    for name, (one, low, high) in tallest.items():
        text = shortened(name, _NAME_LETTERS)
        width = (one.ends_s - one.begins_s) / axis.span_s * theme.WIDTH
        if width > _LETTER * (len(text) + 1) and (high - low) * vm_height > _LINE:
            middle = {"start": axis.at((one.begins_s + one.ends_s) / 2), "vms": (low + high) / 2}
            rows.append({"text": text, "colour": _ink(one), **middle})
    return theme.layer(
        theme.mark("text", fontSize=11, fontWeight=600),
        rows,
        x=axis.encoding(),
        y={"field": "vms", **y},
        text=theme.nominal("text"),
        color=theme.OWN_COLOUR,
    )


def _ink(job: PoolJob) -> str:
    """The colour of a name that is easy to read on the box of its job."""
    is_dark = not job.met or _COLOURS[job.number % len(_COLOURS)] in theme.DARK
    return theme.ON_DARK if is_dark else theme.ON_PALE


def _sizes(document: Document, pool: str, axis: TimeAxis) -> list[dict[str, float]]:
    """The size of the pool over time, a row for each change and one for the end."""
    vms = document["pools"][pool]["vms"]
    rows = [{"start": axis.at(axis.starts_at_s), "vms": vms}]
    for change in document["reconfigurations"]:
        if change["done"]:
            vms = change["vms"][pool]
            rows.append({"start": axis.at(change["at_s"]), "vms": vms})
    return [*rows, {"start": axis.at(max(axis.ends_at_s, axis.starts_at_s)), "vms": vms}]


def _steps(rows: list[dict[str, float]], axis: TimeAxis, y: Mapping[str, Any]) -> dict[str, Any]:
    return theme.layer(
        theme.mark("line", interpolate="step-after", color=theme.INK, strokeWidth=1.5, clip=True),
        rows,
        x=axis.encoding(),
        y={"field": "vms", **y},
    )


def _window_ends(document: Document, pool: str, axis: TimeAxis) -> dict[str, Any]:
    ends: dict[float, list[str]] = defaultdict(list)
    for window in document["windows"]:
        if window["vm_type"] == pool:
            ends[window["to_s"]].append(window["decided_by"])
    rows = [{"start": axis.at(at_s), "decided by": deciders[-1]} for at_s, deciders in ends.items()]
    return theme.layer(
        theme.mark("rule", color=theme.ORANGE, strokeDash=[4, 3], strokeWidth=1.3, clip=True),
        rows if len(rows) <= _WINDOWS_MAX else [],
        x=axis.encoding(),
        tooltip=theme.tooltip("decided by"),
    )
