"""Jobs that run after other jobs: never before they are done, under every scheduler."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluice

SCHEDULERS = (
    "fifo", "fair", "dynamicmr", "ltyarn", "karma", "yarn-like", "queue-tree", "ltrf",
    "order=deadline+goals=guarded+slots=lent+copies=late", "order=fair+slots=easy",
)  # fmt: skip


def workload(jobs, **more):
    document = {"version": 1, "cluster": {"nodes": 2, "node": {"map_slots": 2, "reduce_slots": 1}}}
    return sluice.parse_workload(json.dumps(document | {"jobs": jobs} | more))


def job(name, after=(), tasks=2, avg_s=5, **more):
    return {"id": name, "after": list(after), "maps": {"tasks": tasks, "avg_s": avg_s}} | more


CHAIN = [
    job("extract", tasks=8, avg_s=10),
    job("clean", ["extract"], tasks=4),
    job("other", tasks=4, avg_s=7, submitted_at_s=3),
    job("report", ["clean", "other"], avg_s=3, deadline_s=40),
]


def test_a_job_is_submitted_when_the_last_job_before_it_is_done():
    found = {str(one.job_id): one for one in sluice.simulate(workload(CHAIN)).jobs}

    # Four slots: extract until 20, other until 27 in front of clean (32), then report.
    assert [found[name].finished_at_s for name in ("extract", "other", "clean", "report")] == [
        20, 27, 32, 35
    ]  # fmt: skip
    assert found["clean"].submitted_at_s == 20
    assert found["clean"].response_s == 12
    assert found["report"].submitted_at_s == 32
    assert found["report"].deadline_at_s == 43  # from 3 on, when `other` is submitted
    assert found["report"].deadline_met


@st.composite
def graphs(draw):
    count = draw(st.integers(2, 9))
    return [
        job(
            f"j{number}",
            [f"j{one}" for one in range(number) if draw(st.integers(0, 3)) == 0],
            tasks=draw(st.integers(1, 5)),
            avg_s=draw(st.sampled_from([1, 2.5, 7])),
            submitted_at_s=draw(st.sampled_from([0, 0, 4, 11])),
            driver_s=draw(st.sampled_from([0, 0, 1.5])),
            deadline_s=draw(st.sampled_from([30, 200])),
        )
        for number in range(count)
    ]


@settings(max_examples=40, deadline=None)
@given(graphs(), st.sampled_from(SCHEDULERS), st.sampled_from([0.0, 0.7]))
def test_no_job_starts_before_those_that_it_runs_after(jobs, tasks, heartbeat_s):
    result = sluice.simulate(
        workload(jobs), tasks=tasks, settings={"heartbeat_s": heartbeat_s, "p_slow": 0.2}
    )

    found = {str(one.job_id): one for one in result.jobs}
    assert {"done"} == {one.state for one in found.values()}
    assert len(found) == len(jobs)
    for given_job in jobs:
        own = found[given_job["id"]]
        ends = [found[name].finished_at_s or -1.0 for name in given_job["after"]]
        earliest_s = max([given_job["submitted_at_s"], *ends])
        assert own.submitted_at_s >= earliest_s
        if ends and max(ends) >= given_job["submitted_at_s"]:
            assert own.submitted_at_s == max(ends)
        assert own.started_at_s >= own.submitted_at_s + given_job["driver_s"]


def test_jobs_after_one_that_admission_refuses_never_run_and_say_why():
    jobs = [
        job("late", tasks=30, deadline_s=1), job("next", ["late"], deadline_s=900),
        job("last", ["next"], deadline_s=900),
    ]  # fmt: skip
    result = sluice.simulate(workload(jobs), tasks="yarn-like", admission="capacity")
    found = {str(one.job_id): one for one in result.jobs}

    assert found["late"].state == "refused"
    assert found["next"].state == "killed"
    assert found["next"].reason == "it runs after late, which was refused"
    assert found["last"].reason == "it runs after next, which was killed"
    assert found["last"].finished_at_s == found["late"].finished_at_s
    assert not list(result.attempts)


@pytest.mark.parametrize(
    ("at_s", "job_id", "said"),
    [
        (12, "report", "it runs after clean, which is not done, and after 1 more job"),
        (30, "report", "it runs after clean, which is not done"),
        (1, "other", "it is submitted later"),
    ],
)
def test_why_says_which_jobs_are_not_done(at_s, job_id, said):
    answer = sluice.why(job_id, source=workload(CHAIN), at_s=at_s)

    assert answer.document()["state"] == "not submitted"
    assert answer.reason.text() == said
    assert answer.document()["phases"] == []


def test_compare_counts_the_slowdown_of_a_job_from_the_end_of_those_before_it():
    compared = sluice.compare(workload(CHAIN), schedulers=["fifo", "fair"], seeds=2)

    first = compared.document()["rows"][0]
    assert first["makespan_s"] == 35
    assert first["mean_response_s"] == (20 + 24 + 12 + 3) / 4
