"""Whole problems played through, on one VM, so that each course can be worked out by hand."""

from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.planning.pools.one_type import pool_job

from sluice.model.errors import Infeasible
from sluice.model.vm_pools import VmPools, VmType
from sluice.planning.pools.online import (
    first_miss,
    instant_opt,
    starting_at_once,
    vm_aware,
    vm_choice,
)
from sluice.planning.pools.problem import problem_of

POOLS = VmPools(server_units=4.0, vm_types=(VmType(type_id="t", units=2.0, vms=1),))


def job(name, time_s, deadline_at_s, **more):
    return pool_job(name, deadline_at_s, time_s=time_s, **more)


def times(schedule):
    """(start, end) of each job, by its name."""
    return {name: (one.started_at_s, one.finished_at_s) for name, one in schedule.by_id.items()}


@pytest.mark.parametrize("play", [vm_aware, instant_opt])
def test_jobs_follow_each_other_on_one_vm(play):
    """Each VM is half a server."""
    schedule = play(problem_of([job("a", 10.0, 50.0), job("b", 20.0, 50.0)], POOLS))

    assert times(schedule) == {"a": (0, 10), "b": (10, 30)}
    assert [one.cost_server_s for one in schedule.outcomes] == [5, 10]
    assert (schedule.missed, schedule.horizon_s, schedule.mean_response_s) == ((), 30, 20)
    assert schedule.effective_utilisation == 0.5
    assert schedule.peak_vms() == [1]


def test_a_job_is_lost_at_the_last_tick_at_which_it_could_start():
    """It must start by 27 s. The tick of 20 s is the last one before, and a runs to 40 s."""
    problem = problem_of(
        [job("a", 40.0, 1000.0), job("b", 10.0, 37.0, submitted_at_s=5.0)], POOLS, tick_s=10.0
    )
    choice, outcome = vm_choice(problem, problem.jobs[1])

    assert (choice.placed_at_s, choice.slot) == (20, None)
    assert (outcome.met, outcome.is_refused, outcome.least_deadline_at_s) == (False, False, 50)
    assert first_miss(problem) == "b"
    assert vm_aware(problem).missed == ("b",)


def test_with_exact_times_a_job_is_lost_at_its_last_start():
    problem = problem_of(
        [job("a", 40.0, 1000.0), job("b", 10.0, 37.0, submitted_at_s=5.0)], POOLS, tick_s=0.0
    )
    choice, _ = vm_choice(problem, problem.jobs[1])

    assert choice.placed_at_s == pytest.approx(27)


def test_a_job_that_no_idle_pool_can_serve_in_time_is_refused_at_its_arrival():
    problem = problem_of([job("slow", 10.0, 9.0), job("large", 1.0, 9.0, vms=2)], POOLS)
    slow, large = vm_aware(problem).outcomes

    assert (slow.is_refused, slow.least_deadline_at_s) == (True, 10)
    assert (large.is_refused, large.least_deadline_at_s) == (True, None)
    assert first_miss(problem) == "slow"


def test_no_miss_is_found_where_all_jobs_are_in_time():
    assert first_miss(problem_of([job("a", 10.0, 10.0), job("b", 10.0, 20.0)], POOLS)) is None


def test_a_job_that_may_not_wait_is_lost_where_others_wait():
    problem = problem_of([job("a", 10.0, 50.0), job("b", 10.0, 50.0)], POOLS)
    waiting, at_once = vm_aware(problem), vm_aware(starting_at_once(problem))

    assert waiting.missed == ()
    assert at_once.missed == ("b",)
    assert at_once.by_id["b"].why == "no VMs were free at its arrival"


def test_a_job_that_ends_early_gives_its_vm_back_at_once():
    """Its margin of a half is planned and not used. The arrival of c makes a new plan."""
    problem = problem_of(
        [
            job("a", 10.0, 50.0, error=0.5),
            job("b", 10.0, 50.0),
            job("c", 5.0, 50.0, submitted_at_s=10.0),
        ],
        POOLS,
    )

    assert times(vm_aware(problem)) == {"a": (0, 10), "b": (10, 20), "c": (20, 25)}


