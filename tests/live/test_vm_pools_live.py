"""Pools of VMs with real tasks: two jobs are measured, predicted, planned, run and explained."""

import json

import pytest
from tests.live.command_line import Place

WAITS = "sh -c 'sleep 0.5; cat'"
TYPES = [
    {"id": "small", "units": 1, "vms": 4, "map_slots": 1, "reduce_slots": 1},
    {"id": "large", "units": 2, "vms": 2, "map_slots": 2, "reduce_slots": 1},
]


def job(name, deadline_s, **more):
    run = {"input": ["in"], "output": f"out/{name}", "mapper": WAITS, "reducer": "cat"}
    own = {"id": name, "profile": f"p-{name}", "deadline_s": deadline_s}
    return own | {"reduces": {"tasks": 1}, "run": run} | more


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", *("a\t1\n" for _ in range(4)))
    yield place
    place.end()


def write(place, *jobs, **more):
    document = {"version": 1, "server_units": 4, "vm_types": TYPES, "jobs": list(jobs)}
    place.file.write_text(json.dumps(document | more))


def answer(place, *words, codes=(0,)):
    code, out, complained = place.sluice(*words, "--json")
    assert code in codes, complained
    return json.loads(out)


@pytest.mark.slow
def test_from_two_measured_jobs_to_a_run_that_meets_their_deadlines(place):
    """The commands of docs/pools.md, in the order of the page."""
    write(place, job("a", 60), job("b", 60), reconfigure={"window_s": 30, "beta": 1.5})
    file = str(place.file)
    answer(place, "profile-run", file, "--slots", "1,2,4")
    grid = answer(place, "pools", file, "--grid")["grid"]
    planned = answer(place, "pools", file, "--tick", "0")
    changed = answer(place, "pools", file, "--reconfigure")
    simulated = answer(place, "simulate", file, "--tasks", "vm-pools")
    ran = answer(place, "run", file, "--tasks", "vm-pools")
    recorded = answer(place, "why", "a")
    chosen = answer(place, "why", "a", "--file", file)
    story = place.sluice("story", "b")[1]

    # One VM runs the four maps one after the other, and more VMs are faster and dearer.
    for name in ("a", "b"):
        small = grid[name]["small"]
        assert small["1"]["predicted_s"] > small["2"]["predicted_s"] > 0.5
        assert small["1"]["margin"] >= 0
        assert planned["jobs"][name]["predicted_s"] == pytest.approx(
            grid[name][planned["jobs"][name]["vm_type"]][str(planned["jobs"][name]["vms"])][
                "predicted_s"
            ]
        )
    assert [] == planned["missed"] == changed["missed"]
    # The same VMs at job level, in the simulator and for real.
    for document in (simulated, ran):
        assert {
            name: (one["vm_type"], one["vms"]) for name, one in planned["jobs"].items()
        } == {
            name: (one["vm_type"], one["vms"])
            for name, one in document["vm_pools"]["jobs"].items()
        }  # fmt: skip
        assert all(one["met"] for one in document["vm_pools"]["jobs"].values())
    assert {"a": True, "b": True} == {
        name: one["deadline_met"] for name, one in ran["jobs"].items()
    }
    assert "done" == recorded["state"]
    # The recorded run explains the VMs that the job had, and its costs elsewhere are in the table.
    assert {name: recorded["vms"][name] for name in ("vm_type", "vms", "finished_at_s")} == {
        name: ran["vm_pools"]["jobs"]["a"][name] for name in ("vm_type", "vms", "finished_at_s")
    }
    assert recorded["vms"]["unit_s"] == pytest.approx(ran["vm_pools"]["jobs"]["a"]["unit_s"])
    # What the run has measured since may add a size to the table, or take one away.
    before, after = (
        {(one["vm_type"], one["vms"]) for one in alternatives}
        for alternatives in (recorded["vms"]["alternatives"], chosen["alternatives"])
    )
    assert len(before & after) >= 3
    assert "It ran on" in place.sluice("why", "a")[1]
    assert "reserved" in story
    assert (chosen["vm_type"], chosen["vms"]) == (
        planned["jobs"]["a"]["vm_type"], planned["jobs"]["a"]["vms"],
    )  # fmt: skip
    assert f"of {planned['jobs']['b']['vm_type']}" in story
    # What the run measured counts for the VMs that each job had, not for all of them.
    stored = answer(place, "profiles", "p-a")["profiles"]["p-a"]["runs"]
    assert planned["jobs"]["a"]["vms"] == stored[0]["slots"]["reduce"]


def test_a_job_of_which_nothing_is_known_is_refused_before_anything_runs(place):
    write(place, job("a", 60))
    code, out, complained = place.run("--tasks", "vm-pools")

    assert (2, "") == (code, out)
    assert "'a'" in complained
    assert "profile-run" in complained
    assert not (place.folder / "out").exists()


