"""A real run, put into the simulator again, gives the same run, or that of another scheduler."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.runs import even_nodes, map_reduce, totals
from tests.simulation.worlds import chain
from tests.strategies import job_lists

import sluice
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

JOBS = tuple(map_reduce(f"j{n}", 9 + n, 5.0, 3, 4.0, pool=f"p{n}", at_s=n * 3.0) for n in range(4))
CLUSTERS = {
    "totals": totals(5, 2),
    "nodes": even_nodes(3, 2, 1),
    "racks": even_nodes(4, 1, 1, racks=2),
}


def replayed(folder, workload, first, **how):
    path = folder / "trace.jsonl"
    path.write_text("".join(f"{line}\n" for line in first.trace()))
    return sluice.simulate(workload, lengths_from=path, **how)


def ends_s(result):
    return {job.job_id: job.finished_at_s for job in result.jobs}


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("tasks", ["fifo", "fair", "yarn-like"])
@pytest.mark.parametrize("heartbeat_s", [0.0, 2.0])
def test_a_run_replayed_under_its_own_scheduler_is_the_run(tmp_path, cluster, tasks, heartbeat_s):
    """Also with racks, where what a task took depends on how far it ran from its input."""
    workload = Workload(cluster=CLUSTERS[cluster], jobs=JOBS)
    world = {"heartbeat_s": heartbeat_s, "replicas": 1}
    first = sluice.simulate(workload, tasks=tasks, settings=world | {"jitter": 0.4}, seed=3)
    again = replayed(tmp_path, workload, first, tasks=tasks, settings=world, seed=3)

    assert ends_s(first) == pytest.approx(ends_s(again), rel=1e-12)
    plain = sluice.simulate(workload, tasks=tasks, settings=world, seed=3)
    assert ends_s(first) != pytest.approx(ends_s(plain)), "the lengths do matter"


@settings(max_examples=30, deadline=None)
@given(job_lists(jobs_max=4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 9))
def test_a_replay_ends_when_the_run_did(tmp_path_factory, jobs, map_slots, reduce_slots, seed):
    workload = Workload(cluster=totals(map_slots, reduce_slots), jobs=tuple(jobs))
    first = sluice.simulate(workload, settings={"spread": "gamma"}, seed=seed)
    event(f"jobs: {len(jobs)}")
    again = replayed(tmp_path_factory.mktemp("replay"), workload, first)

    assert ends_s(first) == pytest.approx(ends_s(again), rel=1e-9)


def test_stragglers_are_replayed_as_lengths_without_drawing_them_again(tmp_path):
    workload = Workload(cluster=totals(5, 2), jobs=JOBS)
    first = sluice.simulate(workload, settings={"p_slow": 0.3}, seed=1)

    assert ends_s(first) == pytest.approx(ends_s(replayed(tmp_path, workload, first)))


def test_fetching_is_not_replayed_as_work(tmp_path):
    """A reduce of 5 s that waited and fetched until 16 took 5 s, with slow start and without."""
    job = chain("j", (SlotKind.MAP, 4, 7.0), (SlotKind.REDUCE, 1, 5.0, 9.0))
    workload = Workload(cluster=totals(2, 1), jobs=(job,))
    early = {"slowstart": 0.5}
    first = sluice.simulate(workload, settings=early)

    assert 21.0 == first.makespan_s
    assert 21.0 == replayed(tmp_path, workload, first, settings=early).makespan_s
    assert 14.0 + 9.0 + 5.0 == replayed(tmp_path, workload, first).makespan_s


def test_another_scheduler_gets_the_same_tasks(tmp_path):
    """The replay shows what another scheduler would have done with what really happened."""
    workload = Workload(cluster=totals(5, 2), jobs=JOBS)
    jittered = {"jitter": 0.5}
    first = sluice.simulate(workload, settings=jittered, seed=2)
    other = sluice.simulate(workload, tasks="fair", settings=jittered, seed=2)
    replay = replayed(tmp_path, workload, first, tasks="fair")

    assert ends_s(other) == pytest.approx(ends_s(replay))
    assert ends_s(other) != pytest.approx(ends_s(first))


def test_on_a_cluster_without_racks_lengths_are_taken_as_they_are(tmp_path):
    """Nothing is known of distance there, so nothing is made of it."""
    jobs = (map_reduce("j", 8, 10.0),)
    far = Workload(cluster=even_nodes(4, 1, 1, racks=2), jobs=jobs)
    first = sluice.simulate(far, settings={"replicas": 1, "remote_factor": 3, "rack_factor": 2})
    longest_s = max(a.finished_at_s - a.started_at_s for a in first.attempts)
    near = Workload(cluster=even_nodes(8, 1, 1), jobs=jobs)

    assert longest_s > 10
    assert longest_s == replayed(tmp_path, near, first).makespan_s


def test_tasks_that_the_trace_does_not_know_keep_their_profile(tmp_path):
    small = Workload(cluster=totals(20, 1), jobs=(map_reduce("j", 2, 30.0),))
    large = Workload(cluster=totals(20, 1), jobs=(map_reduce("j", 3, 40.0),))
    again = replayed(tmp_path, large, sluice.simulate(small))

    assert [30.0, 30.0, 40.0] == [a.finished_at_s for a in again.attempts]