def test_an_overrun_is_planned_on_by_a_tenth_at_a_time():
    """Job a needs 13 s, not 10: at 10, 11 and 12 s one more second is planned each time.

    Job b must start by 12 s, and at 11 s that is still possible.
    """
    problem = problem_of([job("a", 10.0, 50.0), job("b", 10.0, 22.0)], POOLS)

    def needed_s(one, option):
        return 13.0 if one.job_id == "a" else option.predicted_s

    schedule = vm_aware(problem, actual_s=needed_s)
    overran, lost = schedule.outcomes
    assert (overran.finished_at_s, overran.overrun, overran.cost_server_s) == (13, True, 6.5)
    assert overran.why == "it ran longer than planned"
    assert (lost.started_at_s, lost.least_deadline_at_s) == (None, 23)

    patient = replace(problem, jobs=(problem.jobs[0], replace(problem.jobs[1], deadline_at_s=23.0)))
    assert times(vm_aware(patient, actual_s=needed_s)) == {"a": (0, 13), "b": (13, 23)}


def test_an_overrun_takes_whole_ticks():
    """A tick of 5 s after the planned end of 10 s; it ends with the tick after 11 s."""
    problem = problem_of([job("a", 10.0, 50.0), job("b", 10.0, 50.0)], POOLS, tick_s=5.0)
    schedule = vm_aware(problem, actual_s=lambda one, _: 11.0 if one.job_id == "a" else 10.0)

    assert times(schedule) == {"a": (0, 15), "b": (15, 25)}
    assert [one.overrun for one in schedule.outcomes] == [True, False]


def test_a_window_ends_with_the_job_that_decides_it():
    problem = problem_of([job("a", 10.0, 50.0), job("b", 20.0, 50.0)], POOLS)

    assert vm_aware(problem).windows[0] == (0, 0, 10, "a")


def test_nothing_happens_without_jobs():
    schedule = vm_aware(problem_of([], POOLS))

    assert (schedule.outcomes, schedule.horizon_s, schedule.mean_response_s) == ((), 0, None)
    assert (schedule.cost_per_job_server_s, schedule.effective_utilisation) == (None, None)
    assert schedule.peak_vms() == [0]


# --- jobs that run after others -------------------------------------------------------------------


def workflow(*jobs, after):
    return problem_of([replace(one, after=tuple(after.get(one.job_id, ()))) for one in jobs], POOLS)


@pytest.mark.parametrize("play", [vm_aware, instant_opt])
def test_a_job_arrives_when_the_last_job_that_it_runs_after_has_ended(play):
    jobs = [job("c", 5.0, 90.0), job("a", 10.0, 50.0), job("b", 20.0, 50.0)]
    schedule = play(workflow(*jobs, after={"c": ["a", "b"]}))

    assert {"a": (0, 10), "b": (10, 30), "c": (30, 35)} == times(schedule)
    assert (30, 5) == (schedule.by_id["c"].job.submitted_at_s, schedule.by_id["c"].response_s)


@pytest.mark.parametrize("play", [vm_aware, instant_opt])
def test_jobs_after_one_that_has_not_run_are_not_run(play):
    jobs = [job("a", 10.0, 9.0), job("b", 1.0, 50.0), job("c", 1.0, 50.0), job("d", 1.0, 50.0)]
    problem = workflow(*jobs, after={"b": ["a"], "c": ["b", "d"]})
    schedule = play(problem)

    assert ("a", "b", "c") == schedule.missed
    assert "job 'b', which it runs after, has not run" == schedule.by_id["c"].why
    with pytest.raises(Infeasible, match="job 'c' gets no VMs: job 'b'"):
        vm_choice(problem, problem.jobs[2])


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 60), st.sets(st.integers(0, 5), max_size=2)),
        min_size=2,
        max_size=6,
    )
)
def test_no_job_starts_before_those_that_it_runs_after_have_ended(drawn):
    jobs = [
        job(f"j{number}", float(length), 1000.0, submitted_at_s=float(at_s))
        for number, (length, at_s, _) in enumerate(drawn)
    ]
    after = {
        f"j{number}": [f"j{one}" for one in before if one < number]
        for number, (_, _, before) in enumerate(drawn)
    }
    found = times(vm_aware(workflow(*jobs, after=after)))

    assert len(jobs) == len(found)
    for name, before in after.items():
        assert all(found[one][1] <= found[name][0] for one in before)
    event(f"jobs that wait: {sum(map(bool, after.values()))}")
