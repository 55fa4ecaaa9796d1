"""RAS where nodes state only slots: nothing that can start waits for the next control cycle."""

import pytest
from tests.runs import even_nodes, map_reduce, simulate

from sluice.policies.ras.policy import Ras


def ends_s(jobs, **settings):
    state = simulate(even_nodes(2, 2, 1), jobs, Ras(Ras.Settings(**settings)))
    return {str(job.job_id): job.finished_at_s for job in state.jobs.values()}


@pytest.mark.parametrize("aim", ["utility", "goals"])
def test_reduces_start_when_the_last_map_ends(aim):
    jobs = [map_reduce("a", maps=4, map_s=3.0, reduces=2, reduce_s=3.5)]

    assert ends_s(jobs, aim=aim) == {"a": 6.5}


def test_each_of_two_jobs_goes_on_when_its_own_maps_end():
    jobs = [
        map_reduce("a", maps=2, map_s=3.0, reduces=1, reduce_s=1.0),
        map_reduce("b", maps=2, map_s=5.0, reduces=1, reduce_s=1.0),
    ]

    assert ends_s(jobs) == {"a": 4.0, "b": 6.0}


@pytest.mark.parametrize(("is_between", "ends_at_s"), [(True, 4.0), (False, 31.0)])
def test_a_job_that_comes_between_cycles_waits_for_a_slot_or_the_next(is_between, ends_at_s):
    jobs = [
        map_reduce("a", maps=4, map_s=3.0, reduces=1, reduce_s=1.0),
        map_reduce("b", maps=1, map_s=1.0, at_s=1.0),
    ]

    ends = ends_s(jobs, period_s=30.0, between_cycles=is_between)

    assert {"a": 4.0, "b": ends_at_s} == ends
