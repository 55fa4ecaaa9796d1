"""`sluice steer` before it reaches a cluster; tests/hadoop has what it does there."""

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.terminal import sluice
from tests.ingest.test_history_servers import served

import sluice as sluice_api

CONFIGURED = {
    "root.queues": "a,b", "root.a.capacity": "70", "root.b.capacity": "30",
}  # fmt: skip
PATH = "/ws/v1/cluster/scheduler-conf?user.name=me"
ANSWERS = {
    PATH: {
        "property": [
            {"name": f"yarn.scheduler.capacity.{name}", "value": value}
            for name, value in CONFIGURED.items()
        ]
    }
}


@pytest.fixture
def steered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def steer(plan, *words, answers=ANSWERS):
        (tmp_path / "plan.yaml").write_text(yaml.safe_dump({"version": 1, **plan}))
        with served(answers) as (address, _):
            return sluice("steer", "plan.yaml", "--address", address, "--user", "me", *words)

    return steer


def test_a_dry_run_shows_the_values_and_the_calls(steered, tmp_path):
    plan = {"queues": {"root.a": {"capacity": 60}, "root.b": {"capacity": 40}}}
    done = steered(plan, "--dry-run")
    assert done.code == 0
    assert "2 values would change, in 1 call; nothing was changed." in done.out
    assert "PUT /scheduler-conf" in done.err
    assert not (tmp_path / "steer-undo.yaml").exists()

    document = json.loads(steered(plan, "--dry-run", "--json").out)
    assert [one["before"] for one in document["changes"]] == ["70", "30"]
    assert document["dry_run"] is True


def test_a_cluster_that_is_so_already_is_left_alone(steered, tmp_path):
    done = steered({"queues": {"root.a": {"capacity": 70}}})
    assert (done.code, done.out.strip()) == (
        0, "The cluster is as the plan has it; nothing was changed.",
    )  # fmt: skip
    assert not (tmp_path / "steer-undo.yaml").exists()


@pytest.mark.parametrize(
    ("plan", "words", "said"),
    [
        ({"queues": {"root.a": {"capacity": 80}}}, (), "a 80 + b 30 = 110, not 100"),
        ({"queues": {"root.a": {"capacity": None}}}, (), "a 0 + b 30 = 30, not 100"),
        ({"queues": {"root.c": {"capacity": 80}}}, (), "there is no queue 'root.c'"),
        ({}, ("--rate", "0"), "--rate"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(plan, words, said, steered, tmp_path):
    done = steered(plan, *words)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "steer-undo.yaml").exists()


def test_an_undo_file_that_exists_is_kept(steered, tmp_path):
    (tmp_path / "steer-undo.yaml").write_text("precious")
    done = steered({"queues": {"root.a": {"capacity": 60}, "root.b": {"capacity": 40}}})
    assert done.code == 2
    assert "give another --undo" in done.err.lower()
    assert (tmp_path / "steer-undo.yaml").read_text() == "precious"


def test_what_is_refused_is_said_and_can_be_taken_back(steered, tmp_path):
    """The server here answers no PUT."""
    done = steered({"queues": {"root.a": {"capacity": 60}, "root.b": {"capacity": 40}}})
    assert done.code == 1
    assert "0 of 2 values changed; YARN refused" in done.out
    undo = yaml.safe_load((tmp_path / "steer-undo.yaml").read_text())
    assert undo["queues"] == {"root.a": {"capacity": "70"}, "root.b": {"capacity": "30"}}


@pytest.mark.parametrize("address", ["rm:8088", "ftp://rm"])
def test_an_address_that_is_none_is_refused(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text("version: 1")
    done = sluice("steer", "plan.yaml", "--address", address)
    assert done.code == 2
    assert "http://rm:8088" in done.err


HISTORY = Path(__file__).resolve().parents[1] / "data/logs/jhist"
NAMES = {
    "application_1_1": "Sleep job",
    "application_1_2": "QuasiMonteCarlo",
    "application_1_3": "x",
}


def cluster_of(names, *, priorities=10):
    """Answers of a cluster with applications, as they came, all of priority 0."""
    rows = [
        {"id": app_id, "name": name, "startedTime": place, "state": "ACCEPTED", "priority": 0,
         "applicationType": "MAPREDUCE", "queue": "root.a"}
        for place, (app_id, name) in enumerate(names.items())
    ]  # fmt: skip
    node = {
        "id": "worker:45454", "nodeHostName": "worker", "rack": "/r", "usedMemoryMB": 0,
        "availMemoryMB": 8192, "usedVirtualCores": 0, "availableVirtualCores": 2,
    }  # fmt: skip
    one = "yarn.cluster.max-application-priority"
    states = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
    return {
        f"/conf?format=json&name={one}&user.name=me": {"property": {"value": str(priorities)}},
        f"/ws/v1/cluster/apps?states={states}&user.name=me": {"apps": {"app": rows}},
        "/ws/v1/cluster/nodes?states=RUNNING&user.name=me": {"nodes": {"node": [node]}},
        **{f"/ws/v1/cluster/apps/{row['id']}?user.name=me": {"app": row} for row in rows},
    }


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    sluice_api.import_logs([HISTORY])


def test_a_policy_gives_priorities_in_the_order_that_ends_soonest(history, tmp_path):
    """Of the two known jobs one has a long reduce after a short map: Johnson's rule puts it first.
    The third is not known, and keeps its priority.
    """
    expected = sluice_api.order(
        {
            "version": 1,
            "cluster": {"map_slots": 2, "reduce_slots": 2},
            "jobs": [job_of(app_id, name) for app_id, name in list(NAMES.items())[:2]],
        },
        method="exact",
    )
    with served(cluster_of(NAMES)) as (address, _):
        done = sluice(
            "steer", "mrorder", "--address", address, "--user", "me", "--dry-run", "--json"
        )
        assert done.code == 0, done.err
    document = json.loads(done.out)
    wanted = {one["target"]: one["wanted"] for one in document["changes"]}
    assert wanted == {str(expected.order[0]): "10", str(expected.order[1]): "9"}
    assert "no past run is known of x" in document["notes"][0]
    reasons = {one["target"]: one["reason"] for one in document["changes"]}
    assert reasons[str(expected.order[0])].startswith("place 1 of 2 in the order")


def job_of(app_id, name):
    (run,) = sluice_api.profiles(name).document()["profiles"][name]["runs"][:1]
    phases = {phase["kind"]: phase for phase in run["phases"]}
    return {
        "id": app_id,
        "maps": {"tasks": phases["map"]["tasks"], "avg_s": phases["map"]["avg_s"]},
        "reduces": {"tasks": phases["reduce"]["tasks"], "avg_s": phases["reduce"]["avg_s"]},
    }


def test_a_cluster_with_one_priority_is_named(history):
    with served(cluster_of(NAMES, priorities=0)) as (address, _):
        done = sluice("steer", "mrorder", "--address", address, "--user", "me")
    assert done.code == 2
    assert "yarn.cluster.max-application-priority" in done.err


def test_a_policy_that_is_none_is_named():
    done = sluice("steer", "mrordr", "--address", "http://rm:8088")
    assert done.code == 2
    assert "did you mean mrorder" in done.err.lower()
