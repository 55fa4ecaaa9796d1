"""Other nodes, weights and deadlines for the jobs that are open, next to the present."""

import subprocess
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import serving
from tests.service.test_activation import SERVED

skips.required("fastapi")
LONG_S = 60.0
ENOUGH_FUTURES = 19  # for both ends of an interval of 90 % to be among them
SHARED = SERVED.replace("service: {", "service: {shared_user: true, ")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("capacity")
    # Started as users start it: a warm one draws a future in which more nodes change nothing.
    with serving(folder, "--config", "serve.yaml", config=SHARED, popen=subprocess.Popen) as it:
        yield it


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


@pytest.fixture(scope="module")
def anna(service):
    return Client(service, token(service, "anna", "small"))


@pytest.fixture(scope="module")
def waiting(service, owner, anna):
    """Jobs of two queues that fill the nodes (4 slots for maps), and more that wait."""
    ids = []
    for number in range(12):
        name, queue = f"long-{number}", "slow" if number % 2 else "fast"
        client = anna if number == 11 else owner
        asked = {"job": job(service, name, LONG_S), "queue": queue}
        made = client.post("/v1/jobs", asked)
        assert made.status == 201, made.text
        ids.append(made.json["job_id"])
    return ids


def compared(client, **change):
    begun = client.post("/v1/capacity", {"change": change})
    assert begun.status == 202, begun.text
    while (answer := client.get(begun.headers["location"]).json)["state"] == "running":
        time.sleep(0.05)
    return answer


@pytest.fixture(scope="module")
def unchanged(owner, waiting):
    """The present compared with itself, which takes seconds of simulation."""
    return compared(owner)["result"]


def test_no_change_makes_no_difference(unchanged, waiting):
    assert unchanged["nodes"] == {"now": 2, "then": 2}
    assert unchanged["futures"] >= 3
    assert unchanged["all"]["jobs"] == len(waiting)
    for side in (unchanged["all"], *unchanged["queues"]):
        assert side["now"] == side["then"]
        for spread in side["difference"].values():
            assert spread in (None, {"expected": 0.0, "low": 0.0, "high": 0.0})


def test_more_nodes_start_jobs_earlier_and_cost_is_nodes_times_time(owner, waiting):
    found = compared(owner, nodes_more=4)["result"]

    assert found["nodes"] == {"now": 2, "then": 6}
    difference = found["all"]["difference"]
    # A busy machine has time for few futures, which leave the sign open.
    end = "high" if found["futures"] >= ENOUGH_FUTURES else "expected"
    assert difference["wait_s_p95"][end] < 0
    assert difference["ends_after_s"][end] < 0
    then = found["all"]["then"]
    for which, ends_s in then["ends_after_s"].items():
        # The ends of an interval lie outside of few futures, and are computed by logarithms.
        near = 0.01 if which == "expected" or found["futures"] >= ENOUGH_FUTURES else 0.2
        assert then["cost_usd"][which] == pytest.approx(6 * ends_s / 3600, rel=near)
    assert [row["nodes"] for row in found["sizes"]] == [2, 3, 4, 6, 10]
    ends = [row["ends_after_s"]["expected"] for row in found["sizes"]]
    assert ends[-1] < 0.9 * ends[0]
    # With one more node a job may end a little later, by how tasks fall into waves.
    assert all(then <= 1.1 * now for now, then in pairwise(ends))
    now = found["all"]["now"]["ends_after_s"]
    assert now["low"] <= ends[0] <= now["high"]


def test_fewer_nodes_start_jobs_later_and_one_node_is_the_least(owner, waiting):
    found = compared(owner, nodes_more=-1)["result"]

    assert found["nodes"] == {"now": 2, "then": 1}
    end = "low" if found["futures"] >= ENOUGH_FUTURES else "expected"
    assert found["all"]["difference"]["ends_after_s"][end] > 0
    none = compared(owner, nodes_more=-2)
    assert none["state"] == "failed"
    assert "change.nodes_more" in none["problem"]


def test_a_queue_with_more_weight_waits_less_and_the_other_longer(owner, waiting):
    found = compared(owner, weights={"slow": 50.0})["result"]

    by_name = {row["queue"]: row for row in found["queues"]}
    slow, fast = (by_name[name]["difference"]["wait_s_p95"] for name in ("slow", "fast"))
    assert slow["expected"] < 0 < fast["expected"]
    unknown = compared(owner, weights={"other": 2.0})
    assert (unknown["state"], unknown["result"]) == ("failed", None)
    assert "there is no queue 'other'" in unknown["problem"]


def test_a_deadline_is_met_by_those_that_end_before_it(owner, unchanged):
    def share(seconds):
        at = f"{datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
        return compared(owner, deadline_at=at)["result"]["all"]["now"]["deadlines_met"]

    assert unchanged["all"]["now"]["deadlines_met"] is None
    near, middle, far = share(1), share(1.5 * LONG_S), share(100 * LONG_S)
    assert near["expected"] == 0.0
    assert near["expected"] < middle["expected"] < far["low"]
    assert far["low"] == 1.0


def test_a_tenant_compares_its_own_jobs_alone(anna, waiting):
    found = compared(anna, nodes_more=1)["result"]

    assert found["all"]["jobs"] == 1
    assert [(row["queue"], row["jobs"]) for row in found["queues"]] == [("slow", 1)]


def test_a_question_with_two_meanings_is_refused(owner):
    for body in (
        {},
        {"workload": {"version": 1}, "change": {}},
        {"change": {}, "deadline_s": 5.0},
        {"change": {"nodes_more": "4"}},
        {"change": {"weights": {"slow": 0}}},
    ):
        assert owner.post("/v1/capacity", body).status == 422, body


def end_all(service, owner):
    """Tests of this file may run in other processes: what they leave open differs."""
    for row in owner.get("/v1/jobs?limit=100").json["items"]:
        if row["state"] in {"running", "waiting"}:
            owner.delete(f"/v1/jobs/{row['job_id']}")
    service.settled()


def test_without_an_open_job_there_is_nothing_to_compare(service, owner):
    end_all(service, owner)

    answer = compared(owner)

    assert answer["state"] == "failed"
    assert "no job is open" in answer["problem"]


def test_a_promise_does_not_end_early_by_the_time_it_took_to_make(service, owner):
    end_all(service, owner)
    made = owner.post("/v1/jobs", {"job": job(service, "short", 0.3), "queue": "fast"}).json
    promise = owner.get(f"/v1/jobs/{made['job_id']}").json["promise"]

    made_at = datetime.fromisoformat(promise["made_at"])
    ends_at = datetime.fromisoformat(promise["ends_at"]["expected"])

    # The simulation takes longer than the job when the machine is busy.
    assert 0.2 < (ends_at - made_at).total_seconds() < 0.5
