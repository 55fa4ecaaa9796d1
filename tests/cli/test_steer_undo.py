"""`sluice steer UNDO` takes back what it can, whatever has gone meanwhile."""

import json

import pytest
import yaml
from tests.cli.terminal import sluice
from tests.resource_manager import SteeredResourceManager, application
from tests.resource_manager import served as rm_served

CONFIGURED = {
    "root.queues": "a,b", "root.a.capacity": "70", "root.b.capacity": "30",
}  # fmt: skip
IDS = [application(number, "RUNNING")["id"] for number in (1, 2, 3)]
PLAN = {
    "version": 1,
    "queues": {"root.a": {"capacity": 60}, "root.b": {"capacity": 40}},
    "applications": {app_id: {"priority": 7} for app_id in IDS},
}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(PLAN))
    rows = [application(number, "RUNNING") for number in (1, 2, 3)]
    with rm_served(SteeredResourceManager(rows, CONFIGURED)) as fake:
        yield fake


def steer(cluster, plan, *words):
    return sluice("steer", plan, "--address", cluster.address, "--user", "me", *words)


def test_an_application_that_has_ended_does_not_keep_the_rest_from_being_taken_back(cluster):
    assert steer(cluster, "plan.yaml").code == 0
    cluster.applications[1]["state"] = "FINISHED"

    done = steer(cluster, "steer-undo.yaml", "--undo", "back.yaml")

    assert done.code == 0, done.err
    assert f"{IDS[1]} is finished" in done.err
    assert cluster.configured == CONFIGURED
    assert [one["priority"] for one in cluster.applications] == [0, 7, 0]


def test_one_that_ends_while_it_is_taken_back_is_named_and_the_rest_goes_on(cluster):
    assert steer(cluster, "plan.yaml").code == 0

    def end_second():
        cluster.applications[1]["state"] = "FINISHED"

    cluster.on_put = end_second
    done = steer(cluster, "steer-undo.yaml", "--undo", "back.yaml", "--json")

    assert done.code == 1
    refused = [one["target"] for one in json.loads(done.out)["changes"] if one["refusal"]]
    assert refused == [IDS[1]]
    assert [one["priority"] for one in cluster.applications] == [0, 7, 0]


def test_a_plan_of_a_user_still_refuses_what_has_ended(cluster):
    cluster.applications[1]["state"] = "FINISHED"
    done = steer(cluster, "plan.yaml")
    assert done.code == 2
    assert "is finished" in done.err
    assert cluster.puts == []
