"""The rules for the tenants of a shared service: quotas, templates, and how often they may ask."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import CONFIG, PATIENCE_S, serving

skips.required("fastapi")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    shared = CONFIG.replace("service: {", "service: {shared_user: true, ")
    with serving(tmp_path_factory.mktemp("tenants"), "--config", "serve.yaml", config=shared) as it:
        yield it


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


def test_a_tenant_has_quotas_and_runs_templates_alone(service, owner):
    carla = Client(service, token(service, "carla", "small"))
    limits = {"open_jobs_max": 1, "commands": "templates"}
    written = owner.ask("PUT", "/v1/tenants/small", limits)
    assert (written.status, written.json["version"]) == (200, 1)
    assert owner.ask("PUT", "/v1/tenants/small", limits, If_Match='"7"').status == 412
    refused = carla.post("/v1/jobs", {"job": job(service)})
    assert (refused.status, refused.json["where"]) == (403, "job")
    run = {**job(service)["run"], "mapper": "sleep {seconds}"}
    template = {
        "job": {"maps": {"tasks": 1, "avg_s": 1}, "run": run},
        "parameters": {"seconds": {"type": "number", "at_most": 60}},
    }
    assert carla.ask("PUT", "/v1/templates/nap", template).status == 403
    assert owner.ask("PUT", "/v1/templates/nap", template).status == 200
    assert [row["name"] for row in carla.get("/v1/templates").json["items"]] == ["nap"]
    asked = {"job": {"template": "nap", "arguments": {"seconds": 60}}}
    found = carla.post("/v1/jobs", asked)
    assert found.status == 201, found.text
    assert found.json["name"] == "nap"
    above = carla.post("/v1/jobs", asked)
    assert (above.status, above.json["where"]) == (429, "open_jobs_max")
    assert above.headers["retry-after"]
    assert carla.post("/v1/quotes", {"jobs": [asked["job"]]}).status == 200
    assert carla.get("/v1/whoami").json["used"]["open_jobs_max"] == 1
    wrong = {"job": {"template": "nap", "arguments": {"seconds": 61}}}
    assert carla.post("/v1/jobs", wrong).json["where"] == "arguments.seconds"
    assert carla.post("/v1/jobs", {"job": {"template": "none"}}).status == 422
    carla.delete(f"/v1/jobs/{found.json['job_id']}")
    assert owner.delete("/v1/templates/nap").status == 204
    assert owner.delete("/v1/templates/nap").status == 404
    assert owner.delete("/v1/tenants/small").status == 204


def test_a_tenant_that_asks_too_often_is_slowed(service, owner):
    dora = Client(service, token(service, "dora", "eager"))
    owner.ask("PUT", "/v1/tenants/eager", {"requests_s_max": 0.5})
    statuses = [dora.get("/v1/jobs").status]
    while statuses[-1] == 200 and len(statuses) < 100:
        statuses.append(dora.get("/v1/jobs").status)
    assert statuses[:5] == [200] * 5
    assert statuses[-1] == 429
    assert int(dora.get("/v1/jobs").headers["retry-after"]) >= 1
    owner.delete("/v1/tenants/eager")
    assert dora.get("/v1/jobs").status == 200


def test_what_tenants_used_and_are_owed_also_after_a_restart(service, owner):
    clients = {
        name: Client(service, token(service, name, f"team-{name}")) for name in ("edda", "finn")
    }
    for client, seconds in (("edda", 2), ("finn", 0.2)):
        job_id = (
            clients[client].post("/v1/jobs", {"job": job(service, client, seconds)}).json["job_id"]
        )
        service.run("jobs", "--json")
        while clients[client].get(f"/v1/jobs/{job_id}").json["state"] != "done":
            time.sleep(0.1)
    found = owner.get("/v1/fairness?period_s=1").json
    assert found["holders"] == "tenants"
    shares = found["shares"]
    assert shares["team-edda"]["used"] > shares["team-finn"]["used"] > 0
    assert sum(one["lent"] for one in shares.values()) == pytest.approx(
        sum(one["borrowed"] for one in shares.values()), abs=1e-9
    )
    assert sum(one["owed"]["long_term"] for one in shares.values()) == pytest.approx(0, abs=1e-9)
    assert shares["team-edda"]["used_usd"] == pytest.approx(shares["team-edda"]["used"] / 3)
    used = sum(one["shares"]["team-edda"]["used"] for one in found["periods"])
    assert used == pytest.approx(shares["team-edda"]["used"])
    own = clients["finn"].get("/v1/fairness").json["shares"]
    assert set(own) == {"team-finn", "other tenant"}
    wrong = owner.get("/v1/fairness?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")
    assert (wrong.status, wrong.json["what"]) == (422, "no task ran in this span")
    assert owner.get("/v1/fairness?period_s=1&from=2020-01-01T00:00:00Z").status == 422
    day = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    whole = owner.get(f"/v1/fairness?from={day}&period_s=3600").json
    entitled = sum(one["entitled"] for one in whole["shares"].values())
    assert entitled < whole["containers"] / 2, "of the minutes of the service, not of the day"
    assert whole["shares"]["team-edda"]["used"] == pytest.approx(shares["team-edda"]["used"])
    before = owner.get("/v1/fairness").json["shares"]["team-edda"]["used"]
    service.stop()
    service.start()
    after = Client(service, is_owner=True).get("/v1/fairness").json["shares"]["team-edda"]["used"]
    assert after == pytest.approx(before, rel=1e-6)


YARN = """<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>slow,fast</value></property>
  <property><name>yarn.scheduler.capacity.root.slow.capacity</name><value>{slow}</value></property>
  <property><name>yarn.scheduler.capacity.root.fast.capacity</name><value>{fast}</value></property>
  <property><name>yarn.scheduler.capacity.root.slow.colour</name><value>red</value></property>
  <property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>1</value></property>
