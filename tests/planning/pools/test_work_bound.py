"""The bound on servers: no schedule uses fewer, and the work of its interval is real."""

import math
from dataclasses import replace
from operator import mul

from hypothesis import event, given, settings
from tests.planning.pool_problems import example, problems

from sluice.planning.pools.baselines import per_job
from sluice.planning.pools.least_servers import least_servers
from sluice.planning.pools.online import vm_aware
from sluice.planning.pools.schedule import used_over_time
from sluice.planning.pools.work_bound import work_bound


@settings(max_examples=60)
@given(problems())
def test_no_schedule_meets_all_deadlines_on_fewer_servers_than_the_bound(problem):
    """Every schedule without a miss holds the units of `servers` at some instant, or more."""
    bound = work_bound(problem, [1.0 for _ in problem.types])
    schedules = [one for one in (vm_aware(problem), per_job(problem)) if not one.missed]
    event(f"schedules without a miss: {len(schedules)}")
    for made in schedules:
        assert bound is not None
        used = used_over_time(made.outcomes, len(problem.types))
        most = max((sum(map(mul, counts, problem.units)) for _, counts in used), default=0.0)
        assert math.ceil(most / problem.server_units - 1e-9) >= bound.servers or not used


@settings(max_examples=40)
@given(problems())
def test_the_work_of_the_interval_needs_that_many_servers(problem):
    bound = work_bound(problem, [1.0 for _ in problem.types])
    if bound is None or not bound.work_server_s:
        return
    length_s = bound.until_s - bound.from_s
    inside = [
        job
        for job in problem.jobs
        if bound.from_s <= job.arrives_at_s and job.deadline_at_s <= bound.until_s
    ]
    cheapest = sum(min(one.cost_server_s for one in job.options) for job in inside)
    slowest = sum(
        max(problem.run_length_s(one) * one.vms * problem.units[one.pool] for one in job.options)
        for job in inside
    )

    assert inside
    assert bound.servers == max(1, math.ceil(bound.work_server_s / length_s * (1 - 1e-6)))
    assert bound.work_server_s <= slowest / problem.server_units + 1e-6
    if not problem.pools.prediction_error:
        assert bound.work_server_s >= cheapest - 1e-6


def test_a_job_that_is_always_late_has_no_bound():
    problem = example()
    hasty = replace(problem.jobs[3], deadline_at_s=100.0)
    problem = replace(problem, jobs=(*problem.jobs[:3], hasty))

    assert work_bound(problem, [1 / 3] * 3) is None
    assert least_servers(problem).servers is None


def test_a_type_without_a_share_is_never_used():
    problem = example()
    every, some = (work_bound(problem, shares) for shares in ([1, 1, 1], [1, 1, 0]))

    assert every is not None
    assert some is None  # jobs 4 and 5 need VM-3
