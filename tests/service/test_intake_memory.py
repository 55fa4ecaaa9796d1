"""What the intake of a service still knows of jobs that are forgotten."""

import time
from dataclasses import replace

import pytest

from sluice.bootstrap.service.intake import QueuedIntake
from sluice.bootstrap.service.kept_answers import KEYS_S
from sluice.bootstrap.service.quotas import DAY_S, used_of
from sluice.core.state import ClusterState
from sluice.engines.job_runner import JobRunner
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase, SlotKind
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


@pytest.fixture
def intake(tmp_path):
    """Of a state without jobs."""
    return QueuedIntake(ClusterState(), JobRunner((), tmp_path), None, 10)


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
    remember(intake, DAY_S + 10.0)
    assert not intake._costs


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
