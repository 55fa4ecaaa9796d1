"""What the tenants of a shared service may use: quotas, templates, and how often they may ask."""

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import CONFIG, serving

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
    statuses = [dora.get("/v1/jobs").status for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3
    assert int(dora.get("/v1/jobs").headers["retry-after"]) >= 1
    owner.delete("/v1/tenants/eager")
    assert dora.get("/v1/jobs").status == 200
