"""Why a job gets its VMs: the answer agrees with the schedule and with the pools."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.planning.pool_problems import example, problems

from sluice.planning.pools.choice import Verdict
from sluice.planning.pools.online import starting_at_once, vm_aware, vm_choice

LOST = {Verdict.TOO_LATE, Verdict.TOO_SLOW, Verdict.TOO_LARGE, Verdict.AFTER_START}


@settings(max_examples=40)
@given(problems())
def test_the_choice_is_that_of_the_schedule_and_nothing_cheaper_was_possible(problem):
    """A cheaper cluster is too slow, too late, too large, or outside the windows."""
    schedule = vm_aware(problem)
    for job in problem.jobs:
        choice, outcome = vm_choice(problem, job)
        assert outcome == schedule.by_id[job.job_id]
        assert len(job.options) == len(choice.alternatives)
        if outcome.option is None:
            assert {one.verdict for one in choice.alternatives} <= LOST
            event("lost")
            continue
        (chosen,) = (one for one in choice.alternatives if one.verdict is Verdict.CHOSEN)
        assert (chosen.option, chosen.start_s) == (outcome.option, outcome.started_at_s)
        cheaper = [one for one in choice.alternatives if one.option.level < chosen.option.level]
        assert {one.verdict for one in cheaper} <= LOST | {Verdict.AFTER_WINDOW}
        event(f"cheaper after the window: {any(one.verdict not in LOST for one in cheaper)}")
        if choice.freed_by:
            ends = {schedule.by_id[name].finished_at_s for name in choice.freed_by}
            assert ends == {chosen.start_s}
            event("waits for the end of another job")


@settings(max_examples=40)
@given(problems(), st.booleans())
def test_a_cluster_that_is_too_slow_or_late_ends_after_the_deadline(problem, at_once):
    """The instant at which a cluster ends, which is shown next to its verdict, agrees with it."""
    if at_once:
        jobs = [replace(job, start_by_s=job.arrives_at_s) for job in problem.jobs]
        problem = replace(problem, jobs=tuple(jobs))
    for job in problem.jobs:
        choice, _ = vm_choice(problem, job)
        for one in choice.alternatives:
            if one.verdict in {Verdict.TOO_LATE, Verdict.TOO_SLOW}:
                assert one.end_s > job.deadline_at_s
            event(one.verdict.name)


@settings(max_examples=20)
@given(problems(tick_s=0.0))
def test_exact_times_and_immediate_service_are_explained_too(problem):
    at_once = starting_at_once(problem)
    for job in at_once.jobs:
        choice, outcome = vm_choice(at_once, job)
        assert (choice.slot is None) == (outcome.option is None)


def test_the_guard_books_job_12_after_the_window():
    """Job 11 would have made job 12 miss its deadline (erratum E8)."""
    problem = example()
    choice, _ = vm_choice(problem, problem.jobs[11])

    assert ("3", 264.0) == (choice.decider, choice.window_s)
    assert choice.slot is not None
    assert choice.slot.start_s > 264.0
    assert ("6",) == choice.freed_by
