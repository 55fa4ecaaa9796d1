"""The facts that the intake of a service still knows of jobs that are forgotten."""

import json
import time
import tracemalloc
import zlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from sluice.bootstrap.service.intake import QueuedIntake
from sluice.bootstrap.service.kept_answers import KEYS_S, KeptAnswer, answer_of
from sluice.bootstrap.service.quotas import DAY_S, used_of
from sluice.bootstrap.service.replica import Replica
from sluice.core.state import ClusterState
from sluice.engines.job_runner import JobRunner
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.store.service.submissions import SubmittedJob, SubmittedWorkload

JOB = Job(job_id="job-000001", pool="p", phases=(Phase(name="map", kind=SlotKind.MAP, tasks=3),))
WORKLOAD = SubmittedWorkload(
    tenant="ann",
    key="k",
    digest="abc",
    made_at_s=0.0,
    at_s=0.0,
    jobs=(
        SubmittedJob(
            job=JOB, name="nightly", prepared={"output": "out"},
            promise={"cost_usd": {"expected": 2.0}},
        ),
    ),
)  # fmt: skip


INTERVAL = dict.fromkeys(("expected", "low", "high"), "2026-04-05T06:07:08.910Z")
PROMISE = {
    "promise_id": "promise-job-000123", "job_id": "job-000123", "tenant": "ann",
    "made_at": "2026-04-05T06:07:08.910Z", "as_of_seq": 12345, "decision": "accepted",
    "why_not": None, "starts_at": INTERVAL, "ends_at": INTERVAL, "level": 0.9,
    "cost_usd": {"expected": 0.25, "low": 0.125, "high": 0.5}, "price_rule": None,
    "deadline_at": None, "deadline_probability": None, "deadline_guaranteed": False,
    "reason": None, "counter_offers": [],
    "basis": {"profile": "etl", "runs": 3, "model": "past runs", "replications": 20},
}  # fmt: skip
CONFIG = SimpleNamespace(open_jobs_max=10, disk_percent_max=90.0)


@pytest.fixture
def intake(tmp_path):
    """Of a state without jobs."""
    return QueuedIntake(ClusterState(), JobRunner((), tmp_path), None, CONFIG)


def remember(intake, age_s):
    """A submission of some time ago, whose job is forgotten."""
    intake.remember(replace(WORKLOAD, made_at_s=time.time() - age_s))
    intake.forget([JOB.job_id])


def test_a_job_that_is_not_forgotten_is_open(intake):
    intake.remember(replace(WORKLOAD, made_at_s=time.time() - 2 * DAY_S))
    used = used_of(intake._of_tenant("ann"))
    assert used == {"open_jobs_max": 1, "waiting_tasks_max": 3, "spend_day_usd_max": 0}


def test_a_forgotten_job_counts_for_a_day_by_what_it_costs(intake):
    remember(intake, 10.0)
    used = used_of(intake._of_tenant("ann"))
    assert used == {"open_jobs_max": 0, "waiting_tasks_max": 0, "spend_day_usd_max": 2.0}
    assert not intake._costs
    assert used_of(intake._of_tenant("bob"))["spend_day_usd_max"] == 0
    remember(intake, DAY_S + 70.0)
    assert used_of(intake._of_tenant("ann")) == used


def test_what_was_spent_is_saved_and_is_as_much_for_many_jobs(intake):
    for _ in range(1000):
        remember(intake, 10.0)
    saved = json.loads(json.dumps(intake.saved(())))
    assert len(saved["spent"]) <= 2
    intake.restored(saved)
    assert used_of(intake._of_tenant("ann"))["spend_day_usd_max"] == 2000.0
    intake.restored(saved | {"spent": [["ann", int((time.time() - DAY_S) // 60) - 1, 9.0]]})
    assert used_of(intake._of_tenant("ann"))["spend_day_usd_max"] == 0
    intake.forget([])
    assert intake.saved(())["spent"] == []


def test_costs_of_an_opening_of_an_older_release_count(intake):
    """It has those of all jobs one by one, also of forgotten ones."""
    saved = intake.saved(())
    del saved["spent"]
    intake.restored(saved | {"costs": [["job-000001", "ann", 2.0, time.time()]]})
    assert used_of(intake._of_tenant("ann"))["spend_day_usd_max"] == 2.0
    intake.forget([])
    assert used_of(intake._of_tenant("ann"))["spend_day_usd_max"] == 2.0
    assert not intake._costs


def test_answers_are_kept_in_little_room():
    """Also one that an older release has kept can be read."""
    workload = replace(WORKLOAD, jobs=(replace(WORKLOAD.jobs[0], promise=PROMISE),))
    kept = KeptAnswer.of(workload)
    assert len(kept.answer) < 200
    expected = answer_of(workload) | {"is_repeated": True}
    assert kept.repeated("abc") == KeptAnswer.of_plain(*kept.plain()).repeated("abc") == expected
    old = zlib.compress(json.dumps(answer_of(workload)).encode())
    assert replace(kept, answer=old).repeated("abc") == expected


def test_a_follower_keeps_promises_in_little_room_and_reads_them_as_they_were():
    line = WORKLOAD.line().replace('{"cost_usd": {"expected": 2.0}}', json.dumps(PROMISE))
    replica = SimpleNamespace(_at_s=[], _wall_s=[], jobs={}, submitted=[], _unended={}, _to_come={})

    def take(number):
        workload = SubmittedWorkload.of(line.replace("job-000001", f"job-{number}"))
        Replica._take_jobs(replica, workload, workload.jobs)

    tracemalloc.start()
    try:
        for number in range(200):
            take(number)
        job_bytes = tracemalloc.get_traced_memory()[0] / 200
    finally:
        tracemalloc.stop()
    assert {**replica.jobs["job-7"].submitted.promise} == PROMISE
    assert replica.jobs["job-7"].submitted.promise == PROMISE
    assert job_bytes < 2500  # 5200 with parsed promises


def test_a_key_is_kept_for_a_week(intake):
    remember(intake, KEYS_S - 60.0)
    kept = intake._by_key["ann", "k"]
    assert kept.repeated("abc") == {
        "jobs": [{"job_id": "job-000001", "name": "nightly", "cost_usd": {"expected": 2.0}}],
        "is_repeated": True,
    }
    with pytest.raises(InvalidInput, match="the key was used for other jobs"):
        kept.repeated("other")
    remember(intake, KEYS_S + 60.0)
    assert kept.is_old(kept.made_at_s + KEYS_S)
    intake._by_key["ann", "k"] = replace(kept, made_at_s=time.time() - KEYS_S - 60.0)
    intake.forget([])
    assert not intake._by_key
