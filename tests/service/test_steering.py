"""A service steers the YARN cluster that it observes: once, with reasons, and back at the end."""

import json
import time

import pytest
import yaml
from tests import skips
from tests.resource_manager import CONF, SteeredResourceManager, application, served
from tests.service.clients import Client, token
from tests.service.services import CONFIG, PATIENCE_S, killed, serving

from sluice.bootstrap.service.config import ServiceConfig
from sluice.ingest.reading import SourceText
from sluice.model.errors import InvalidInput

CONFIGURED = {
    "root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
}  # fmt: skip
OPTIONS = ("--config", "serve.yaml", "--listen", "none")
RM = "http://rm:8088"


@pytest.fixture
def cluster():
    used = application(9, "FINISHED", queue="root.a", vcoreSeconds=1000)
    rows = [application(1, "RUNNING"), used]
    with served(SteeredResourceManager(rows, CONFIGURED)) as fake:
        yield fake


def config_of(address, **steer):
    section = {"promise_wait_s": 30, "observe": address, "steer": {"policies": ["ltyarn"], **steer}}
    return json.dumps({**yaml.safe_load(CONFIG), "service": section})


def read(section, **more):
    content = json.dumps({"version": 1, "service": section, **more}).encode()
    return ServiceConfig.read(SourceText(content=content, name="serve.yaml", file="-", folder="."))


def steering(service):
    return service.document("serve", "status")["steering"]


def awaited(service, is_there):
    """The status of what steers, once it is so."""
    until_s = time.monotonic() + PATIENCE_S
    while not ((found := steering(service)) and is_there(found)):
        assert time.monotonic() < until_s, found
        time.sleep(0.2)
    return found


def has_gone_round(found):
    return found["as_of"] is not None


def folder_of(service):
    return service.folder / "home/service/steering"


def test_the_policies_of_the_file_steer_what_they_can():
    scheduler = {"tasks": "ltyarn", "release": "mrorder"}
    options = read({"observe": RM, "steer": True}, scheduler=scheduler).steering
    assert options.policies == ("ltyarn", "mrorder")
    assert options.may_change == ("queues", "applications")
    assert (options.apply, options.every_s, options.undo_at_stop) == (True, 30, False)
    options = read({"observe": RM, "steer": ["applications"]}, scheduler=scheduler).steering
    assert options.policies == ("mrorder",)
    assert read({"observe": RM, "steer": False}, scheduler=scheduler).steering is None


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"steer": True}, "it steers no cluster. Add `observe"),
        ({"observe": RM, "steer": True}, "(fair, input) cannot steer a cluster"),
        ({"observe": RM, "steer": ["priorities"]}, "may_change is"),
        ({"observe": RM, "steer": {"policies": ["mrordr"]}}, "policies is"),
        ({"observe": RM, "steer": {"policies": []}}, "policies is"),
        ({"observe": RM, "steer": {"every_s": 0}}, "a number from 1"),
        ({"observe": RM, "steer": {"rate": True}}, "a number from 0.1"),
        ({"observe": RM, "steer": {"aply": False}}, "Did you mean apply"),
        ({"observe": RM, "steer": {"apply": "no"}}, "Give true or false"),
        ({"observe": RM, "steer": 3}, "steer is 3"),
        (
            {"observe": RM, "steer": {"policies": ["ltyarn"], "may_change": ["applications"]}},
            "ltyarn does not change applications",
        ),
    ],
)
def test_what_would_have_no_effect_is_refused_at_the_start(section, words):
    with pytest.raises(InvalidInput) as refused:
        read(section, scheduler={"tasks": "fair"}).check()
    assert words in str(refused.value)


def test_a_service_steers_shows_its_reasons_and_takes_all_back_at_its_end(cluster, tmp_path):
    config = config_of(cluster.address, undo_at_stop=True, every_s=1)
    with serving(tmp_path, *OPTIONS, config=config) as service:
        checked = service.run("serve", "check", "--config", "serve.yaml")
        assert "ltyarn may change capacities of queues at http://" in checked[1]
        assert "They are taken back when the service stops." in checked[1]
        found = awaited(service, lambda found: has_gone_round(found) and found["decisions"])
        assert cluster.configured["root.a.capacity"] != "50"
        assert {one["outcome"] for one in found["decisions"]} == {"done"}
        assert found["undo"] == str(folder_of(service) / "undo.yaml")
        code, _, err = service.run("serve", "status")
        assert code == 0
        assert f"Steers {cluster.address} by ltyarn" in err
        assert "core-seconds, and its share is 50 %" in err

        killed(found["pid"])
        again = awaited(service, lambda now: now["pid"] != found["pid"] and has_gone_round(now))
        assert [path for path, _ in cluster.puts] == [CONF], "nothing is made twice"
        assert again["decisions"] == found["decisions"]
        assert cluster.configured["root.a.capacity"] != "50"
    assert cluster.configured == CONFIGURED
    assert not (tmp_path / "home/service/steering/undo.yaml").exists()


def test_a_service_that_is_killed_goes_on_steering_and_another_file_ends_it(cluster, tmp_path):
    config = config_of(cluster.address, every_s=1)
    with serving(tmp_path, *OPTIONS, config=config) as service:
        first = awaited(service, has_gone_round)
        service.process.kill()
        service.process.wait()
        service.process.stderr.close()
        service.start()
        assert awaited(service, has_gone_round)["pid"] == first["pid"]
        assert [path for path, _ in cluster.puts] == [CONF]
        service.stop()
        assert cluster.configured["root.a.capacity"] != "50", "undo_at_stop is false"
        assert (folder_of(service) / "undo.yaml").exists()

        (tmp_path / "serve.yaml").write_text(config_of(cluster.address, undo_at_stop=True))
        service.start()
        awaited(service, has_gone_round)
        service.stop()
        assert cluster.configured == CONFIGURED, "the undo plan has the values of the first start"
        (tmp_path / "serve.yaml").write_text(CONFIG)
        service.start()
        assert steering(service) is None


def test_a_service_that_only_lists_changes_nothing(cluster, tmp_path):
    config = config_of(cluster.address, apply=False)
    with serving(tmp_path, *OPTIONS, config=config) as service:
        found = awaited(service, lambda found: found["decisions"])
        assert {one["outcome"] for one in found["decisions"]} == {"listed"}
        assert "Would steer" in service.run("serve", "status")[2]
    assert cluster.puts == []


def test_operators_see_decisions_over_http_and_users_do_not(cluster, tmp_path):
    observed = skips.required("sluice.service.routes.observed")
    config = config_of(cluster.address, apply=False)
    options = ("--config", "serve.yaml", "--listen", "127.0.0.1:0")
    with serving(tmp_path, *options, config=config) as service:
        awaited(service, lambda found: found["decisions"])
        found = Client(service, token(service, "olga", role="operator")).get("/v1/steering").json
        assert (found["address"], found["policies"]) == (cluster.address, ["ltyarn"])
        assert found["total"] == 4
        assert found["items"][0]["reason"].endswith("its share is 50 %")
        page = observed.Steering.model_validate(found)
        assert page.model_dump() == found, "the document describes each field"
        assert Client(service, token(service, "anna")).get("/v1/steering").status == 403
