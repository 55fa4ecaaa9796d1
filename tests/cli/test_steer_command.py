"""`sluice steer` before it reaches a cluster; tests/hadoop has what it does there."""

import json

import pytest
import yaml
from tests.cli.terminal import sluice
from tests.ingest.test_history_servers import served

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
