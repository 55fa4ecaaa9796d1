"""Lower bounds on the makespan of a task graph on equal slots.

- The longest path, and all work spread over all slots.
- Heads and tails made longer: what precedes a task must fit on the slots before it starts, and
  what follows it after its end.
- Fernandez and Bussell (1973): for each interval, the work that must be done within it however the
  tasks are moved between their heads and tails, against what the slots can do in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sluice.planning.stages.task_graph import TaskGraph

TASKS_MAX = 400  # or stages; with more, heads and tails stay as long as their paths
_INSTANTS_MAX = 160  # ends of intervals that are tried
_ROUNDING = 1e-9
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """makespan: no schedule is shorter.  heads, tails: of the tasks, at least their paths."""

    makespan: float
    heads: tuple[float, ...]
    tails: tuple[float, ...]


def bounds_of(graph: TaskGraph) -> Bounds:
    """The bounds of a graph of at most TASKS_MAX tasks; whole numbers where the lengths are."""
    lengths = np.array(graph.lengths, dtype=float)
    heads, tails = _longer_heads(graph, lengths), _longer_heads(graph.reversed, lengths)
    path = float((heads + lengths + tails).max())
    least = max(path, _spread(graph, heads, lengths, tails))
    least = _by_intervals(graph, heads, lengths, tails, _up(graph, least))
    kind = int if graph.is_whole else float
    return Bounds(
        makespan=_up(graph, least),
        heads=tuple(kind(head) for head in heads),
        tails=tuple(kind(tail) for tail in tails),
    )


def bounds_of_stages(stages: TaskGraph, work: Sequence[float]) -> Bounds:
    """The bounds of a graph of stages with many tasks each.

    stages: its lengths are the least time from the start of a stage to its end: that of the longest
    task, or of its work on all slots.  work: of all tasks of each stage.
    """
    works = np.array(work, dtype=float)
    if len(works) <= TASKS_MAX:
        heads, tails = _longer_heads(stages, works), _longer_heads(stages.reversed, works)
    else:
        heads, tails = np.array(stages.heads), np.array(stages.tails)
    spans = heads + np.array(stages.lengths, dtype=float) + tails
    least = max(float(spans.max()), float(works.sum()) / stages.slots)
    return Bounds(makespan=_up(stages, least), heads=tuple(heads), tails=tuple(tails))


def _up(graph: TaskGraph, least: float) -> float:
    """The bound rounded up to a time that a schedule can have."""
    return math.ceil(least - _ROUNDING * max(1.0, least)) if graph.is_whole else least


def _spread(graph: TaskGraph, heads: _Floats, lengths: _Floats, tails: _Floats) -> float:
    """All work, and the time for which slots must be idle before their first and last tasks."""
    slots = graph.slots  # with fewer tasks the sum is below the longest path for each slot
    idle = np.sort(heads)[:slots].sum() + np.sort(tails)[:slots].sum()
    return float((lengths.sum() + idle) / slots)


def _longer_heads(graph: TaskGraph, work: _Floats) -> _Floats:
    """Heads that count, besides paths, the slots that all that comes before needs."""
    count = len(graph.lengths)
    lengths = np.array(graph.lengths, dtype=float)
    heads = np.zeros(count)
    gaps = np.full((count, count), -math.inf)  # the longest path between, from each to each
    for task in graph.in_order:
        before = graph.after[task]
        if not before:
            continue
        row = gaps[task]
        for one in before:
            heads[task] = max(heads[task], heads[one] + lengths[one])
            np.maximum(row, gaps[one] + lengths[one], out=row)
            row[one] = max(row[one], 0.0)
        heads[task] = max(heads[task], _start_after(graph, heads, work, row))
    return heads


def _start_after(graph: TaskGraph, heads: _Floats, work: _Floats, gaps: _Floats) -> float:
    """When at the earliest all that precedes a task is done, each as long before it as must be.

    For every set of predecessors whose heads and gaps are at least some values: the least head,
    the work of the set over the slots, and the least gap.
    """
    before = np.flatnonzero(gaps >= 0)
    by_gap = before[np.argsort(-gaps[before], kind="stable")]
    starts = np.unique(heads[by_gap])
    chosen = heads[by_gap] >= starts[:, None]
    needed = np.cumsum(np.where(chosen, work[by_gap], 0.0), axis=1) / graph.slots
    if graph.is_whole:
        needed = np.ceil(needed - _ROUNDING)
    totals = np.where(chosen, starts[:, None] + needed + gaps[by_gap], 0.0)
    return float(totals.max())


def _by_intervals(
    graph: TaskGraph, heads: _Floats, lengths: _Floats, tails: _Floats, span: float
) -> float:
    """The bound of Fernandez and Bussell, for tasks that end by `span` less their tails.

    The span may be exceeded by as much as the work in an interval exceeds its slots.
    """
    latest = span - tails  # end of each task
    begins = _few(np.concatenate([heads, heads + lengths, latest - lengths]))
    ends = _few(np.concatenate([latest, heads + lengths, latest - lengths]))
    needed = span
    for begin in begins:
        after = ends[ends > begin]
        if not len(after):
            continue
        left = np.minimum(lengths, heads + lengths - begin)
        inside = np.minimum(
            np.minimum(left, (after - begin)[:, None]), after[:, None] - (latest - lengths)
        )
        work = np.maximum(inside, 0.0).sum(axis=1)
        needed = max(needed, span + float((work / graph.slots - (after - begin)).max()))
    return needed


def _few(instants: _Floats) -> _Floats:
    found = np.unique(instants)
    if len(found) <= _INSTANTS_MAX:
        return found
    places = np.linspace(0, len(found) - 1, _INSTANTS_MAX).round().astype(int)
    return np.asarray(found[places], dtype=np.float64)
