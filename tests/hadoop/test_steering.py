"""`sluice steer` on a real YARN: what it changes is read back, and can be taken back."""

import json
import re
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import pytest
import yaml
from tests.hadoop.configuration import host_of
from tests.live.command_line import Place, awaited
from tests.service.services import CONFIG, serving

from sluice.engines.yarn.rest import ResourceManagerRest

pytestmark = [pytest.mark.slow, pytest.mark.yarn, pytest.mark.timeout(600)]

STREAMING = "org.apache.hadoop.streaming.HadoopStreaming"


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path / "steer")
    made.folder.mkdir()
    yield made
    made.end()


@pytest.fixture
def rest(hadoop):
    return ResourceManagerRest(hadoop.address)


@contextmanager
def sleeping(rest):
    """An application of others that waits, in queue a; its id."""
    app_id = rest.new_application()
    rest.submit({
        "application-id": app_id, "application-name": "sleeper", "queue": "a", "priority": 3,
        "am-container-spec": {"commands": {"command": "sleep 600"}},
        "resource": {"memory": 256, "vCores": 1}, "max-app-attempts": 2,
    })  # fmt: skip
    awaited(lambda: rest.application(app_id)["state"] in {"ACCEPTED", "RUNNING"}, "the sleeper")
    try:
        yield app_id
    finally:
        rest.kill(app_id)
        awaited(lambda: rest.application(app_id)["state"] in {"KILLED", "FAILED"}, "its end")


@pytest.fixture
def application(rest):
    with sleeping(rest) as app_id:
        yield app_id


def configuration(hadoop):
    """The scheduler's configuration as it comes, byte for byte."""
    url = f"{hadoop.address}/ws/v1/cluster/scheduler-conf?user.name=root"
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310  # one of our own
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # one of our own
        return answer.read()


def steered(place, hadoop, plan, *words):
    """The exit code, the document and what is said of `sluice steer`."""
    if isinstance(plan, dict):
        (place.folder / "plan.yaml").write_text(yaml.safe_dump({"version": 1, **plan}))
        plan = "plan.yaml"
    code, said, complained = place.sluice(
        "steer", plan, "--address", hadoop.address, "--json", *words
    )
    return code, json.loads(said) if said else {}, complained


def values(document):
    return {
        (one["target"].partition("/")[0], one["setting"]): (one["before"], one["after"])
        for one in document["changes"]
    }


def test_queues_nodes_and_labels_are_changed_read_back_and_taken_back(place, hadoop):
    before = configuration(hadoop)
    host = host_of(2)
    plan = {
        "queues": {
            "root.a": {"capacity": 60, "ordering-policy": "fair", "maximum-capacity": 90},
            "root.b": {"capacity": 20},
        },
        "nodes": {host: {"memory_mb": 2048, "vcores": 8, "labels": ["fast"]}},
    }
    code, planned, _ = steered(place, hadoop, plan, "--dry-run")
    assert code == 0
    assert planned["calls"]
    assert configuration(hadoop) == before
    assert not (place.folder / "steer-undo.yaml").exists()

    code, done, complained = steered(place, hadoop, plan)
    assert code == 0, complained
    found = values(done)
    assert found["root.a", "capacity"] == ("50", "60")
    assert found["root.a", "ordering-policy"] == (None, "fair")
    assert found["root.b", "capacity"] == ("30", "20")
    assert (found[host, "memory_mb"], found[host, "vcores"]) == (("1536", "2048"), ("4", "8"))
    assert configuration(hadoop) != before
    code, again, _ = steered(place, hadoop, plan, "--undo", "none.yaml")
    assert (code, again["changes"]) == (0, [])

    code, _, complained = steered(place, hadoop, "steer-undo.yaml", "--undo", "back.yaml")
    assert code == 0, complained
    assert configuration(hadoop) == before
    (node,) = [one for one in ResourceManagerRest(hadoop.address).nodes() if one.host == host]
    assert (node.memory_mb, node.vcores) == (1536, 4)


def test_a_policy_sets_capacities_by_long_term_use_and_undo_takes_all_back(place, hadoop):
    """The cluster's queues have had little; each keeps about its share, under a key of ours."""
    before = configuration(hadoop)
    code, done, complained = steered(place, hadoop, "ltyarn", "--undo", "lt-undo.yaml")
    assert code == 0, complained
    found = values(done)
    assert found["root.a", "sluice-share"] == (None, "50")
    now = ResourceManagerRest(hadoop.address)
    capacities = [
        float(one["value"])
        for one in now.call("GET", "/scheduler-conf")["property"]
        if re.fullmatch(r"yarn[.]scheduler[.]capacity[.]root[.]\w+[.]capacity", one["name"])
    ]
    assert sum(capacities) == pytest.approx(100)

    code, _, complained = steered(place, hadoop, "lt-undo.yaml", "--undo", "lt-back.yaml")
    assert code == 0, complained
    assert configuration(hadoop) == before


def test_a_wrong_sum_changes_nothing_and_says_why(place, hadoop):
    before = configuration(hadoop)
    code, _, complained = steered(place, hadoop, {"queues": {"root.a": {"capacity": 90}}})

    assert code == 2
    assert "default 20 + a 90 + b 30 = 140, not 100" in complained
    assert configuration(hadoop) == before
    assert list(place.folder.glob("*undo*")) == []


def test_what_yarn_refuses_is_said_in_its_words(place, hadoop):
    before = configuration(hadoop)
    code, done, _ = steered(
        place, hadoop, {"queues": {"root.a": {"ordering-policy": "no.such.Policy"}}}
    )

    assert code == 1
    assert done["done"] is False
    assert "(400)" in done["changes"][0]["refusal"]
    assert configuration(hadoop) == before