</configuration>"""


@pytest.fixture(scope="module")
def queued(tmp_path_factory):
    pools = "pools: [{id: slow, weight: 3}, {id: fast}]\nscheduler: {tasks: fair}\n"
    config = CONFIG.replace("service:", f"{pools}service:")
    folder = tmp_path_factory.mktemp("queued")
    with serving(folder, "--config", "serve.yaml", config=config) as it:
        yield it


def test_a_configuration_is_tried_on_what_the_service_ran(queued):
    owner = Client(queued, is_owner=True)
    began = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    for number in range(6):
        queue = "fast" if number % 2 else "slow"
        asked = {"job": job(queued, f"{queue}-{number}", 0.3), "queue": queue}
        assert owner.post("/v1/jobs", asked).status == 201
    while owner.get("/v1/jobs?state=done").json["total"] < 6:
        time.sleep(0.1)
    first = owner.post("/v1/configs", {"name": "next", "text": YARN.format(slow=90, fast=10)})
    assert first.status == 201, first.text
    assert first.json["queues"] == ["root.slow", "root.fast"]
    assert any("colour" in key for key in first.json["unknown_keys"])
    body = {"name": "next", "text": YARN.format(slow=20, fast=80)}
    assert owner.post("/v1/configs", body, If_Match='"7"').status == 412
    second = owner.post("/v1/configs", body, If_Match=first.headers["etag"])
    assert (
        "+  <property><name>yarn.scheduler.capacity.root.fast.capacity</name><value>80"
        in (second.json["diff"])
    )
    assert [one["version"] for one in owner.get("/v1/configs/next").json["versions"]] == [1, 2]
    ended = f"{datetime.now(UTC) + timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"
    begun = owner.post("/v1/configs/next/replays", {"from": began, "to": ended})
    assert begun.status == 202, begun.text
    while (answer := owner.get(begun.headers["location"]).json)["state"] == "running":
        time.sleep(0.1)
    assert answer["state"] == "done", answer
    queues = answer["result"]["queues"]
    assert set(queues) >= {"root.slow", "root.fast"}
    assert queues["root.fast"]["old"]["jobs"] == queues["root.fast"]["new"]["jobs"] == 3
    nothing = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}
    assert owner.post("/v1/configs/next/replays", nothing).status == 422
    assert owner.post("/v1/configs/other/replays", nothing).status == 404
    wrong = owner.post("/v1/configs", {"name": "bad", "text": "<x/>"})
    assert (wrong.status, wrong.json["where"]) == (422, "text")


def test_a_job_that_waits_says_what_would_start_it_earlier(queued):
    owner = Client(queued, is_owner=True)
    ids = []
    for number in range(8):
        asked = {"job": job(queued, f"long-{number}", 120), "queue": "slow"}
        ids.append(owner.post("/v1/jobs", asked).json["job_id"])
    try:
        why = owner.get(f"/v1/jobs/{ids[-1]}/why").json
        assert not why["never"]
        changes = [one["change"] for one in why["would_help"]]
        # One node more helps or does not, by what the futures draw; two make room for all.
        assert changes in (
            ["queue fast", "1 more node", "2 more nodes"],
            ["queue fast", "2 more nodes"],
        )
        now = owner.get(f"/v1/jobs/{ids[-1]}").json
        starts = [one["starts_at"] for one in why["would_help"]]
        assert [now["starts_at"], *starts] == sorted([now["starts_at"], *starts], reverse=True)
        assert owner.get(f"/v1/jobs/{ids[0]}/why").json["would_help"] == []
        # What is expected follows what happens, and the promise stays.
        for job_id in ids[1:4]:
            owner.delete(f"/v1/jobs/{job_id}")
        until_s = time.monotonic() + PATIENCE_S
        promised = datetime.fromisoformat(now["promise"]["starts_at"]["expected"])
        while datetime.fromisoformat(now["starts_at"]) > promised - timedelta(seconds=10):
            assert time.monotonic() < until_s, now
            time.sleep(0.2)
            now = owner.get(f"/v1/jobs/{ids[-1]}").json
    finally:
        for job_id in ids:
            owner.delete(f"/v1/jobs/{job_id}")
