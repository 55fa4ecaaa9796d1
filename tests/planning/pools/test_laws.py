"""The laws that hold for every schedule on VM pools, whatever the jobs."""

import math
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.planning.pool_problems import PairwisePass, example, over_capacity, problems

from sluice.planning.pools import vm_aware as scheduler
from sluice.planning.pools.baselines import dedicated, per_job
from sluice.planning.pools.free_vms import FreeVms
from sluice.planning.pools.online import instant_opt, starting_at_once, vm_aware
from sluice.planning.pools.packing import servers_needed

FEW = settings(max_examples=40)


def rows(schedule):
    """The decisions of a schedule, to compare two schedules."""
    return [
        (one.job.job_id, one.option and (one.option.pool, one.option.vms), one.started_at_s)
        for one in schedule.outcomes
    ]


@FEW
@given(problems())
def test_no_pool_lends_more_vms_than_it_has(problem):
    for schedule in (vm_aware(problem), instant_opt(problem), vm_aware(starting_at_once(problem))):
        assert [] == over_capacity(schedule)
        event(f"{schedule.policy}: missed {bool(schedule.missed)}")


@FEW
@given(problems())
def test_no_job_starts_before_it_arrives_and_none_that_runs_is_late(problem):
    for schedule in (vm_aware(problem), instant_opt(problem), per_job(problem), dedicated(problem)):
        for one in schedule.outcomes:
            started_s = math.inf if one.started_at_s is None else one.started_at_s
            assert started_s >= one.job.submitted_at_s
            assert one.met == (one.option is not None)
            assert one.met or one.why


@FEW
@given(problems())
def test_the_same_problem_gives_the_same_schedule(problem):
    assert rows(vm_aware(problem)) == rows(vm_aware(problem))


@FEW
@given(problems(tick_s=0.0))
def test_exact_times_break_no_rule(problem):
    schedule = vm_aware(problem)

    assert [] == over_capacity(schedule)
    assert all(one.met == (one.option is not None) for one in schedule.outcomes)


@FEW
@given(problems())
def test_rooms_give_the_same_decisions_as_all_pair_costs(problem):
    """The fast pass leaves pairs out; the other computes each of them at each step."""
    fast = rows(vm_aware(problem))
    with mock.patch.object(scheduler, "ReservationPass", PairwisePass):
        plain = rows(vm_aware(problem))

    assert plain == fast
    event(f"jobs that ran: {sum(one[1] is not None for one in fast)}")


def test_rooms_give_the_same_decisions_in_the_example():
    with mock.patch.object(scheduler, "ReservationPass", PairwisePass):
        assert rows(vm_aware(example())) == rows(vm_aware(example()))


def test_the_guard_is_needed():
    """Without it job 11 takes the VMs that job 12 needs: exactly one miss (E8)."""

    def unguarded(one_pass, chosen):
        return scheduler.Booking(chosen.job, chosen.slot)

    with mock.patch.object(scheduler.ReservationPass, "_guarded", unguarded):
        assert ("12",) == vm_aware(example()).missed


@FEW
@given(problems())
def test_a_running_job_is_never_moved(problem):
    """Whatever is planned later, a job ends where it was started."""
    seen = {}
    finish = scheduler.VmAwareScheduler.finish

    def watched(self, order, now_s):
        seen[order] = (self.running[order].slot.start_s, now_s)
        return finish(self, order, now_s)

    with mock.patch.object(scheduler.VmAwareScheduler, "finish", watched):
        schedule = vm_aware(problem, reconfigures=True)

    ran = [one for one in schedule.outcomes if one.option is not None]
    assert {one.job.order: (one.started_at_s, one.finished_at_s) for one in ran} == seen


@FEW
@given(problems(), st.floats(0.3, 1.0))
def test_jobs_that_end_early_give_their_vms_back(problem, factor):
    early = vm_aware(problem, actual_s=lambda _, option: option.predicted_s * factor)

    assert [] == over_capacity(early)
    assert all(one.met == (one.option is not None) for one in early.outcomes)


@FEW
@given(problems(), st.floats(1.0, 2.5))
def test_a_job_that_overruns_keeps_its_vms_and_is_reported(problem, factor):
    schedule = vm_aware(problem, actual_s=lambda _, option: option.predicted_s * factor)

    assert [] == over_capacity(schedule)
    for one in schedule.outcomes:
        assert one.met or one.why
    event(f"overruns: {any(one.overrun for one in schedule.outcomes)}")


