"""RAS in real runs: measured demands place real tasks, and goals steer their slots."""

import json
import re

import pytest
from bench import ras_live
from tests.live.command_line import Place

WAITS = "sh -c 'sleep 0.3; cat'"
MAPS = 8
NODE = {"cpu": 50, "io": 50, "memory": 50}
NOT_ENFORCED = "limits of nodes are only scheduled"
BY_CYCLE = ("--set", "ras.between_cycles=false")  # a job waits for the next cycle


def job(name, **more):
    run = {"input": ["in"], "output": f"out/{name}", "mapper": WAITS, "reducer": "cat"}
    return {"id": name, "reduces": {"tasks": 1}, "run": run} | more


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", *("a\t1\n" for _ in range(MAPS)))
    yield place
    place.end()


def write(place, *jobs, **settings):
    cluster = {"nodes": 2, "node": NODE}
    place.write(jobs, cluster=cluster, settings={"period_s": 1, "node_limits": "off"} | settings)


def test_a_job_without_a_demand_is_refused_before_anything_runs(place):
    write(place, job("a"))
    code, heard, complained = place.run("--tasks", "ras")

    assert (2, "") == (code, heard)
    assert "job 'a': demand.map is missing or all zero" in complained
    assert not (place.folder / "out").exists()


@pytest.mark.slow
def test_a_measured_profile_is_all_that_a_real_job_needs(place):
    """Two profiles, goals, a simulation, a run, and why a goal was missed."""
    write(place, job("a", profile="pa", deadline_s=100), job("b", profile="pb", deadline_s=0.5))
    file = str(place.file)
    measured = json.loads(place.sluice("profile-run", file, "--slots", "2", "--json")[1])
    demands = {name: one["demand"]["map"]["cpu"] for name, one in measured["jobs"].items()}
    simulated = json.loads(place.sluice("simulate", file, "--tasks", "ras", "--json")[1])
    code, heard, complained = place.run("--tasks", "ras", *BY_CYCLE, "--json")
    result = json.loads(heard)
    explained = json.loads(place.sluice("explain", "pb", "--json")[1])
    # On a busy machine the nodes, and so the jobs, come later.
    just_before_s = result["jobs"]["b"]["started_at_s"] - 1e-6
    replayed = place.sluice("why", "b", "--at-s", f"{just_before_s}")[1]
    story = place.sluice("story", "b")[1]

    assert all(cpu > 0 for cpu in demands.values())
    assert {"a", "b"} == set(simulated["jobs"])
    assert 2 <= max(one["map_slots"] for one in simulated["placements"]["a"])
    assert 0 == code
    assert {"a": True, "b": False} == {
        name: one["deadline_met"] for name, one in result["jobs"].items()
    }
    assert NOT_ENFORCED in complained
    assert "node_limits=off" in complained
    assert 0.5 == explained["deadline_s"]
    assert explained["recorded_s"] - 0.5 == pytest.approx(explained["late_s"])
    assert re.search(r"the next control cycle is at \d+ s", replayed)
    assert "its goal needs" in story


def placements(place, goal_s):
    """How the slots of a real job with that goal changed, next to a job without a goal."""
    demand = {"map": {"cpu": 25}, "reduce": {"cpu": 5}}
    both = {"maps": {"tasks": MAPS}, "demand": demand}
    write(place, job("base", **both), job("aims", deadline_s=goal_s, **both))
    code, heard, complained = place.run("--tasks", "ras", "--json")

    assert 0 == code, complained
    return json.loads(heard)["placements"]["aims"]


def test_a_goal_that_is_far_leaves_the_slots_to_others(place):
    """Three slots of four go to the job that needs them; the estimator knows it after one map."""
    assert (1, 1) in {(p["map_slots_needed"], p["map_slots"]) for p in placements(place, 10_000)}


def test_a_goal_that_is_near_takes_its_share_of_the_slots(place):
    made = placements(place, 1)

    assert 2 == made[0]["map_slots"]
    assert all(p["map_slots_needed"] >= p["map_slots"] for p in made)


@pytest.mark.slow
@pytest.mark.no_invariants
def test_a_goal_that_fair_misses_is_met(tmp_path, monkeypatch):
    """40 maps that wait for 3 s: 15 s in the 8 slots of Fair, on the fastest machine, too."""
    monkeypatch.setattr(ras_live, "BURNS", ras_live._SAMPLE)  # fewer leave that as it is
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    ras_live.write_input(tmp_path)
    ras_live.measured(tmp_path)
    fair, ras = ras_live.ran(tmp_path, slots=4), ras_live.ran(tmp_path)

    assert ras_live.fetched_s(ras) <= ras_live.GOAL_S < ras_live.fetched_s(fair)
    assert ras_live.makespan_s(ras) < ras_live.makespan_s(fair)
