"""The offline optimum: against an enumeration, the worked example, and the online schedulers."""

import itertools
import math

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.planning.pool_problems import (
    CORRECTED,
    LARGE_SIZES,
    example,
    over_capacity,
    problems,
    workflows,
)

from sluice.planning.pools.free_vms import FreeVms
from sluice.planning.pools.offline_optimum import (
    branch_and_bound,
    places_of,
    usable_options,
    with_latest_deadlines,
)
from sluice.planning.pools.online import vm_aware
from sluice.planning.pools.schedule import PoolOutcome, PoolSchedule


def enumerated(problem):
    """The least cost over all options and all orders; infinite if no schedule is in time."""
    best = math.inf
    options = [[o for o in job.options if o.vms <= problem.sizes[o.pool]] for job in problem.jobs]
    for chosen in itertools.product(*options):
        cost = math.fsum(one.cost_server_s for one in chosen)
        if cost < best and any(
            _is_in_time(problem, chosen, order)
            for order in itertools.permutations(range(len(chosen)))
        ):
            best = cost
    return best


def _is_in_time(problem, chosen, order):
    pools = [FreeVms(vms) for vms in problem.sizes]
    ends: dict[int, int] = {}
    for place in order:
        job, option = problem.jobs[place], chosen[place]
        if not ends.keys() >= set(job.after):
            return False  # another order has those that it runs after before it
        latest_s = job.latest_starts_s[job.options.index(option)]
        pool = pools[option.pool]
        first_s = max([job.arrives_at_s, *(ends[one] for one in job.after)])
        start_s = pool.earliest(option.vms, option.length_s, first_s, latest_s)
        if start_s is None:
            return False
        pool.add(start_s, start_s + option.length_s, -option.vms)
        ends[place] = start_s + option.length_s
    return True


def as_schedule(problem, found):
    return PoolSchedule(
        policy="optimum",
        problem=problem,
        servers=problem.servers,
        outcomes=tuple(
            PoolOutcome(
                job=job,
                option=found.slots[job.job_id].option,
                started_at_s=found.slots[job.job_id].start_s,
                finished_at_s=found.slots[job.job_id].end_s,
            )
            for job in problem.jobs
        ),
    )


@settings(max_examples=40)
@given(problems(jobs_max=4) | workflows(jobs_max=4))
def test_it_is_the_least_of_all_schedules(problem):
    """Also of jobs that run after others."""
    found, best = branch_and_bound(problem), enumerated(problem)
    kind = "workflow" if any(job.after for job in problem.jobs) else "jobs"
    event(f"{kind}, {'infeasible' if math.isinf(best) else 'feasible'}")

    assert found.is_proven
    assert (found.cost_server_s or math.inf) == pytest.approx(best)
    assert found.bound_server_s == pytest.approx(best)
    if found.cost_server_s is not None:
        schedule = as_schedule(problem, found)
        assert [] == over_capacity(schedule)
        assert all(one.met for one in schedule.outcomes)
        assert all(one.started_at_s >= one.job.arrives_at_s for one in schedule.outcomes)
        ends = [one.finished_at_s for one in schedule.outcomes]
        assert all(
            one.started_at_s >= ends[before]
            for one in schedule.outcomes
            for before in one.job.after
        )


@settings(max_examples=40)
@given(problems(jobs_max=6) | workflows(jobs_max=6), st.booleans())
def test_no_online_schedule_is_cheaper(problem, begins):
    """Also if it begins with that schedule, and if deadlines of jobs before others fall away."""
    online = vm_aware(problem)
    assume(not online.missed)
    waited_for = {order for job in problem.jobs for order in job.after}
    own = [math.inf if job.order in waited_for else job.deadline_at_s for job in problem.jobs]
    known = with_latest_deadlines(problem, own)
    found = branch_and_bound(known, places_of(online) if begins else None)

    assert found.cost_server_s is not None
    assert found.bound_server_s <= online.total_cost_server_s * (1 + 1e-9)


def test_a_search_that_ends_early_claims_no_proof():
    found = branch_and_bound(example(), nodes_max=3)

    assert not found.is_proven
    assert found.cost_server_s is None
    assert 0 < found.bound_server_s <= 25_829.40


def test_of_two_clusters_in_a_pool_the_dearer_and_slower_one_is_never_needed():
    problem = example()
    for job in problem.jobs:
        kept = usable_options(job, problem)
        assert kept
        assert not any(
            one.pool == other.pool and one.vms <= other.vms and one.length_s <= other.length_s
            for one, other in itertools.permutations(kept, 2)
        )


@pytest.mark.parametrize(
    ("types", "cost"), [({}, None), (CORRECTED, 25_829.40), ({**CORRECTED, 15: 1}, 27_522.01)]
)
def test_the_optima_of_the_worked_example(types, cost):
    """Proven by CP-SAT in the spec, section 7, and by the branch and bound here."""
    found = branch_and_bound(example(types))

    assert found.is_proven
    assert cost == (found.cost_server_s and round(found.cost_server_s, 2))


def test_the_optimum_on_better_pools_of_the_same_units():
    """24,338.81 server-seconds, 5.8 % less. Source: Cura spec, section 7."""
    found = branch_and_bound(example(sizes=LARGE_SIZES, pools=(140, 30, 20)))

    assert (24_338.81, True) == (round(found.cost_server_s, 2), found.is_proven)
