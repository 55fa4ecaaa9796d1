"""Jobs that must start soon after others: the optimum against all starts on whole seconds."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.planning.pools.one_type import T, pool_job
from tests.skips import required

from sluice.bootstrap.planners.cp_sat_process import cp_sat_apart
from sluice.model.job import Prediction
from sluice.model.vm_pools import VmPools, VmType
from sluice.planning.pools.bounded_waits import starts_with_bounded_waits
from sluice.planning.pools.offline_optimum import branch_and_bound, with_latest_deadlines
from sluice.planning.pools.problem import Option, PoolJob, PoolProblem, problem_of


@st.composite
def waiting_jobs(draw):
    """Up to four short jobs on one or two pools; some must start soon after those before them."""
    types = tuple(
        VmType(type_id=name, units=1.0, vms=draw(st.integers(1, 2)))
        for name in draw(st.sampled_from(["t", "tu"]))
    )
    jobs = []
    for order in range(draw(st.integers(2, 4))):
        options = tuple(
            Option(level, float(2 * length + level), pool, vms, float(length), length, length)
            for level, (pool, vms, length) in enumerate(
                draw(
                    st.lists(
                        st.tuples(
                            st.integers(0, len(types) - 1), st.integers(1, 2), st.integers(1, 4)
                        ),
                        min_size=1,
                        max_size=2,
                    )
                )
            )
        )
        arrives_s = float(draw(st.integers(0, 2)))
        within_s = draw(st.sampled_from([math.inf, 0.0, 0.0, 1.0]))
        after = draw(st.sets(st.integers(0, order - 1), max_size=2)) if order else ()
        jobs.append(
            PoolJob(
                job_id=f"j{order}",
                order=order,
                submitted_at_s=arrives_s,
                arrives_at_s=arrives_s,
                deadline_at_s=float(draw(st.integers(3, 11))),
                options=tuple(sorted(options, key=lambda one: one.cost_server_s)),
                start_by_s=arrives_s + within_s,
                after=tuple(sorted(after)),
            )
        )
    pools = VmPools(server_units=4.0, vm_types=types)
    return PoolProblem(pools=pools, server_units=4.0, types=types, jobs=tuple(jobs))


def enumerated(problem):
    """The least cost over all options and all whole starts; infinite if none is in time."""
    best = math.inf
    for options in itertools.product(*(job.options for job in problem.jobs)):
        cost = math.fsum(one.cost_server_s for one in options)
        if cost < best and _has_starts(problem, options, ()):
            best = cost
    return best


def _has_starts(problem, options, starts):
    if len(starts) == len(options):
        return True
    job, option = problem.jobs[len(starts)], options[len(starts)]
    first_s = max([job.arrives_at_s, *(starts[one] + options[one].length_s for one in job.after)])
    within_s = job.start_by_s - job.arrives_at_s
    last_s = min(job.deadline_at_s - option.length_s, first_s + within_s)
    return any(
        _fits(problem, options, (*starts, float(at_s)))
        and _has_starts(problem, options, (*starts, float(at_s)))
        for at_s in range(int(first_s), int(last_s) + 1)
    )


def _fits(problem, options, starts):
    ran = list(zip(starts, options[: len(starts)], strict=True))
    return all(
        size >= sum(one.vms for start_s, one in ran if one.pool == pool
                    and start_s <= at_s < start_s + one.length_s)
        for pool, size in enumerate(problem.sizes)
        for at_s, _ in ran
    )  # fmt: skip


def known_at_once(problem):
    return with_latest_deadlines(problem, [job.deadline_at_s for job in problem.jobs])


@settings(max_examples=300)
@given(waiting_jobs())
def test_no_start_of_any_job_gives_a_cheaper_schedule(problem):
    found, best = branch_and_bound(known_at_once(problem)), enumerated(problem)
    event("infeasible" if math.isinf(best) else "feasible")

    assert found.is_proven
    assert best == (found.cost_server_s or math.inf)
    if found.slots:
        slots = [found.slots[job.job_id] for job in problem.jobs]
        starts = tuple(slot.start_s for slot in slots)
        assert _fits(problem, [slot.option for slot in slots], starts)
        for job, start_s in zip(problem.jobs, starts, strict=True):
            ready_s = max([job.arrives_at_s, *(slots[one].end_s for one in job.after)])
            assert ready_s <= start_s <= ready_s + job.start_by_s - job.arrives_at_s


@pytest.mark.slow
@settings(max_examples=12)
@given(waiting_jobs())
def test_constraint_programming_finds_the_same_cost(problem):
    required("ortools")
    found = cp_sat_apart(known_at_once(problem))

    assert found.is_proven
    assert enumerated(problem) == (found.cost_server_s or math.inf)


def two_jobs(within_s, *, tick_s=1.0):
    """A job that `last` runs after, and one that holds the VM of `last` from 0 to 30 s."""
    jobs = [
        pool_job("first", 100.0),
        pool_job("other", 30.0, time_s=30.0, vm_type="u"),
        pool_job("last", 100.0, after=("first",), vm_type="u", within_s=within_s),
    ]
    types = tuple(VmType(type_id=name, units=2.0, vms=1) for name in "tu")
    made = problem_of(jobs, VmPools(server_units=4.0, vm_types=types), tick_s=tick_s)
    return with_latest_deadlines(made, [job.deadline_at_s for job in jobs])


@pytest.mark.parametrize(("within_s", "start_s"), [(0.0, 20.0), (7.0, 13.0), (20.0, 0.0)])
@pytest.mark.parametrize("tick_s", [1.0, 0.0])
def test_a_job_starts_later_so_that_the_next_finds_its_vm_free(within_s, start_s, tick_s):
    found = branch_and_bound(two_jobs(within_s, tick_s=tick_s))

    assert found.is_proven
    assert (start_s, 30.0) == (found.slots["first"].start_s, found.slots["last"].start_s)


def test_a_job_runs_longer_so_that_the_next_finds_its_vm_free():
    """`middle` starts when `first` ends, at 5 s; on one VM it would end before `last` can start."""
    jobs = [
        pool_job("first", 5.0, time_s=5.0),
        pool_job("middle", 100.0, after=("first",), within_s=0.0),
        pool_job("other", 30.0, time_s=30.0, vm_type="u"),
        pool_job("last", 100.0, after=("middle",), vm_type="u", within_s=0.0),
    ]
    lengths = (Prediction(vm_type="t", vms=1, time_s=10.0),
               Prediction(vm_type="t", vms=2, time_s=25.0))  # fmt: skip
    jobs[1] = replace(jobs[1], predictions=lengths)
    types = (T, VmType(type_id="u", units=2.0, vms=1))
    made = problem_of(jobs, VmPools(server_units=4.0, vm_types=types))
    found = branch_and_bound(with_latest_deadlines(made, [job.deadline_at_s for job in jobs]))

    assert found.slots["middle"].option.vms == 2
    assert (5.0, 30.0) == (found.slots["middle"].start_s, found.slots["last"].start_s)


def test_a_search_among_many_jobs_counts_for_more_steps_than_among_few():
    """Else it would take hours to use up the steps of both searches."""
    counted = {}
    for jobs in (2, 80):
        names = [pool_job(f"{n}", 1000.0 * jobs) for n in range(jobs)]
        types = (VmType(type_id="t", units=2.0, vms=jobs),)
        made = problem_of(names, VmPools(server_units=4.0, vm_types=types))
        chosen = [(job, job.options[0]) for job in made.jobs]
        latest_s = {job.order: job.latest_start_s for job in made.jobs}
        steps: list[int] = []
        assert starts_with_bounded_waits(chosen, made.sizes, latest_s, steps.append) is not None
        counted[jobs] = steps

    assert counted == {2: [1], 80: [161]}
