"""The methods by name: the longest path first, search, proof, and `auto`, which picks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from sluice.planning.ordering.search_budget import SearchBudget, ShareSpent
from sluice.planning.stages.bounds import TASKS_MAX, Bounds, bounds_of, bounds_of_stages
from sluice.planning.stages.branch_and_bound import proved
from sluice.planning.stages.cp_sat import StageProof
from sluice.planning.stages.list_schedules import Starts, without_idling
from sluice.planning.stages.problem import StageProblem
from sluice.planning.stages.search import (
    by_longest_path,
    longest_first,
    searched,
    searched_by_stage,
)
from sluice.planning.stages.task_graph import TaskGraph, makespan

PROVED_TASKS_MAX = 250  # with more, branch and bound has no chance, and goes too deep
_PROOF_S = 60.0  # without a limit
_ROUNDING = 1e-12
_SEARCH_SHARE = 0.5  # of the budget that `auto` gives to the search, before it tries a proof
_WALK_SHARE = 0.7  # until which branch and bound goes on, where there is another prover

# A prover: the graph, its bounds, a schedule, and seconds.
Prover = Callable[[TaskGraph, Bounds, Sequence[float], float], StageProof]


class StageMethod(Enum):
    """Names of the methods."""

    CRITICAL_PATH = "critical-path"
    SEARCH = "search"
    EXACT = "exact"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSchedule:
    """starts: of the tasks, in the units of the problem.  lower: no schedule ends before it.

    is_proved: whether no schedule ends earlier than this one.
    """

    method: StageMethod
    picked: StageMethod
    starts: tuple[float, ...]
    lower: float
    is_proved: bool


def solve_stages(
    problem: StageProblem,
    method: StageMethod,
    budget: SearchBudget,
    draw: random.Random,
    prover: Prover | None = None,
) -> StageSchedule:
    """The schedule of a method. The budget limits search, exact and auto.

    prover: goes on where branch and bound gives up; only in a budget of seconds.
    """
    graph = problem.graph
    if len(graph.lengths) > TASKS_MAX:
        return _of_many_tasks(problem, method, budget, draw)
    bounds = bounds_of(graph)
    if method is StageMethod.CRITICAL_PATH:
        starts = without_idling(graph, longest_first(graph, bounds.tails))
        return _schedule(graph, method, method, starts, bounds.makespan)
    starts = by_longest_path(graph, bounds)
    may_prove = method is not StageMethod.SEARCH and len(graph.lengths) <= PROVED_TASKS_MAX
    until = {StageMethod.EXACT: 0.0, StageMethod.AUTO: _SEARCH_SHARE}.get(method, 1.0)
    if until:
        share = until if may_prove else 1.0
        starts = searched(graph, bounds, starts, draw, ShareSpent(budget, share))
    picked, is_proved = StageMethod.SEARCH, makespan(graph, starts) <= bounds.makespan
    lower = bounds.makespan
    if may_prove and (not is_proved or method is StageMethod.EXACT):
        picked = StageMethod.EXACT
        # Of another unit than whole numbers, and of evaluations, CP-SAT knows nothing.
        goes_on = prover is not None and graph.is_whole and budget.evaluations_max is None
        share = _WALK_SHARE if goes_on else 1.0
        found = proved(graph, bounds, starts, ShareSpent(budget, share))
        starts, is_proved = found.starts, found.is_proved
        if prover is not None and goes_on and not is_proved:
            proof = prover(graph, bounds, starts, budget.left_s(1.0) or _PROOF_S)
            starts, lower = proof.starts, proof.lower
    starts = _in_line(graph, starts)
    return _schedule(graph, method, picked, starts, makespan(graph, starts) if is_proved else lower)


def _of_many_tasks(
    problem: StageProblem, method: StageMethod, budget: SearchBudget, draw: random.Random
) -> StageSchedule:
    """Stages in line by the longest path, and then moved; nothing is proved but by the bound."""
    graph, stages = problem.graph, problem.stage_graph
    bounds = bounds_of_stages(stages, problem.work)
    is_rule = method is StageMethod.CRITICAL_PATH
    starts = searched_by_stage(
        graph,
        longest_first(stages, bounds.tails),
        problem.stage_of,
        bounds.makespan,
        draw,
        ShareSpent(budget, 0.0 if is_rule else 1.0),
    )
    picked = method if is_rule else StageMethod.SEARCH
    return _schedule(graph, method, picked, starts, bounds.makespan)


def _schedule(
    graph: TaskGraph, method: StageMethod, picked: StageMethod, starts: Starts, lower: float
) -> StageSchedule:
    return StageSchedule(
        method=method,
        picked=picked,
        starts=tuple(starts),
        lower=lower,
        is_proved=makespan(graph, starts) <= lower * (1 + _ROUNDING),
    )


def _in_line(graph: TaskGraph, starts: Starts) -> Starts:
    """The schedule of tasks in line in this order without idling, where that takes no longer."""
    plain = without_idling(graph, starts)
    return plain if makespan(graph, plain) <= makespan(graph, starts) else starts


def starts_as_given(problem: StageProblem) -> Starts:
    """The stages in the order of the file, no task waiting while a slot is free."""
    most = len(problem.places)
    ranks = [
        -1 if stage is None else stage * most + place
        for stage, place in zip(problem.stage_of, problem.places, strict=True)
    ]
    return without_idling(problem.graph, ranks)
