"""The outcome of a job on pools: whether its deadline is met, and its response."""

import pytest

from sluice.planning.pools.problem import PoolJob
from sluice.planning.pools.schedule import PoolOutcome

JOB = PoolJob(
    job_id="a", order=0, submitted_at_s=7.0, arrives_at_s=10.0, deadline_at_s=100.0, options=()
)


@pytest.mark.parametrize(
    ("ended_at_s", "is_met"), [(100.0, True), (100.0 + 1e-8, True), (100.1, False), (None, False)]
)
def test_a_deadline_is_met_at_its_instant_up_to_rounding(ended_at_s, is_met):
    assert is_met is PoolOutcome(job=JOB, finished_at_s=ended_at_s).met


def test_a_response_counts_from_the_submission_and_not_from_the_tick():
    assert 93.0 == PoolOutcome(job=JOB, finished_at_s=100.0).response_s
    assert PoolOutcome(job=JOB).response_s is None
