"""`sluice steer ltyarn` and `sluice steer dynamicmr` on a cluster that answers from a table."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.terminal import sluice
from tests.ingest.test_history_servers import served

from sluice.planning.sharing.long_term_capacities import long_term_capacities

ME = "user.name=me"
CONFIGURED = {
    "root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
}  # fmt: skip
NODE = {
    "id": "worker:45454", "nodeHostName": "worker", "rack": "/r", "usedMemoryMB": 0,
    "availMemoryMB": 8192, "usedVirtualCores": 0, "availableVirtualCores": 2,
}  # fmt: skip
STATES = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"


def conf(configured):
    return {
        "property": [
            {"name": f"yarn.scheduler.capacity.{name}", "value": value}
            for name, value in configured.items()
        ]
    }


def cluster(used, configured=CONFIGURED):
    """A cluster whose queues have had so many core-seconds."""
    rows = [
        {"id": f"application_1_{place}", "queue": queue, "vcoreSeconds": amount}
        for place, (queue, amount) in enumerate(used.items())
    ]
    return {
        f"/ws/v1/cluster/scheduler-conf?{ME}": conf(configured),
        f"/ws/v1/cluster/apps?{ME}": {"apps": {"app": rows}},
        f"/ws/v1/cluster/nodes?states=RUNNING&{ME}": {"nodes": {"node": [NODE]}},
    }


def wished(policy, answers):
    with served(answers) as (address, _):
        words = ("--address", address, "--user", "me", "--dry-run", "--json")
        done = sluice("steer", policy, *words)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    changes = document["changes"]
    return {(one["target"], one["setting"]): one["wanted"] for one in changes}, document


def test_a_queue_that_had_too_much_gets_less_until_all_have_their_shares():
    found, document = wished("ltyarn", cluster({"root.a": 900.0, "b": 300.0}))
    # Of 1,200 core-seconds and 600 s of 2 cores each is to have 1,200: a lacks 300, b 900.
    assert float(found["root.a", "capacity"]) == pytest.approx(25.5, abs=0.11)
    assert float(found["root.a", "capacity"]) + float(found["root.b", "capacity"]) == 100
    assert found["root.a", "sluice-share"] == "50"
    reasons = {one["target"]: one["reason"] for one in document["changes"]}
    assert reasons["root.a"] == "it had 900 of 1,200 core-seconds, and its share is 50 %"
    (call,) = document["calls"]
    assert (call["method"], call["path"]) == ("PUT", "/scheduler-conf")


def test_the_shares_of_the_first_time_are_kept():
    later = {
        "root.queues": "a,b", "root.a.capacity": "25.5", "root.b.capacity": "74.5",
        "root.a.sluice-share": "50", "root.b.sluice-share": "50",
    }  # fmt: skip
    found, _ = wished("ltyarn", cluster({"root.a": 500.0, "root.b": 500.0}, later))
    assert found == {("root.a", "capacity"): "50", ("root.b", "capacity"): "50"}


def test_queues_without_percentages_are_left_alone():
    weighted = {"root.queues": "a,b", "root.a.capacity": "3w", "root.b.capacity": "1w"}
    found, document = wished("ltyarn", cluster({"root.a": 500.0}, weighted))
    assert found == {}
    assert "percentages" in document["notes"][0]


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.1, 100), min_size=2),
    st.lists(st.floats(0, 1e6), min_size=8, max_size=8),
    st.floats(1, 1e6),
)
def test_capacities_add_up_and_none_is_below_the_least(shares, amounts, coming):
    used = dict(zip("abcdefgh", amounts, strict=True))
    found = long_term_capacities(shares, used, coming)
    assert sum(found.values()) == pytest.approx(100)
    assert min(found.values()) >= 1 - 1e-9
    whole = sum(shares.values())
    most = min(shares, key=lambda name: used[name] / (shares[name] / whole))
    assert found[most] >= 100 * shares[most] / whole - len(shares) - 0.11


def test_the_step_that_is_left_goes_to_whom_rounding_took_most():
    assert long_term_capacities({"b": 1, "a": 2}, {}, 100, least=0) == {"a": 66.7, "b": 33.3}


APP = "application_1_1"
JOBS = f"/proxy/{APP}/ws/v1/mapreduce/jobs"
STATE = {"state": "RUNNING"}


def job(*, maps_pending):
    """A job with a task that runs twice and one that runs once."""
    attempts = {
        "task_1_1_m_000000": [("attempt_1_1_m_000000_0", 0.9), ("attempt_1_1_m_000000_1", 0.2)],
        "task_1_1_m_000001": [("attempt_1_1_m_000001_0", 0.5)],
    }
    row = {
        "id": APP, "name": "x", "startedTime": 1, "applicationType": "MAPREDUCE", **STATE,
    }  # fmt: skip
    answers = {
        f"/ws/v1/cluster/apps?states={STATES}&{ME}": {"apps": {"app": [row]}},
        f"{JOBS}/job_1_1?{ME}": {"job": {"mapsPending": maps_pending, "reducesPending": 0}},
        f"{JOBS}/job_1_1/tasks?{ME}": {
            "tasks": {"task": [{"id": one, **STATE} for one in attempts]}
        },
    }
    for task, rows in attempts.items():
        found = [
            {"id": one, "progress": done, "startTime": place, **STATE}
            for place, (one, done) in enumerate(rows)
        ]
        path = f"{JOBS}/job_1_1/tasks/{task}/attempts"
        answers[f"{path}?{ME}"] = {"taskAttempts": {"taskAttempt": found}}
        for one in found:
            answers[f"{path}/{one['id']}?{ME}"] = {"taskAttempt": one}
    return answers


def test_a_second_attempt_is_killed_while_other_tasks_wait():
    found, document = wished("dynamicmr", job(maps_pending=3))
    assert found == {("attempt_1_1_m_000000_1", "state"): "KILLED"}
    (change,) = document["changes"]
    assert change["reason"] == "its task has another attempt, and 3 tasks of its job wait"


def test_a_second_attempt_goes_on_if_no_task_waits():
    found, document = wished("dynamicmr", job(maps_pending=0))
    assert found == {}
    assert document["notes"] == ["0 tasks wait, and no task has a second attempt"]
