"""Which jobs miss their deadlines in each plan: of a merged frontier, without making a plan."""

import random
from dataclasses import replace

import pytest
from tests.planning.pareto_problems import phase, problem_of

from sluice.model.ids import JobId
from sluice.planning.pareto.frontier import Plan
from sluice.planning.pareto.plan_search import PlanSearch, find_frontier, late_in_each, late_jobs
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
def test_late_jobs_are_those_of_a_walk_over_all_plans(search, in_waves):
    sizes = set()
    for seed in range(20):
        problem = drawn(seed, vms_max=12 if in_waves else None)
        found = find_frontier(problem, search, in_waves=in_waves)
        late = [late_jobs(problem, found.plan(n)) for n in range(len(found))]

        assert [*late_in_each(problem, found)] == late
        assert [*late_in_each(problem, found.at(range(1, len(found), 2)))] == late[1::2]
        sizes.add((any(late), not all(late)))

    assert (True, True) in sizes


def test_no_plan_of_a_merged_frontier_is_made():
    problem = drawn(3)
    found = find_frontier(problem, PlanSearch.EXACT)
    made: list[int] = []

    def make(number: int) -> Plan:
        made.append(number)
        return found.plan(number)

    assert any(late_in_each(problem, replace(found, make=make)))
    assert len(found) > 10
    assert made == []
