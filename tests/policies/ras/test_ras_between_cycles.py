"""RAS places between two control cycles where a task that waits fits on a node."""

import pytest

import sluice

CLUSTER = {"nodes": 2, "node": {"cpu": 100, "io": 100, "memory": 100}}
DEMAND = {"map": {"cpu": 25, "io": 10, "memory": 10}, "reduce": {"cpu": 10, "io": 10, "memory": 10}}


def job(name, tasks, *, avg_s=10, at_s=0, **more):
    maps = {"tasks": tasks, "avg_s": avg_s}
    return {"id": name, "submitted_at_s": at_s, "maps": maps, "demand": DEMAND, **more}


def simulated(*jobs, **settings):
    document = {"version": 1, "cluster": CLUSTER, "jobs": list(jobs)}
    named = {f"ras.{name}": value for name, value in settings.items()}
    return sluice.simulate(document, tasks="ras", settings=named)


def started_s(result):
    """When each job starts its tasks."""
    found: dict[str, list[float]] = {}
    for one in result.attempts:
        found.setdefault(str(one.key.job_id), []).append(one.started_at_s)
    return {name: sorted(starts) for name, starts in found.items()}


@pytest.mark.parametrize(("is_between", "starts_s"), [(True, 7.0), (False, 30.0)])
def test_a_job_that_comes_between_two_cycles_starts_where_there_is_room(is_between, starts_s):
    result = simulated(job("a", 2), job("b", 2, at_s=7), between_cycles=is_between)

    assert [starts_s] * 2 == started_s(result)["b"]


@pytest.mark.parametrize(("is_between", "starts_s"), [(True, 10.0), (False, 30.0)])
def test_a_job_after_another_starts_at_its_end(is_between, starts_s):
    result = simulated(job("a", 2), job("b", 2, after=["a"]), between_cycles=is_between)

    assert [starts_s] * 2 == started_s(result)["b"]


@pytest.mark.parametrize(("is_between", "starts_s"), [(True, 12.0), (False, 30.0)])
def test_room_that_the_last_tasks_of_a_job_leave_is_used(is_between, starts_s):
    """At 1 s no task of b fits; at 12 s all tasks of a end, and no other of a waits."""
    jobs = job("a", 8, avg_s=12), job("b", 2, at_s=1)

    starts = started_s(simulated(*jobs, between_cycles=is_between))

    assert [0.0] * 8 == starts["a"]
    assert [starts_s] * 2 == starts["b"]


@pytest.mark.parametrize("is_between", [True, False])
def test_on_a_full_cluster_a_job_waits_for_the_period(is_between):
    """At 7 s no task fits; at 20 s the tasks of a go on in its slots."""
    jobs = job("a", 24, avg_s=20), job("b", 4, at_s=7)

    assert 40.0 == started_s(simulated(*jobs, between_cycles=is_between))["b"][0]


def test_a_job_loses_the_slots_first_in_which_none_of_its_tasks_runs():
    """At 30 s, a has four tasks left, on n2. So all four slots of n1 go to b."""
    a = job("a", 8)
    a["maps"] = {"durations_s": [10, 10, 10, 10, 100, 100, 100, 100]}
    result = simulated(a, job("b", 4, at_s=7), between_cycles=False)

    assert [30.0] * 4 == started_s(result)["b"]
