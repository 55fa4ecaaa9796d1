"""Search for a short schedule: lists by the longest path, then changed at random."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from sluice.planning.stages.bounds import Bounds
from sluice.planning.stages.list_schedules import Starts, improved, in_gaps, without_idling
from sluice.planning.stages.task_graph import TaskGraph, makespan

_NOISE = (0.02, 0.05, 0.1, 0.2)  # of the makespan, by which ranks are moved
IsOver = Callable[[], bool]


def longest_first(graph: TaskGraph, tails: Sequence[float]) -> list[float]:
    """Ranks by the longest path from the start of a task, in units of time."""
    return [-(length + tail) for length, tail in zip(graph.lengths, tails, strict=True)]


def by_longest_path(graph: TaskGraph, bounds: Bounds) -> Starts:
    """The best of the schedules by the longest path, by plain tails and by longer ones."""
    tried: list[Starts] = []
    for tails in (bounds.tails, graph.tails):
        ranks = longest_first(graph, tails)
        tried += [without_idling(graph, ranks), in_gaps(graph, ranks)]
    return min((improved(graph, one) for one in tried), key=lambda one: makespan(graph, one))


def searched_by_stage(
    graph: TaskGraph,
    ranks: Sequence[float],
    stage_of: Sequence[int | None],
    lower: float,
    draw: random.Random,
    is_over: IsOver,
) -> Starts:
    """Return the same for many tasks: stages are moved in line, and no slot is left idle.

    ranks: of the stages.  stage_of: of each task; None for a barrier, which comes first.
    """
    by_stage = list(ranks)

    def placed() -> Starts:
        of_tasks = [-math.inf if one is None else by_stage[one] for one in stage_of]
        return without_idling(graph, of_tasks)

    best, turn = placed(), 0
    span = makespan(graph, best)
    while span > lower and not is_over():
        noise = _NOISE[turn % len(_NOISE)] * span
        kept, by_stage = by_stage, [rank + draw.uniform(-noise, noise) for rank in by_stage]
        found = placed()
        if (found_span := makespan(graph, found)) <= span:
            best, span = found, found_span
        else:
            by_stage = kept
        turn += 1
    return best


def searched(
    graph: TaskGraph, bounds: Bounds, first: Sequence[float], draw: random.Random, is_over: IsOver
) -> Starts:
    """Change the order of the best schedule and of the longest paths, until none can be shorter.

    is_over: asked before each schedule; the search ends when it says so.
    """
    best, span = list(first), makespan(graph, first)
    paths = longest_first(graph, bounds.tails)
    turn = 0
    while span > bounds.makespan and not is_over():
        noise = _NOISE[turn % len(_NOISE)] * span
        base = paths if turn // len(_NOISE) % 2 else best
        ranks = [rank + draw.uniform(-noise, noise) for rank in base]
        place = without_idling if turn % 3 else in_gaps
        found = improved(graph, place(graph, ranks))
        if (found_span := makespan(graph, found)) <= span:
            best, span = found, found_span
        turn += 1
    return best
