"""The exact frontier against all combinations."""

import math
import random
from dataclasses import replace

import pytest
from tests.effort import share_of
from tests.planning.pareto_problems import random_problem
from tests.planning.pareto_reference import all_plans, are_alike, undominated

from sluice.model.limits import PlanLimits
from sluice.planning.pareto.plan_search import PlanSearch, find_frontier
from sluice.planning.pareto.pricing import JobPricing
from sluice.planning.pareto.problem import TaskTuning

QUICK, ALL = range(200), range(200, 2000)
FEW = range(60)


def check_against_enumeration(number):
    problem = random_problem(random.Random(number))
    found = list(find_frontier(problem, PlanSearch.EXACT).points())
    wanted = undominated(*all_plans(problem))

    assert are_alike(found, wanted), (number, found, wanted)
    assert found == sorted(set(found))


@pytest.mark.slow
def test_the_frontier_is_that_of_full_enumeration():
    """All billing modes, task tunings, I/O models, VM types and caps, by seed."""
    for number in QUICK:
        check_against_enumeration(number)


@pytest.mark.slow
def test_the_frontier_is_that_of_full_enumeration_on_many_workloads():
    for number in ALL[: share_of(len(ALL))]:
        check_against_enumeration(number)


def test_the_random_workloads_cover_the_hard_cases():
    """A comparison on easy cases alone would prove nothing."""
    problems = [random_problem(random.Random(number)) for number in QUICK]
    frontiers = [find_frontier(problem, PlanSearch.EXACT) for problem in problems]

    assert {problem.options.tasks for problem in problems} == set(TaskTuning)
    assert {problem.prices.billing_s for problem in problems} == {3600.0, 600.0, 1.0, 0.0}
    assert 40 < sum(len(frontier) > 3 for frontier in frontiers)
    assert 5 < sum(len(frontier) == 0 for frontier in frontiers)
    capped = [one for one in problems if one.limits.vms_max is not None]
    bites = [
        one for one in capped if list(find_frontier(one, PlanSearch.EXACT).points()) != _free(one)
    ]
    assert 20 < len(bites)


def _free(problem):
    return list(find_frontier(replace(problem, limits=PlanLimits()), PlanSearch.EXACT).points())


@pytest.mark.parametrize("search", [one for one in PlanSearch if one is not PlanSearch.EXACT])
def test_a_greedy_search_never_beats_the_exact_one(search):
    for number in FEW:
        problem = random_problem(random.Random(number))
        if len(problem.offers) > 1:
            continue
        exact = list(find_frontier(problem, PlanSearch.EXACT).points())
        for makespan_s, budget_usd in find_frontier(problem, search).points():
            assert any(
                time_s <= makespan_s * (1 + 1e-9) and usd <= budget_usd * (1 + 1e-9)
                for time_s, usd in exact
            ), number


@pytest.mark.parametrize("search", list(PlanSearch))
@pytest.mark.parametrize("in_waves", [False, True])
def test_a_plan_has_the_time_and_cost_of_its_choices(search, in_waves):
    """Pricing every choice again gives the same makespan and budget."""
    for number in FEW:
        problem = random_problem(random.Random(number))
        if len(problem.offers) > 1 and search is not PlanSearch.EXACT:
            continue
        pricings = [JobPricing(problem, job) for job in range(len(problem.jobs))]
        frontier = find_frontier(problem, search, in_waves=in_waves)
        for position, (makespan_s, budget_usd) in enumerate(frontier.points()):
            plan = frontier.plan(position)
            again = [
                pricing.entry(entry.choice)
                for pricing, entry in zip(pricings, plan.entries, strict=True)
            ]
            assert tuple(again) == plan.entries
            assert (plan.makespan_s, plan.budget_usd) == (makespan_s, budget_usd)
            waves = plan.waves or [range(len(again))]
            slowest = (max(again[job].time_s for job in wave) for wave in waves)
            assert math.fsum(slowest) == makespan_s
            parts = (usd for entry in again for usd in (entry.vm_usd, entry.io_usd))
            assert math.fsum(parts) == budget_usd
            cap = problem.limits.vms_max
            used = [sum(again[job].vms for job in wave) for wave in waves]
            assert cap is None or max(used) <= cap
