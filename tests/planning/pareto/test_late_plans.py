"""Which plans miss a deadline: of a merged frontier, without making each plan."""

import random
from dataclasses import replace

import pytest
from tests.planning.pareto_problems import phase, problem_of

from sluice.model.ids import JobId
from sluice.planning.pareto.plan_search import PlanSearch, find_frontier, late_jobs, late_plans
from sluice.planning.pareto.problem import PlannedJob


def drawn(seed, **limits):
    """Up to nine jobs, some with a deadline."""
    draw = random.Random(seed)
    jobs = [
        PlannedJob(
            job_id=JobId(f"j{number}"),
            maps=phase(draw.randint(1, 30), draw.randint(1, 90)),
            reduces=phase(draw.randint(1, 9), 7),
            deadline_s=draw.choice([None, draw.uniform(50, 900)]),
        )
        for number in range(draw.randint(1, 9))
    ]
    return problem_of(*jobs, billing_s=60.0, **limits)


@pytest.mark.parametrize("search", PlanSearch)
@pytest.mark.parametrize("in_waves", [False, True])
def test_late_plans_are_those_of_a_walk_over_all(search, in_waves):
    sizes = set()
    for seed in range(20):
        problem = drawn(seed, vms_max=12 if in_waves else None)
        found = find_frontier(problem, search, in_waves=in_waves)
        late = [n for n in range(len(found)) if late_jobs(problem, found.plan(n))]

        assert [*late_plans(problem, found)] == late
        sizes.add((bool(late), len(late) < len(found)))

    assert (True, True) in sizes


def test_few_plans_of_a_merged_frontier_are_made():
    problem = drawn(3)
    found = find_frontier(problem, PlanSearch.EXACT)
    made: list[int] = []

    def make(number):
        made.append(number)
        return found.plan(number)

    late_plans(problem, replace(found, make=make))

    assert len(found) > 10
    assert len(made) <= len(found).bit_length()
