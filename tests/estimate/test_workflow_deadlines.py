"""Deadlines shared out to the jobs before: by hand, and what always holds."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import sluice
from sluice.estimate.workflow_deadlines import with_shared_deadlines


def shared(jobs):
    cluster = {"map_slots": 1, "reduce_slots": 0}
    document = {"version": 1, "cluster": cluster, "jobs": jobs}
    workload = sluice.parse_workload(json.dumps(document))
    return {str(job.job_id): job for job in with_shared_deadlines(workload.jobs, workload.cluster)}


def job(name, length_s, after=(), **more):
    return {"id": name, "after": list(after), "maps": {"tasks": 1, "avg_s": length_s}} | more


def test_a_chain_gets_shares_in_proportion_to_its_lengths():
    found = shared([job("a", 10), job("b", 20, ["a"]), job("c", 30, ["b"], deadline_s=120)])

    assert found["a"].deadline_at_s == 20
    assert found["b"].deadline_at_s == 60
    assert found["c"].deadline_at_s == 120
    assert found["a"].shares_deadline_of == "c"
    assert found["a"].own_deadline_at_s is None
    assert found["c"].own_deadline_at_s == 120


def test_jobs_before_one_job_are_due_together_and_for_the_earliest_that_needs_them():
    found = shared(
        [
            job("short", 1), job("long", 10), job("own", 1, deadline_s=3),
            job("join", 10, ["short", "long", "own"], deadline_s=100),
            job("urgent", 1, ["short"], deadline_s=4), job("free", 5),
        ]
    )  # fmt: skip

    assert found["long"].deadline_at_s == 50
    assert found["short"].deadline_at_s == 2
    assert found["own"].deadline_at_s == 3
    assert found["free"].deadline_at_s is None


def test_without_lengths_all_jobs_count_as_equally_long():
    run = {"input": ["in"], "output": "out", "mapper": "cat"}
    found = shared([{"id": "a", "run": run}, job("b", 50, ["a"], deadline_s=100)])

    assert found["a"].deadline_at_s == 50


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_job_is_due_after_one_that_runs_after_it(data):
    jobs = []
    for number in range(data.draw(st.integers(2, 8))):
        after = [f"j{one}" for one in range(number) if data.draw(st.booleans())]
        more = {"deadline_s": 500} if number and data.draw(st.booleans()) else {}
        jobs.append(job(f"j{number}", data.draw(st.integers(1, 20)), after, **more))
    found = shared(jobs)

    for one in found.values():
        for name in one.after:
            before = found[name]
            if one.deadline_at_s is None or before.own_deadline_at_s is not None:
                continue
            assert before.deadline_at_s is not None
            assert before.deadline_at_s < one.deadline_at_s
