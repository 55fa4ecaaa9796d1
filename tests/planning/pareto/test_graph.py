"""Plans of jobs that wait for each other, against all combinations of their choices."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.planning.pareto_problems import phase, problem_of

from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.planning.pareto import series_parallel
from sluice.planning.pareto.plan_search import (
    PlanSearch,
    PlanStatus,
    find_frontier,
    solve_plans,
    unreachable,
)
from sluice.planning.pareto.precedence import Precedence
from sluice.planning.pareto.pricing import JobPricing
from sluice.planning.pareto.problem import PlannedJob, PlanOptions
from sluice.planning.pareto.rounding import ROUNDING
from sluice.planning.pareto.series_parallel import blocks_of
from sluice.planning.pareto.staircase import job_entries, staircases

N_SHAPE = ((), (), (0,), (0, 1))  # the least graph that is not series-parallel


def problem(before, draw, **limits):
    """Jobs of random sizes, each after those before it; by the minute more VMs cost more."""
    jobs = tuple(
        PlannedJob(
            job_id=JobId(f"j{place}"),
            maps=phase(draw.randint(1, 9), float(draw.randint(10, 90))),
            reduces=phase(draw.randint(1, 4), float(draw.randint(10, 90))),
            after=tuple(JobId(f"j{one}") for one in waits),
        )
        for place, waits in enumerate(before)
    )
    return problem_of(*jobs, vm=(1, 1), billing_s=60.0, **limits)


def random_graph(draw, jobs):
    return tuple(
        tuple(sorted(draw.sample(range(place), draw.randint(0, min(place, 2)))))
        for place in range(jobs)
    )


def ends_of(before, times_s):
    """By the definition, one job after another; those before a job have smaller numbers."""
    ends_s: list[float] = []
    for waits, time_s in zip(before, times_s, strict=True):
        ends_s.append(max((ends_s[one] for one in waits), default=0.0) + time_s)
    return ends_s


def all_plans(planned, before, vms_max=None):
    """(makespan, budget, entries) of every combination that fits."""
    of_jobs = [
        list(job_entries(planned, JobPricing(planned, number), vms_max))
        for number in range(len(planned.jobs))
    ]
    sets = [] if vms_max is None else antichains(before)
    for entries in itertools.product(*of_jobs):
        if any(sum(entries[one].vms for one in jobs) > vms_max for jobs in sets):
            continue
        ends_s = ends_of(before, [one.time_s for one in entries])
        yield max(ends_s), math.fsum(one.cost_usd for one in entries), ends_s


def antichains(before):
    above: list[set[int]] = []
    for waits in before:
        above.append({*waits}.union(*(above[one] for one in waits)))
    jobs = range(len(before))
    return [
        chosen
        for size in jobs
        for chosen in itertools.combinations(jobs, size + 1)
        if not any(one in above[other] for one in chosen for other in chosen)
    ]


def deadlines(*at_s):
    """Three jobs of 1 map in line, 10 s each on any VMs; some with a deadline after the start."""
    return problem_of(
        *(
            PlannedJob(
                job_id=JobId(f"j{place}"), maps=phase(1, 10.0), deadline_s=end_s,
                after=(JobId(f"j{place - 1}"),) if place else (),
            )
            for place, end_s in enumerate(at_s)
        )
    )  # fmt: skip


def test_the_first_job_that_no_rent_makes_in_time_is_named():
    assert unreachable(deadlines(None, None, None)) is None
    assert unreachable(deadlines(10.0, 20.0, 30.0)) is None
    assert unreachable(deadlines(5.0, 19.0, None)) == (deadlines(5.0, 19.0, None).jobs[0], 10.0)
    assert unreachable(deadlines(10.0, None, 29.0)) == (deadlines(10.0, None, 29.0).jobs[2], 30.0)


def undominated(points):
    kept: list[tuple[float, float]] = []
    for time_s, usd in sorted(points):
        if not kept or usd < kept[-1][1] - 1e-9:
            kept.append((time_s, usd))
    return kept


def check_frontier(found, wanted):
    assert [one for point in found.points() for one in point] == pytest.approx(
        [one for point in wanted for one in point]
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_frontier_is_that_of_all_combinations(seed):
    draw = random.Random(seed)
    before = random_graph(draw, draw.randint(2, 5))
    planned = problem(before, draw)

    found = find_frontier(planned, PlanSearch.EXACT)

    wanted = undominated((time_s, usd) for time_s, usd, _ in all_plans(planned, before))
    check_frontier(found, wanted)
    for number in range(len(found)):
        plan = found.plan(number)
        times_s = [entry.time_s for entry in plan.entries]
        assert plan.makespan_s == pytest.approx(max(ends_of(before, times_s)))
        assert plan.budget_usd == pytest.approx(found.budgets_usd[number])


def test_choices_that_differ_by_rounding_are_one():
    """Of two equally fast the cheaper is kept, and of two equally cheap the faster."""
    hair = ROUNDING / 2
    choices = [(3.0, 1.0), (1.0, 9.0), (1.0 + hair, 8.0), (2.0, 9.5), (2.5, 8.0 * (1 - hair))]
    times_s, usd = np.array(choices).T

    assert [2, 0] == series_parallel._undominated(times_s, usd).tolist()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("seed", range(20))
def test_a_graph_that_is_not_series_parallel_is_swept(seed):
    draw = random.Random(seed)
    planned = problem(N_SHAPE, draw)
    blocks, waits = blocks_of(staircases(planned), planned.precedence)
    assert len(blocks) == len(N_SHAPE)
    assert waits.before == N_SHAPE

    found = find_frontier(planned, PlanSearch.EXACT)

    wanted = undominated((time_s, usd) for time_s, usd, _ in all_plans(planned, N_SHAPE))
    check_frontier(found, wanted)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("seed", range(20))
def test_own_deadlines_are_met_by_the_cheapest_plans_that_can(seed):
    draw = random.Random(seed)
    before = random_graph(draw, 4)
    planned = problem(before, draw)
    fastest = [
        min(entry.time_s for entry in job_entries(planned, JobPricing(planned, number)))
        for number in range(4)
    ]
    latest_s = ends_of(before, fastest)[2] * draw.uniform(1.0, 1.5)
    jobs = tuple(
        replace(job, deadline_s=latest_s) if place == 2 else job
        for place, job in enumerate(planned.jobs)
    )
    planned = replace(planned, jobs=jobs, options=PlanOptions(meet_deadlines=True))

    found = solve_plans(planned, PlanSearch.EXACT)

    wanted = undominated(
        (time_s, usd)
        for time_s, usd, ends_s in all_plans(replace(planned, options=PlanOptions()), before)
        if ends_s[2] <= latest_s * (1 + 1e-12)
    )
    if planned.precedence:
        check_frontier(found.plans, wanted)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("seed", range(20))
def test_jobs_that_may_run_at_once_share_the_cap(seed):
    draw = random.Random(seed)
    before = random_graph(draw, 4)
    planned = problem(before, draw, vms_max=draw.randint(4, 9))

    found = find_frontier(planned, PlanSearch.EXACT)

    wanted = undominated(
        (time_s, usd) for time_s, usd, _ in all_plans(planned, before, planned.limits.vms_max)
    )
    check_frontier(found, wanted)
    assert all(found.plan(number).vms <= planned.limits.vms_max for number in range(len(found)))


def test_no_plan_fits_a_cap_that_jobs_at_once_exceed():
    planned = problem(((), (), (0, 1)), random.Random(1), vms_max=1)

    found = solve_plans(planned, PlanSearch.EXACT)

    assert found.status is PlanStatus.VM_CAP_UNREACHABLE


def test_jobs_one_after_the_other_rent_their_vms_one_after_the_other():
    planned = problem(((), (0,)), random.Random(4), vms_max=3)

    plan = find_frontier(planned, PlanSearch.EXACT).plan(0)

    assert plan.vms == max(entry.vms for entry in plan.entries)


def test_a_long_chain_stays_within_its_slack(monkeypatch):
    """Beyond a limit a block keeps one choice of a band, so a plan left out has one as cheap."""
    planned = problem(tuple((place - 1,) if place else () for place in range(6)), random.Random(3))
    monkeypatch.setattr(series_parallel, "SLACK", 0.1)
    exact = list(find_frontier(planned, PlanSearch.EXACT).points())
    monkeypatch.setattr(series_parallel, "CHOICES_MAX", 8)

    found = list(find_frontier(planned, PlanSearch.EXACT).points())

    assert len(found) < len(exact)
    for time_s, usd in exact:
        assert any(
            other_s <= time_s * (1 + series_parallel.SLACK) and other_usd <= usd * (1 + 1e-9)
            for other_s, other_usd in found
        )


def test_thirty_jobs_are_planned_in_seconds():
    draw = random.Random(5)
    before = tuple((place - 1,) if place % 3 else () for place in range(30))
    planned = problem(before, draw)

    found = find_frontier(planned, PlanSearch.EXACT)

    assert found.makespans_s[0] < found.makespans_s[-1]
    assert found.plan(0).makespan_s == pytest.approx(found.makespans_s[0])


@pytest.mark.parametrize("search", [PlanSearch.SLOTS, PlanSearch.VMS])
def test_the_greedy_searches_refuse_jobs_that_wait(search):
    with pytest.raises(InvalidInput, match="Take exact"):
        solve_plans(problem(((), (0,)), random.Random(1)), search)


def test_who_may_run_at_once():
    shape = Precedence(((), (), (0,), (0, 1), (2,)))

    assert shape.may_run_at_once(9) == [(0, 1), (1, 2), (1, 4), (2, 3), (3, 4)]
    assert shape.may_run_at_once(4) is None


def test_who_runs_at_once():
    """The third starts when the first ends, so these two never share."""
    shape = Precedence(((), (), (0,)))

    assert list(shape.running([2.0, 5.0, 1.0])) == [(0, 1), (1, 2)]
