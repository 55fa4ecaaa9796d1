"""Counts over time that change at instants, such as busy slots, thinned to what can be drawn.

If there are too many instants for a chart, it shows means over equal intervals, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.formatting import clock, count

INSTANTS_MAX = 500
_INTERVALS = 240

Change = tuple[float, int]  # instant, difference
Level = tuple[float, float]  # start, count from then on


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCounts:
    """Counts by name, from each edge to the next; the last edge is the end of the axis.

    note: how they were thinned, or "".
    """

    edges_s: tuple[float, ...]
    counts: Mapping[str, Sequence[float]]
    note: str = ""

    @classmethod
    def of(cls, changes: Mapping[str, Iterable[Change]], axis: TimeAxis) -> StepCounts:
        """All counts at the same instants: only such counts can be stacked."""
        levels = {name: _levels(of_name) for name, of_name in changes.items()}
        instants = {at_s for of_name in levels.values() for at_s, _ in of_name}
        instants |= {axis.starts_at_s, axis.ends_at_s}
        if len(instants) <= INSTANTS_MAX:
            edges = sorted(instants)
            counts = {name: _at(of_name, edges) for name, of_name in levels.items()}
            return cls(edges_s=tuple(edges), counts=counts)
        width_s = axis.span_s / _INTERVALS
        edges = [axis.starts_at_s + width_s * number for number in range(_INTERVALS + 1)]
        return cls(
            edges_s=tuple(edges),
            counts={name: _means(of_name, edges) for name, of_name in levels.items()},
            note=f"{count(len(instants))} changes drawn as means over {clock(width_s)}.",
        )


def _levels(changes: Iterable[Change]) -> list[Level]:
    """The running count, from each instant at which it changes."""
    by_instant: dict[float, int] = {}
    for at_s, change in changes:
        by_instant[at_s] = by_instant.get(at_s, 0) + change
    instants = sorted(by_instant)
    return list(zip(instants, accumulate(by_instant[at_s] for at_s in instants), strict=True))


def _at(levels: Sequence[Level], instants: Sequence[float]) -> list[float]:
    """The count from each instant on. Both sequences are sorted."""
    found: list[float] = []
    place, level = 0, 0.0
    for at_s in instants:
        while place < len(levels) and levels[place][0] <= at_s:
            level = levels[place][1]
            place += 1
        found.append(level)
    return found


def _means(levels: Sequence[Level], edges: Sequence[float]) -> list[float]:
    """The mean count from each edge to the next; the last edge repeats the last mean."""
    instants = sorted({*edges, *(at_s for at_s, _ in levels)})
    counts = _at(levels, instants)
    means: list[float] = []
    area, edge = 0.0, 1
    for left, right, level in zip(instants, instants[1:], counts, strict=False):
        if edges[0] <= left and edge < len(edges):
            area += level * (right - left)
            if right >= edges[edge]:
                means.append(area / (edges[edge] - edges[edge - 1]))
                area, edge = 0.0, edge + 1
    return [*means, means[-1]]
