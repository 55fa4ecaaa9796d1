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
LIST = "/ws/v1/cluster/reservation/list"
RESERVE = "/ws/v1/cluster/reservation/new-reservation"
SUBMIT = "/ws/v1/cluster/reservation/submit"
DELETE = "/ws/v1/cluster/reservation/delete"
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


def test_a_reservation_that_is_gone_does_not_keep_the_rest_from_being_taken_back(cluster, tmp_path):
    """It ends by itself at its deadline; YARN then refuses to delete it."""
    cluster.configured |= {"root.b.reservable": "true", "root.a.reservable": "false"}
    gone = "reservation_1767599999999_0001"
    cluster.answers[LIST] = {}
    cluster.answers[DELETE] = 400
    plan = {"version": 1, "skip_gone": True, "delete_reservations": [gone]}
    plan["queues"] = {"root.a": {"capacity": "60"}, "root.b": {"capacity": "40"}}
    (tmp_path / "undo.yaml").write_text(yaml.safe_dump(plan))

    done = steer(cluster, "undo.yaml")

    assert done.code == 0, done.out
    assert f"{gone} is not there" in done.err
    assert cluster.configured["root.a.capacity"] == "60"
    assert ("POST", DELETE) not in cluster.asked
    (tmp_path / "undo.yaml").write_text(yaml.safe_dump(plan | {"skip_gone": False}))
    assert steer(cluster, "undo.yaml").code == 2


def test_a_reservation_that_is_deleted_is_read_back_and_leaves_no_undo_file(cluster, tmp_path):
    cluster.configured["root.b.reservable"] = "true"
    there = "reservation_1767599999999_0002"
    cluster.answers[LIST] = {"reservations": [{"reservation-id": there}]}
    cluster.answers[DELETE] = {}
    answer = cluster.answer

    def answer_and_delete(method, target):
        if method == "POST":
            cluster.answers[LIST] = {}
        return answer(method, target)

    cluster.answer = answer_and_delete
    plan = {"version": 1, "delete_reservations": [there]}
    (tmp_path / "delete.yaml").write_text(yaml.safe_dump(plan))
    done = steer(cluster, "delete.yaml")

    assert done.code == 0, done.out
    after = cluster.asked[cluster.asked.index(("POST", DELETE)) :]
    assert ("GET", LIST) in after
    assert "To take it back" not in done.err
    assert not (tmp_path / "steer-undo.yaml").exists()


def test_what_yarn_refuses_as_a_whole_leaves_no_undo_file_in_the_way_of_another_try(
    cluster, tmp_path
):
    cluster.answers[RESERVE] = {"reservation-id": "reservation_1767599999999_0003"}
    cluster.answers[SUBMIT] = 400
    wish = {"queue": "b", "deadline_s": 60, "containers": 400, "runs_s": 50, "memory_mb": 512}
    (tmp_path / "wish.yaml").write_text(yaml.safe_dump({"version": 1, "reservations": [wish]}))

    for _ in range(2):
        done = steer(cluster, "wish.yaml")
        assert done.code == 1, done.err
        assert "YARN refused" in done.out
        assert "take it back" not in done.err
        assert not (tmp_path / "steer-undo.yaml").exists()

    (tmp_path / "wish.yaml").write_text(yaml.safe_dump(PLAN | {"reservations": [wish]}))
    assert steer(cluster, "wish.yaml").code == 1
    undo = yaml.safe_load((tmp_path / "steer-undo.yaml").read_text())
    assert undo["queues"]["root.a"] == {"capacity": "70"}
