"""RAS keeps time free before a goal: for the reduces of the job, and a margin for its last wave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluice
from sluice.policies.ras.utility import map_slots_needed

pytestmark = pytest.mark.no_invariants  # each run takes ten thousand decisions

PRINTED = {"ras.reserve_reduce": False, "ras.goal_margin": 0}


def job(job_id, *, deadline_s, maps):
    """Four maps fill the processor of a node; the reduces take a minute."""
    return {
        "id": job_id,
        "deadline_s": deadline_s,
        "maps": {"tasks": maps, "avg_s": 40},
        "reduces": {"tasks": 2, "avg_s": 60},
        "demand": {"map": {"cpu": 25}, "reduce": {"cpu": 20}},
    }


def ends_at_s(settings, seed=0):
    """When a job of 2,400 s of maps ends, whose goal is 800 s, next to one with a loose goal."""
    workload = {
        "version": 1,
        "cluster": {"nodes": 2, "node": {"cpu": 100, "io": 100, "memory": 100}},
        "settings": {"heartbeat_s": 1, "jitter": 0.1},
        "jobs": [job("a", deadline_s=800, maps=60), job("b", deadline_s=3600, maps=400)],
    }
    run = sluice.simulate(workload, tasks="ras", settings=settings, seed=seed)
    return run.jobs[0].finished_at_s


@pytest.mark.parametrize("seed", [0, 1])
def test_the_printed_estimator_misses_a_goal_by_its_reduces_and_the_default_meets_it(seed):
    printed_s = ends_at_s(PRINTED, seed)

    assert 800 < printed_s < 900
    assert ends_at_s({}, seed) < 800


def test_each_part_lets_the_job_end_earlier():
    printed_s = ends_at_s(PRINTED)

    assert ends_at_s({"ras.reserve_reduce": False}) < printed_s
    assert ends_at_s({"ras.goal_margin": 0}) < printed_s


def test_the_margin_counts_control_periods():
    """Three periods of 30 s are nine of 10 s to the estimator, up to the instants of the cycles."""
    assert ends_at_s({"ras.goal_margin": 9, "ras.period_s": 10}) < 800


@given(
    st.integers(1, 500), st.floats(1.0, 300.0), st.floats(1.0, 5000.0),
    st.floats(0.0, 600.0), st.floats(0.0, 600.0),
)  # fmt: skip
def test_more_time_kept_free_never_asks_for_fewer_slots(left, mean_s, goal_s, one_s, more_s):
    fewer = map_slots_needed(left, mean_s, goal_s, 0.0, one_s)

    assert 1 <= fewer <= map_slots_needed(left, mean_s, goal_s, 0.0, one_s + more_s) <= left