def test_real_jobs_have_vms_to_themselves(place):
    """Two jobs that need all small VMs, one after the other, by given predictions."""
    short = {"small": {"4": 2}}
    write(place, job("a", 100, predictions=short), job("b", 100, predictions=short))
    code, ran = place.document("--tasks", "vm-pools")
    rows = ran["vm_pools"]["jobs"]
    first, second = sorted(rows.values(), key=lambda row: row["started_at_s"])

    assert 0 == code
    assert {4} == {row["vms"] for row in rows.values()}
    assert first["finished_at_s"] <= second["started_at_s"]


def test_a_real_job_that_no_pool_can_serve_is_refused_with_an_offer(place):
    write(
        place,
        job("a", 10, predictions={"small": {"4": 20}}),
        job("b", 100, predictions={"small": {"4": 20}}),
    )
    code, ran = place.document("--tasks", "vm-pools", "--admission", "vm-pools")
    refused = ran["vm_pools"]["refused"]["a"]

    assert 1 == code
    assert {"a": "refused", "b": "done"} == {
        name: one["state"] for name, one in ran["jobs"].items()
    }
    assert refused["least_deadline_at_s"] == pytest.approx(refused["at_s"] + 20)
    assert "the least deadline that would be accepted" in place.sluice("why", "a")[1]
    assert not (place.folder / "out/a").exists()


def test_real_pools_change_their_sizes(place):
    """The second job has to take large VMs, which are dearer: all units become small VMs."""
    small, both = {"small": {"4": 30}}, {"small": {"4": 30}, "large": {"2": 50}}
    write(
        place,
        job("a", 58, predictions=both),
        job("b", 58, predictions=both),
        job("c", 300, predictions=small, submitted_at_s=3),
        job("d", 300, predictions=small, submitted_at_s=3),
        reconfigure={"window_s": 1, "beta": 1.5, "vm_change_server_s": 0.1},
    )
    code, ran = place.document("--tasks", "vm-pools", "--set", "machines.vm_reconfigure=true")
    changes = [one for one in ran["vm_pools"]["reconfigurations"] if one["done"]]

    assert 0 == code
    assert {"small": 8, "large": 0} == changes[0]["vms"]
    assert {"a": "small", "b": "large", "c": "small", "d": "small"} == {
        name: row["vm_type"] for name, row in ran["vm_pools"]["jobs"].items()
    }


@pytest.mark.slow
def test_a_job_that_was_never_profiled_runs_on_the_cluster_that_its_customer_names(place):
    """Nothing is known of its length: no job counts on its end, and its VMs are free after it."""
    first = job("first", 60, vm_request={"vm_type": "large", "vms": 2, "start_within_s": 0})
    second = job(
        "second", 60, submitted_at_s=1, limit_s=20, vm_request={"vm_type": "large", "vms": 1}
    )
    del first["deadline_s"]
    write(place, first, second)
    ran = answer(place, "run", str(place.file), "--tasks", "vm-pools")["vm_pools"]["jobs"]
    again = answer(place, "why", "first")

    assert ("large", 2) == (ran["first"]["vm_type"], ran["first"]["vms"])
    assert ("large", 1) == (ran["second"]["vm_type"], ran["second"]["vms"])
    assert ran["first"]["planned_until_s"] is None
    assert ran["second"]["started_at_s"] >= ran["first"]["finished_at_s"]
    assert ran["first"]["met"]
    assert ran["second"]["met"]
    assert "Its customer named this cluster." in json.dumps(again)
    assert b"a\t1\n" * 4 == b"".join(
        part.read_bytes() for part in sorted((place.folder / "out/first").glob("part-*"))
    )


@pytest.mark.slow
def test_a_real_job_waits_for_a_server_that_is_off(place):
    """The second job finds its server off, and starts when it is up, a second later."""
    cell = {"vm_type": "small", "vms": 1}
    first = job("first", 60, limit_s=20, vm_request=cell)
    second = job("second", 60, submitted_at_s=6, limit_s=20, vm_request=cell)
    write(place, first, second, power={"down_after_s": 0.5, "up_s": 1})
    ran = answer(place, "run", str(place.file), "--tasks", "vm-pools")
    power, rows = ran["vm_pools"]["power"], ran["vm_pools"]["jobs"]

    assert rows["second"]["met"]
    assert rows["second"]["started_at_s"] > rows["first"]["finished_at_s"] + 0.5
    assert ran["jobs"]["second"]["started_at_s"] >= rows["second"]["started_at_s"] + 1
    assert 1 <= power["starts"]
    assert 0 < power["off_server_s"] < power["server_s"]
