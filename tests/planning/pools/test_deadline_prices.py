"""The cost of a deadline: prices that never rise, and jobs that should keep an earlier deadline."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from tests.planning.pool_problems import example, problems

from sluice.planning.pools import deadline_prices
from sluice.planning.pools.deadline_prices import earlier_deadlines, prices_of
from sluice.planning.pools.online import vm_aware


def relaxed(job_id="12", at_s=900.0):
    """The worked example, with a later deadline of one job."""
    problem = example()
    return replace(
        problem,
        jobs=tuple(
            replace(job, deadline_at_s=at_s) if job.job_id == job_id else job
            for job in problem.jobs
        ),
    )


def with_deadline(problem, job_id, at_s):
    jobs = tuple(
        replace(job, deadline_at_s=at_s) if job.job_id == job_id else job for job in problem.jobs
    )
    return replace(problem, jobs=jobs)


def test_a_later_deadline_that_makes_all_jobs_dearer_is_found():
    """Relaxing job 12 from 460 to 900 s raises 25,873.00 to 26,330.76 server-seconds."""
    schedule = vm_aware(relaxed())
    found = {one.job_id: one for one in earlier_deadlines(schedule)}

    assert 26_330.76 == round(schedule.total_cost_server_s, 2)
    assert (900.0, 450.0, 25_873.0) == (
        found["12"].deadline_at_s, found["12"].planned_at_s, round(found["12"].total_server_s, 2),
    )  # fmt: skip


def test_no_earlier_deadline_makes_the_worked_example_cheaper():
    assert [] == earlier_deadlines(vm_aware(example()), is_thorough=True)


def test_the_price_of_a_job_is_what_it_adds_to_the_cost_of_all():
    problem = example()
    (job,) = (one for one in problem.jobs if one.job_id == "9")
    others = replace(problem, jobs=tuple(one for one in problem.jobs if one is not job))
    prices = {one.deadline_at_s: one for one in prices_of(problem, job)}
    added = vm_aware(problem).total_cost_server_s - vm_aware(others).total_cost_server_s

    assert added == pytest.approx(prices[job.deadline_at_s].price_server_s)
    assert prices[1125.0].price_server_s < added < prices[559.0].price_server_s


def test_a_replay_changes_the_deadline_of_one_job_to_an_earlier_one(monkeypatch):
    """Another replay would find the same schedule, and where jobs are many only some are made.

    Job 12 has the deadline at which one of the clusters that it may have ends.
    """
    schedule, replayed = vm_aware(relaxed(at_s=450.0)), []

    def replay(problem):
        replayed.append(problem)
        return vm_aware(problem)

    monkeypatch.setattr(deadline_prices, "vm_aware", replay)
    earlier_deadlines(schedule, is_thorough=True)

    assert replayed
    for problem in replayed:
        pairs = zip(schedule.problem.jobs, problem.jobs, strict=True)
        ((was, now),) = ((was, now) for was, now in pairs if was != now)
        assert now.deadline_at_s < was.deadline_at_s


@settings(max_examples=60)
@given(problem=problems())
def test_prices_never_rise_with_a_later_deadline(problem):
    """And they can be kept: planned so, the job is in time and all jobs cost as much as is said."""
    rises = 0
    for job in problem.jobs:
        prices = prices_of(problem, job)
        for before, after in pairwise(prices):
            assert before.deadline_at_s < after.deadline_at_s
            assert after.price_server_s <= before.price_server_s
            rises += after.own_total_server_s > before.own_total_server_s + 1e-6
        for one in prices:
            made = vm_aware(with_deadline(problem, job.job_id, one.planned_at_s))
            assert one.planned_at_s <= one.deadline_at_s
            assert made.total_cost_server_s == pytest.approx(one.total_server_s)
            ended_s = made.by_id[job.job_id].finished_at_s
            assert ended_s is not None
            assert ended_s <= one.deadline_at_s + 1e-6
    event(f"totals that rise: {min(rises, 3)}")


@settings(max_examples=60)
@given(problem=problems())
def test_an_earlier_deadline_costs_less_and_misses_no_more(problem):
    schedule = vm_aware(problem)
    for one in earlier_deadlines(schedule, is_thorough=True):
        made = vm_aware(with_deadline(problem, one.job_id, one.planned_at_s))
        assert one.planned_at_s < one.deadline_at_s
        assert made.total_cost_server_s == pytest.approx(one.total_server_s)
        assert made.missed == one.missed
        assert made.by_id[one.job_id].met
        less = (len(made.missed), made.total_cost_server_s)
        assert less < (len(schedule.missed), schedule.total_cost_server_s)
