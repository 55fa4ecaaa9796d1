"""RAS where nodes state only slots: nothing that can start waits for the next control cycle."""

import pytest
from tests.cli.terminal import sluice as command
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


@pytest.mark.parametrize(("is_between", "ends_at_s"), [(True, 2.0), (False, 31.0)])
def test_a_job_that_comes_between_cycles_starts_in_a_free_slot_or_at_the_next(
    is_between, ends_at_s
):
    jobs = [
        map_reduce("a", maps=4, map_s=3.0, reduces=1, reduce_s=1.0),
        map_reduce("b", maps=1, map_s=1.0, at_s=1.0),
    ]

    ends = ends_s(jobs, period_s=30.0, between_cycles=is_between)

    assert {"a": 4.0, "b": ends_at_s} == ends


def test_more_reduces_than_slots_follow_each_other_without_a_cycle():
    jobs = [map_reduce("a", maps=5, map_s=2.0, reduces=9, reduce_s=6.5)]

    assert ends_s(jobs) == {"a": 2.0 + 2 * 6.5}


def test_a_job_fills_slots_that_another_holds_elsewhere():
    """Job slots of running maps may go to a job that comes; it starts where slots are free."""
    jobs = [map_reduce("a", maps=9, map_s=4.3), map_reduce("b", maps=2, map_s=9.1, at_s=1.3)]
    state = simulate(even_nodes(3, 2, 3), jobs, Ras(Ras.Settings()))

    assert {str(job.job_id): job.finished_at_s for job in state.jobs.values()} == {
        "a": 4.3,
        "b": pytest.approx(10.4),
    }


def test_why_names_the_slots_where_all_are_busy(tmp_path):
    """A job that came after the last cycle takes the first slot that is free, before the next."""
    job = "maps: {tasks: 2, avg_s: 5}, reduces: {tasks: 1, avg_s: 3}"
    (tmp_path / "w.yaml").write_text(
        "version: 1\ncluster: {containers: 1}\njobs:\n"
        f"  - {{id: a, {job}}}\n  - {{id: b, submitted_at_s: 1, {job}}}\n",
        encoding="utf-8",
    )
    asked = ("--file", tmp_path / "w.yaml", "--tasks", "ras", "--at-s", "2")

    said = " ".join(command("why", "b", *asked).out.split())

    assert "slots is short on 1 of 1 nodes" in said
    assert "2 tasks of the previous phase are not done" in said
    assert "no node has a reduce slot" not in said
