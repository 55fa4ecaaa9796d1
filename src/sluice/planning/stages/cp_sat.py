"""Proofs by constraint programming, where OR-Tools is installed.

A task is an interval, the slots are a cumulative resource, and a task starts after the ends of
those that it waits for. CP-SAT counts in whole numbers, so that it takes only graphs whose lengths
are whole. One worker and a fixed seed lead to the same answer, unless the seconds end it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.planning.stages.bounds import Bounds
from sluice.planning.stages.list_schedules import Starts
from sluice.planning.stages.task_graph import TaskGraph, makespan


@dataclass(frozen=True, slots=True)
class StageProof:
    """The best schedule that was found, and a makespan that none is below."""

    starts: Starts
    lower: float


def cp_proof(
    graph: TaskGraph, bounds: Bounds, first: Sequence[float], seconds: float
) -> StageProof:
    """Look for schedules shorter than the first one, and for a bound, until the seconds end it.

    graph: of whole lengths.  bounds: its bounds.
    """
    from ortools.sat.python import cp_model

    model: Any = cp_model.CpModel()  # OR-Tools has no types that could be checked
    span = int(makespan(graph, first))
    begins, spans = [], []
    for task, length in enumerate(graph.lengths):
        latest = span - int(bounds.tails[task]) - int(length)
        begin = model.new_int_var(int(bounds.heads[task]), latest, f"start {task}")
        model.add_hint(begin, int(first[task]))
        begins.append(begin)
        spans.append(model.new_fixed_size_interval_var(begin, int(length), f"task {task}"))
    for task, before in enumerate(graph.after):
        for one in before:
            model.add(begins[task] >= begins[one] + int(graph.lengths[one]))
    model.add_cumulative(spans, [1] * len(spans), graph.slots)
    end = model.new_int_var(int(bounds.makespan), span, "end")
    for begin, length in zip(begins, graph.lengths, strict=True):
        model.add(end >= begin + int(length))
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return StageProof(list(first), bounds.makespan)
    starts: Starts = [solver.value(begin) for begin in begins]
    lower = max(bounds.makespan, round(solver.best_objective_bound))
    return StageProof(starts, min(lower, makespan(graph, starts)))
