"""Which nodes of YARN a run takes as it gives nodes back and asks for more, also after a kill."""

import time

import pytest
from tests.resource_manager import NODE as ROW
from tests.resource_manager import FakeResourceManager, served

from sluice.engines.base import Renter
from sluice.engines.cluster.managed import ManagedEngine
from sluice.engines.yarn import application
from sluice.engines.yarn.application import YarnApplication
from sluice.engines.yarn.launcher import YarnLauncher
from sluice.engines.yarn.nodes import ContainerRule
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.engines.yarn.settings import YarnSettings
from sluice.model.ids import NodeId

APP = "application_1767599999999_0001"
HOSTS = ("a", "b", "c", "d")
NODES_PATH = "/ws/v1/cluster/nodes"


def rows(*hosts, free_mb=8192):
    free = {"availMemoryMB": free_mb, "usedMemoryMB": 8192 - free_mb}
    return [ROW | free | {"id": f"{host}:45454", "nodeHostName": host} for host in hosts]


class Link:
    """A connection with an ApplicationMaster that only listens."""

    def __init__(self, *_, **__):
        self.sent = []

    def send(self, request):
        self.sent.append((request["do"], request.get("id", "")))

    def messages(self):
        return []

    def close(self):
        pass


@pytest.fixture
def cluster(monkeypatch):
    fake = FakeResourceManager(nodes=rows(*HOSTS))
    fake.answers["/ws/v1/cluster/apps/new-application"] = {"application-id": APP}
    fake.answers["/ws/v1/cluster/apps"] = 202
    running = {"app": {"state": "RUNNING", "amRPCAddress": "worker:1"}}
    fake.answers[f"/ws/v1/cluster/apps/{APP}"] = running
    monkeypatch.setattr(application, "MasterLink", Link)
    monkeypatch.setattr(application, "LOOK_S", 0.0)
    with served(fake):
        yield fake


@pytest.fixture
def made(cluster, tmp_path):
    """Returns an application with at most so many nodes at first."""

    def make(nodes=None):
        rest = ResourceManagerRest(cluster.address)
        settings = YarnSettings(yarn_nodes=nodes)
        return YarnApplication(tmp_path / "yarn", rest, settings, epoch=1, grace_s=1.0)

    return make


def taken(app):
    """The hosts of the nodes that are new since the last look."""
    return [each["host"] for each in app.reports() if each["report"] == "node"]


def given_back(app, *hosts):
    for host in hosts:
        app.send({"do": "release", "id": f"{host}:45454"})


@pytest.mark.parametrize(("nodes", "first"), [(None, "abcd"), (2, "ab")])
def test_a_node_that_was_given_back_comes_again_only_when_more_are_asked_for(made, nodes, first):
    app = made(nodes)
    assert taken(app) == list(first)
    given_back(app, "a")
    assert app._link.sent[-1] == ("release", "a:45454")
    app._part()  # another ApplicationMaster is found
    assert taken(app) == []
    app.send({"do": "provision", "nodes": 1})
    assert taken(app) == ["a"]
    assert taken(app) == []


def test_a_run_that_begins_with_few_nodes_grows(made):
    app = made(1)
    assert taken(app) == ["a"]
    app.send({"do": "provision", "nodes": 2})
    assert taken(app) == ["b", "c"]
    given_back(app, "b", "c")
    app.send({"do": "provision", "nodes": 3})
    assert taken(app) == ["b", "c", "d"]


def test_a_node_that_comes_again_gets_as_large_a_container_as_before(made, cluster):
    app = made(1)
    taken(app)
    given_back(app, "a")
    cluster.answers[NODES_PATH] = {"nodes": {"node": rows("a", free_mb=0)}}  # it still ends
    app.send({"do": "provision", "nodes": 1})
    (report,) = [each for each in app.reports() if each["report"] == "node"]
    assert report["free_memory_mb"] == 8192


def test_more_nodes_are_found_once_the_resource_manager_is_back(made, cluster, monkeypatch):
    app = made(1)
    taken(app)
    app.send({"do": "provision", "nodes": 1})
    right = app._rest._bases
    monkeypatch.setattr(app._rest, "_bases", ["http://127.0.0.1:9"])
    assert taken(app) == []
    monkeypatch.setattr(app._rest, "_bases", right)
    assert taken(app) == ["b"]


def test_a_resumed_run_has_the_nodes_that_it_had(made):
    """It began with one, rented three, gave one of them back, and lost none."""
    app = made(1)
    app.send({"do": "restore", "rented": 2, "taken": ["a", "c", "d"], "returned": ["b"]})
    assert sorted(taken(app)) == ["a", "c", "d"]
    assert ("release", "b:45454") in app._link.sent
    app.send({"do": "provision", "nodes": 1})
    assert taken(app) == ["b"]


def test_a_resumed_run_replaces_a_lost_node_once(made):
    app = made(2)
    app.send({"do": "restore", "rented": 0, "taken": ["b", "c", "lost"], "returned": []})
    assert taken(app) == ["b", "c"]


def test_the_engine_gives_back_a_node_once(cluster, tmp_path):
    rest = ResourceManagerRest(cluster.address)
    rule = ContainerRule(settings=YarnSettings(), step_mb=128)
    launcher = YarnLauncher(tmp_path / "yarn", rest, rule, epoch=1, lease_s=None, grace_s=1.0)
    engine = ManagedEngine(launcher, 1, time.monotonic)
    assert isinstance(engine, Renter)
    a, b, c, d = map(NodeId, HOSTS)
    engine.restore([], [a], [b, c])
    launcher.open()
    launcher.tend(0.0)
    assert launcher.alive == frozenset([a, d])
    for _ in range(2):
        engine.give_back(a)
    link = launcher._manager._link
    assert link.sent.count(("release", "a:45454")) == 1
    assert [(one.node_id, one.reason) for one in engine.events(0)] == [("a", "it was given back")]
    cluster.answers[f"/ws/v1/cluster/apps/{APP}"] = {"app": {"state": "FINISHED"}}
    launcher.close()