def test_an_application_is_moved_and_comes_first(place, hadoop, application, rest):
    plan = {"applications": {application: {"priority": 8, "queue": "b", "lifetime_s": 3600}}}
    code, done, complained = steered(place, hadoop, plan)

    assert code == 0, complained
    assert values(done)[application, "priority"][1] == "8"
    found = rest.application(application)
    assert (found["priority"], found["queue"].split(".")[1]) == (8, "b")
    code, _, _ = steered(place, hadoop, "steer-undo.yaml", "--undo", "back.yaml")
    assert code == 0
    found = rest.application(application)
    assert (found["priority"], found["queue"].rpartition(".")[2]) == (3, "a")

    code, _, _ = steered(
        place, hadoop, {"applications": {application: {"kill": True}}}, "--undo", "k.yaml"
    )
    assert code == 0
    assert rest.application(application)["state"] == "KILLED"
    code, _, complained = steered(place, hadoop, plan, "--undo", "late.yaml")
    assert code == 2
    assert "is killed" in complained


def test_a_service_steers_what_others_submit_and_takes_all_back(tmp_path, hadoop, rest):
    """Capacities by long-term use, and a priority by a past run of the same name."""
    before = configuration(hadoop)
    steer = {"policies": ["ltyarn", "mrorder"], "every_s": 1, "undo_at_stop": True}
    section = {"observe": hadoop.address, "steer": steer}
    config = yaml.safe_dump({**yaml.safe_load(CONFIG), "service": section})
    with serving(tmp_path, "--config", "serve.yaml", "--listen", "none", config=config) as service:
        code, _, complained = service.run("run", service.nap("sleeper"))
        assert code == 0, complained
        with sleeping(rest) as app_id:
            awaited(lambda: rest.application(app_id)["priority"] == 10, "the highest one")
            awaited(lambda: b"root.a.sluice-share" in configuration(hadoop), "the shares")
            found = awaited(lambda: decided(service, app_id), "the decisions")
            assert found[app_id, "priority"] == ("3", "10", "10", "mrorder")
            assert found["root.a", "sluice-share"] == ("", "50", "50", "ltyarn")
            service.stop()
            assert rest.application(app_id)["priority"] == 3
    assert configuration(hadoop) == before
    assert not (tmp_path / "home/service/steering/undo.yaml").exists()


def decided(service, app_id):
    """The newest change of each value that the service has made; None before one of the app."""
    rows = service.document("serve", "status")["steering"]["decisions"]
    found = {
        (one["target"], one["setting"]): (one["before"], one["wanted"], one["after"], one["policy"])
        for one in rows[::-1]
        if one["outcome"] == "done"
    }
    return found if (app_id, "priority") in found else None


def test_reservations_are_yarns_own_admission(place, hadoop):
    wish = {"queue": "b", "deadline_s": 120, "containers": 2, "runs_s": 30, "memory_mb": 512}
    code, done, complained = steered(place, hadoop, {"reservations": [wish]})
    assert code == 0, complained
    ((target, _),) = values(done)
    assert target == "b"
    for is_there in (True, False):
        code, done, complained = steered(place, hadoop, "steer-undo.yaml", "--undo", "back.yaml")
        assert code == 0, complained
        assert [one["after"] for one in done["changes"]] == ["deleted"] * is_there
    assert "is not there" in done["notes"][0]

    much = {**wish, "containers": 400, "at_least": 400, "deadline_s": 60, "runs_s": 50}
    code, done, _ = steered(place, hadoop, {"reservations": [much]}, "--undo", "no.yaml")
    assert code == 1
    assert "cannot be satisfied" in done["changes"][0]["refusal"]


def test_one_attempt_of_a_job_is_killed_and_the_job_succeeds(place, hadoop, rest, tmp_path):
    (tmp_path / "line").write_text("one\n")
    hadoop.hdfs("-put", str(tmp_path / "line"), "/line")
    job = subprocess.Popen(
        hadoop.command(
            STREAMING, "-Dmapreduce.job.reduces=0", "-Dmapreduce.map.memory.mb=256",
            "-mapper", f"sh -c 'while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; cat'",
            "-input", "/line", "-output", "/attempted",
        ),
        env=hadoop.environment(), cwd=hadoop.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        attempt = awaited(lambda: running_attempt(rest), "a running map")
        code, done, complained = steered(place, hadoop, {"kill_attempts": [attempt]})
        assert code == 0, complained
        assert done["changes"][0]["after"] == "KILLED"
        second = awaited(lambda: running_attempt(rest), "the next attempt")
        assert second != attempt
        (tmp_path / "go").touch()
        said, _ = job.communicate(timeout=120)
        assert job.returncode == 0, said[-2000:]
        assert hadoop.hdfs("-cat", "/attempted/part-*").strip() == "one"
    finally:
        job.kill()
        job.wait()


def running_attempt(rest):
    """The id of the map attempt that runs in the only MapReduce job; None without one."""
    apps = (rest.call("GET", "/apps?states=RUNNING") or {}).get("apps") or {}
    for app in apps.get("app", []):
        number = app["id"].removeprefix("application_")
        base = f"/proxy/{app['id']}/ws/v1/mapreduce/jobs/job_{number}/tasks"
        try:
            tasks = (rest.request("GET", base) or {}).get("tasks") or {}
            for task in tasks.get("task", []):
                found = rest.request("GET", f"{base}/{task['id']}/attempts")
                for one in found["taskAttempts"]["taskAttempt"]:
                    if one["state"] == "RUNNING":
                        return one["id"]
        except Exception:  # noqa: BLE001  # the ApplicationMaster is not up yet
            time.sleep(0.2)
    return None
