"""Busy slots by pool over time, as a heat map: for runs with too many tasks for one bar each.

A cell is the mean number of slots that ran tasks of a pool during an interval. Nothing is sampled:
the cells of a pool add up to its busy slot-seconds.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from sluice.reporting.charts import theme
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock, clock_span, count, counted, distinguished
from sluice.reporting.run.figures import RunFigures

POOLS_MAX = 24
INTERVALS = 80  # a cell has 3 pixels on a phone
_LANE, _LANE_WIDE, _FEW = 18, 30, 6
_NAME_LETTERS = 18


def pool_heat(result: RunFigures, axis: TimeAxis, slots_used: int) -> dict[str, Any]:
    """The view of a run's pools over time. slots_used: for the note."""
    width_s = axis.span_s / INTERVALS
    busy = _busy_by_pool(result, axis)
    names, levels, note = _ranked(busy)
    rows = [
        {
            "lane": lane,
            "pool": name,
            "start": axis.at(axis.starts_at_s + cell * width_s),
            "end": axis.at(axis.starts_at_s + (cell + 1) * width_s),
            "time": clock_span(
                axis.starts_at_s + cell * width_s, axis.starts_at_s + (cell + 1) * width_s
            ),
            "busy": level,
        }
        for lane, (name, cells) in enumerate(zip(names, levels, strict=True))
        for cell, level in enumerate(cells)
        if level > 0
    ]
    tasks = counted(sum(result.work.attempts.values()), "task attempt")
    why = f"{tasks} on {counted(slots_used, 'slot')}: more than fit as bars."
    what = f"Colour: slots that ran a task, mean over {clock(width_s)}."
    return theme.view(
        theme.titled("Busy slots by pool", [f"{why} {what}", note]),
        (_LANE_WIDE if len(names) <= _FEW else _LANE) * max(1, len(names)),
        data={"values": rows},
        layer=[_cells(names, axis)],
    )


def _cells(names: list[str], axis: TimeAxis) -> dict[str, Any]:
    return theme.layer(
        theme.mark("rect", clip=True),
        x=axis.encoding(),
        x2={"field": "end"},
        y=theme.lanes(distinguished(names, _NAME_LETTERS)),
        color=theme.quantity(
            "busy",
            scale={"range": [theme.PALE, theme.BLUE], "zero": True},
            legend={
                "title": "slots",
                "titleOrient": "left",
                "gradientLength": 160,
                "gradientThickness": 10,
            },
        ),
        tooltip=[
            *theme.tooltip("pool", "time"),
            theme.quantity("busy", format=".3~f", title="busy slots"),
        ],
    )


class _PoolCells:
    """Busy slot-seconds of one pool in each interval. Adding an attempt takes constant time."""

    def __init__(self) -> None:
        self._ends = [0.0] * (INTERVALS + 1)  # of intervals that an attempt uses in part
        self._steps = [0.0] * (INTERVALS + 1)  # changes of the slots busy in whole intervals

    def add(self, slots: float, first: float, last: float) -> None:
        """first, last: when the slots are busy, in intervals from the start of the axis."""
        low, high = min(int(first), INTERVALS - 1), min(int(last), INTERVALS - 1)
        if low == high:
            self._ends[low] += slots * (last - first)
            return
        self._ends[low] += slots * (low + 1 - first)
        self._ends[high] += slots * (last - high)
        self._steps[low + 1] += slots
        self._steps[high] -= slots

    def levels(self) -> list[float]:
        """The mean number of busy slots in each interval."""
        whole = accumulate(self._steps)
        found = [end + level for end, level in zip(self._ends, whole, strict=True)]
        # Sums of floats: what should be 0 may be slightly off.
        return [level if level > 1e-9 else 0.0 for level in found[:INTERVALS]]  # nearly 0  # noqa: PLR2004  # nearly 0


def _busy_by_pool(result: RunFigures, axis: TimeAxis) -> dict[str, list[float]]:
    cells: dict[str, _PoolCells] = {}
    width_s = axis.span_s / INTERVALS
    for attempt in result.attempts:
        pool = str(attempt.phase.job.pool.pool_id)
        of_pool = cells.setdefault(pool, _PoolCells())
        first, last = (
            (at_s - axis.starts_at_s) / width_s
            for at_s in (attempt.started_at_s, attempt.finished_at_s)
        )
        of_pool.add(attempt.tasks * attempt.width, first, last)
    return {pool: of_pool.levels() for pool, of_pool in cells.items()}


def _ranked(busy: dict[str, list[float]]) -> tuple[list[str], list[list[float]], str]:
    """Names and cells of the busiest pools, and of all others together; a note of those."""
    names = sorted(busy, key=lambda pool: -sum(busy[pool]))
    if len(names) <= POOLS_MAX:
        return names, [busy[name] for name in names], ""
    shown, others = names[: POOLS_MAX - 1], names[POOLS_MAX - 1 :]
    rest = [sum(column) for column in zip(*(busy[name] for name in others), strict=True)]
    note = (
        f"The {len(shown)} pools that used most slot time, and {count(len(others))} others in"
        " one row."
    )
    return [*shown, f"{count(len(others))} others"], [*(busy[name] for name in shown), rest], note
