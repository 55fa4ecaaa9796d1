"""Finds plans, and compares them with the user's limits.

The whole frontier is computed first. Then it is split into plans within all limits, and plans below
the minimum budget, which are useful but were not asked for. A dominated plan is not listed, even if
its cost reaches the minimum budget (E17). Source: pareto, section 4.6.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from sluice.model.errors import InvalidInput
from sluice.model.limits import PlanLimits
from sluice.planning.pareto.frontier import Frontier, Plan, merge_staircases
from sluice.planning.pareto.graph_frontier import frontier_of_graph
from sluice.planning.pareto.greedy import GreedyStep, greedy_frontier
from sluice.planning.pareto.pricing import JobPricing
from sluice.planning.pareto.problem import ParetoProblem, PlannedJob
from sluice.planning.pareto.rounding import ROUNDING
from sluice.planning.pareto.staircase import job_entries, staircases
from sluice.planning.pareto.vm_cap import frontier_under_cap
from sluice.planning.pareto.waves import frontier_in_waves


class PlanSearch(Enum):
    """Search method for plans."""

    EXACT = "exact"
    SLOTS = "slots"
    SLOTS_PRINTED = "slots-printed"
    VMS = "vms"


class PlanStatus(Enum):
    """Whether a plan satisfies the limits, or else the limit that prevents it."""

    OK = "ok"
    BELOW_BUDGET_MIN = "below_budget_min"
    DEADLINE_UNREACHABLE = "deadline_unreachable"
    BUDGET_UNREACHABLE = "budget_unreachable"
    CONFLICT = "deadline_and_budget_conflict"
    VM_CAP_UNREACHABLE = "vm_cap_unreachable"
    JOB_DEADLINE_UNREACHABLE = "job_deadline_unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoResult:
    """Result of a search.

    plans: plans within all limits.  below_budget_min: in time, but below the minimum budget.
    frontier: all plans found, also those outside the limits.
    fastest_makespan_s, least_budget_usd: best possible values; None if no plan fits the VM cap.
    missed: the search found no plan, but an exact search finds one.
    """

    status: PlanStatus
    plans: Frontier
    below_budget_min: Frontier
    frontier: Frontier
    fastest_makespan_s: float | None
    least_budget_usd: float | None
    missed: bool = False


def solve_plans(
    problem: ParetoProblem, search: PlanSearch, *, in_waves: bool = False
) -> ParetoResult:
    """Search for plans and apply the limits.

    in_waves: under a cap on VMs run jobs in waves instead of all at once.
    Raises InvalidInput if a greedy search cannot be used.
    """
    found = _in_time(problem, find_frontier(problem, search, in_waves=in_waves))
    possible = (
        found
        if search is PlanSearch.EXACT
        else _in_time(problem, find_frontier(problem, PlanSearch.EXACT, in_waves=in_waves))
    )
    within, below = _split(found, problem.limits)
    return ParetoResult(
        status=_status(problem, found, within, below),
        plans=within,
        below_budget_min=below,
        frontier=found,
        fastest_makespan_s=possible.makespans_s[0] if possible.makespans_s else None,
        least_budget_usd=possible.budgets_usd[-1] if possible.budgets_usd else None,
        missed=not within and bool(_split(possible, problem.limits)[0]),
    )


def _in_time(problem: ParetoProblem, found: Frontier) -> Frontier:
    """The plans whose jobs meet their own deadlines, if they must; waves make jobs end later."""
    if not problem.options.meet_deadlines:
        return found
    late = late_in_each(problem, found)
    return found.at([number for number, jobs in enumerate(late) if not jobs])


def late_in_each(problem: ParetoProblem, found: Frontier) -> Iterator[list[PlannedJob]]:
    """The jobs that end after their own deadlines, for each plan."""
    numbers = range(len(found))
    if found.times_s is None:
        yield from (late_jobs(problem, found.plan(number)) for number in numbers)
        return
    # A plan is made by a walk over all jobs, and a table of many jobs has as many plans. Here no
    # job ends earlier in a plan than in the plans before it, so each is late from some plan on.
    coming = deque(sorted(_late_from(problem, found, found.times_s)))
    late: list[int] = []
    jobs: list[PlannedJob] = []
    for number in numbers:
        while coming and coming[0][0] == number:
            place = coming.popleft()[1]
            at = bisect_left(late, place)
            late.insert(at, place)
            jobs.insert(at, problem.jobs[place])
        yield jobs.copy()


def _late_from(
    problem: ParetoProblem, found: Frontier, times_s: Sequence[Sequence[float]]
) -> Iterator[tuple[int, int]]:
    """The first plan in which a job is late, and its place, for each job that can be late."""
    for place, (job, own_s) in enumerate(zip(problem.jobs, times_s, strict=True)):
        step = bisect_left(own_s, x=True, key=job.is_late)
        if step < len(own_s):
            yield bisect_left(found.makespans_s, own_s[step]), place


def late_jobs(problem: ParetoProblem, plan: Plan) -> list[PlannedJob]:
    """The jobs that end after their own deadlines in a plan; all jobs are submitted together."""
    return [
        job for job, end_s in zip(problem.jobs, plan.ends_s(), strict=True) if job.is_late(end_s)
    ]


def find_frontier(
    problem: ParetoProblem, search: PlanSearch, *, in_waves: bool = False
) -> Frontier:
    """Return the frontier that a search finds. Of the limits it uses only the cap on VMs."""
    vms_max = problem.limits.vms_max
    if problem.precedence:
        _check_graph(search, in_waves=in_waves)
        return frontier_of_graph(problem)
    if search is PlanSearch.EXACT:
        if vms_max is None:
            return merge_staircases(staircases(problem))
        if not in_waves:
            return frontier_under_cap(problem, vms_max)
        return frontier_in_waves(merge_staircases(staircases(problem, vms_max=vms_max)), vms_max)
    return greedy_frontier(problem, GreedyStep(search.value), in_waves=in_waves)


def _check_graph(search: PlanSearch, *, in_waves: bool) -> None:
    if search is not PlanSearch.EXACT:
        raise InvalidInput(
            "the greedy searches plan jobs that do not wait for each other (`after`)",
            where="--search",
            hint="take exact",
        )
    if in_waves:
        raise InvalidInput(
            "the jobs wait for each other as `after` says, and not in waves",
            where="--waves",
            hint="leave it out",
        )


class Unreachable(NamedTuple):
    """A job whose deadline no allocation meets, and when it ends at the earliest."""

    job: PlannedJob
    least_s: float


def unreachable(problem: ParetoProblem) -> Unreachable | None:
    """The first job that is late in every plan, however much is rented; None if none is."""
    free = replace(problem, options=replace(problem.options, meet_deadlines=False))
    least_s = [
        min(
            (
                one.time_s
                for one in job_entries(free, JobPricing(free, number), free.limits.vms_max)
            ),
            default=math.inf,
        )
        for number in range(len(problem.jobs))
    ]
    for job, end_s in zip(problem.jobs, problem.precedence.ends_s(least_s), strict=True):
        if job.is_late(end_s):
            return Unreachable(job, end_s)
    return None


def _split(frontier: Frontier, limits: PlanLimits) -> tuple[Frontier, Frontier]:
    within: list[int] = []
    below: list[int] = []
    for number, (makespan_s, budget_usd) in enumerate(frontier.points()):
        if not _at_most(makespan_s, limits.deadline_s):
            continue
        if not _at_most(budget_usd, limits.budget_usd_max):
            continue
        is_enough = _at_most(limits.budget_usd_min, budget_usd)
        (within if is_enough else below).append(number)
    return frontier.at(within), frontier.at(below)


def _status(
    problem: ParetoProblem, found: Frontier, within: Frontier, below: Frontier
) -> PlanStatus:
    limits = problem.limits
    if within:
        return PlanStatus.OK
    if below:
        return PlanStatus.BELOW_BUDGET_MIN
    if not found:
        return _status_without_plans(problem)
    if not _at_most(found.makespans_s[0], limits.deadline_s):
        return PlanStatus.DEADLINE_UNREACHABLE
    if not _at_most(found.budgets_usd[-1], limits.budget_usd_max):
        return PlanStatus.BUDGET_UNREACHABLE
    return PlanStatus.CONFLICT


def _status_without_plans(problem: ParetoProblem) -> PlanStatus:
    is_capped = problem.limits.vms_max is not None
    has_to_be_in_time = problem.options.meet_deadlines and unreachable(problem) is not None
    if is_capped and not has_to_be_in_time:
        return PlanStatus.VM_CAP_UNREACHABLE
    return PlanStatus.JOB_DEADLINE_UNREACHABLE


def _at_most(value: float, most: float | None) -> bool:
    """Whether a value is within a limit, apart from rounding."""
    return most is None or value <= most * (1 + ROUNDING)