@FEW
@given(problems())
def test_pools_never_outgrow_their_servers(problem):
    """Also while pools change: the units in use fit on the servers at every instant."""
    schedule = vm_aware(problem, reconfigures=True)
    event(f"changed: {any(change.done for change in schedule.changes)}")
    whole = problem.servers * problem.server_units
    for change in schedule.changes:
        sizes = [change.sizes[one.type_id] for one in problem.types]
        assert servers_needed(sizes, problem.units, problem.server_units) <= problem.servers
    changes = sorted(
        (at_s, sign * one.option.vms * problem.units[one.option.pool])
        for one in schedule.outcomes
        if one.option is not None
        for at_s, sign in ((one.started_at_s, 1), (one.finished_at_s, -1))
    )
    used = 0.0
    for _, units in changes:
        used += units
        assert used <= whole + 1e-9


@FEW
@given(problems())
def test_the_counter_offer_of_a_refused_job_is_accepted(problem):
    """With the deadline it was offered, among the jobs before it, the job runs and meets it."""
    for one in vm_aware(problem).outcomes:
        if not one.is_refused or one.least_deadline_at_s is None:
            continue
        event("refused")
        job = replace(one.job, deadline_at_s=one.least_deadline_at_s)
        before = [each for each in problem.jobs if _came(each) < _came(job)]
        assert job.job_id not in vm_aware(replace(problem, jobs=(*before, job))).missed


def _came(job):
    return (job.arrives_at_s, job.order)


def test_a_job_that_no_idle_pool_can_serve_is_refused_with_an_offer():
    problem = example()
    hasty = replace(problem.jobs[0], deadline_at_s=20.0)
    outcome = vm_aware(replace(problem, jobs=(hasty,))).by_id["1"]

    assert (True, 27.0) == (outcome.is_refused, outcome.least_deadline_at_s)


def test_a_bounded_window_ends_after_its_bound():
    problem = example()
    bounded = replace(problem, pools=replace(problem.pools, bound_s=50.0))

    assert all(ends_s <= at_s + 50 for _, at_s, ends_s, _ in vm_aware(bounded).windows)
    assert [] == over_capacity(vm_aware(bounded))


# --- free VMs and packing -------------------------------------------------------------------------

spans = st.tuples(st.integers(0, 30), st.integers(1, 15), st.integers(1, 4))


@given(st.lists(spans, max_size=12), spans, st.integers(0, 30))
def test_the_earliest_start_is_that_of_trying_every_second(taken, wanted, latest_s):
    pool = FreeVms(6)
    for start_s, length_s, vms in taken:
        if pool.least(start_s, start_s + length_s) >= vms:
            pool.add(float(start_s), float(start_s + length_s), -vms)
    from_s, length_s, vms = wanted

    tried = [
        at_s for at_s in range(from_s, latest_s + 1) if pool.least(at_s, at_s + length_s) >= vms
    ]
    assert (float(tried[0]) if tried else None) == pool.earliest(vms, length_s, from_s, latest_s)


@given(st.lists(spans, min_size=1, max_size=12))
def test_what_is_given_back_is_as_if_never_taken(taken):
    pool = FreeVms(6)
    for start_s, length_s, vms in taken:
        pool.add(float(start_s), float(start_s + length_s), -vms)
    for start_s, length_s, vms in reversed(taken):
        pool.add(float(start_s), float(start_s + length_s), vms)

    assert ([-math.inf], [6]) == (pool.times, pool.free)


def first_fit(counts, units, server_units):
    """First fit by decreasing units, VM by VM."""
    free: list[float] = []
    for pool in sorted(range(len(counts)), key=lambda place: -units[place]):
        for _ in range(counts[pool]):
            place = next((n for n, left in enumerate(free) if left >= units[pool]), None)
            if place is None:
                free.append(server_units)
                place = len(free) - 1
            free[place] -= units[pool]
    return len(free)


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4), st.permutations([2, 3, 5, 8]))
def test_packing_in_groups_is_packing_one_by_one(counts, units):
    assert first_fit(counts, units, 12) == servers_needed(counts, units, 12)


@pytest.mark.parametrize("compared_max", [1, 3, 40])
def test_groups_of_any_size_keep_all_rules(compared_max):
    schedule = vm_aware(example(), compared_max=compared_max)

    assert [] == over_capacity(schedule)
    assert len(schedule.missed) <= 3
