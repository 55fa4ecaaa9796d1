"""The answers that a ResourceManager may give, and what is said of them; no Java is needed here."""

import getpass
import json
from contextlib import contextmanager

import pytest
from tests.raw_server import NOT_HTTP, raw_served
from tests.resource_manager import FakeResourceManager, served

from sluice.bootstrap.engines.registry import checked_engine, engine_kind
from sluice.bootstrap.live.run_options import RunOptions
from sluice.engines.settings import TaskLimitSettings
from sluice.engines.yarn.nodes import ContainerRule, reported, usable
from sluice.engines.yarn.rest import ResourceManagerRest, RestFault, YarnNode
from sluice.engines.yarn.settings import YarnSettings
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.workload import Workload

NODE = YarnNode(
    node_id="worker:45454", host="worker", rack="/r1", memory_mb=8192, vcores=8,
    free_memory_mb=7000, free_vcores=7,
)  # fmt: skip


class Answering(FakeResourceManager):
    """One that gives the same answer to everything."""

    def __init__(self, status, content):
        super().__init__()
        self.status, self.content = status, content

    def answer(self, method, target):
        return self.status, {}, self.content


@contextmanager
def answering(status, content):
    with served(Answering(status, content)) as fake:
        yield ResourceManagerRest(fake.address)


def test_nodes_come_with_what_is_free():
    row = {
        "id": "worker:45454", "nodeHostName": "worker", "rack": "/r1", "usedMemoryMB": 1192,
        "availMemoryMB": 7000, "usedVirtualCores": 1, "availableVirtualCores": 7,
    }  # fmt: skip
    with answering(200, json.dumps({"nodes": {"node": [row]}}).encode()) as rest:
        assert rest.nodes() == [NODE]
    with answering(200, b'{"nodes": null}') as rest:
        assert rest.nodes() == []


class Asked(FakeResourceManager):
    """One that keeps the query of each request."""

    def __init__(self):
        super().__init__()
        self.queries = []

    def answer(self, method, target):
        self.queries.append(target.partition("?")[2])
        return super().answer(method, target)


@pytest.mark.parametrize(
    ("given", "user"), [((), getpass.getuser()), (("yarn_user=a b",), "a%20b")]
)
def test_yarn_is_asked_as_the_user_of_the_setting(given, user):
    workload = Workload(jobs=(), cluster=Cluster(nodes=(Node(node_id="a", map_slots=1),)))
    with served(Asked()) as fake:
        options = RunOptions(engine="yarn", address=fake.address, settings=given)
        engine_kind("yarn").with_nodes(workload, options)

    assert {f"user.name={user}"} == {query.rpartition("&")[2] for query in fake.queries}


@pytest.mark.parametrize(
    "text", [b"<html>", b"[]", b'{"nodes": {"node": [{}]}}', b'{"nodes": {"node": 3}}', b"[" * 9999]
)
def test_an_answer_of_something_else_is_one_clear_message(text):
    with (
        answering(200, text) as rest,
        pytest.raises(EngineUnavailable, match=r"Is it its web address\?"),
    ):
        rest.nodes()


def test_a_remote_exception_says_what_yarn_says():
    said = {"RemoteException": {"message": "Queue x does not exist\nat Foo", "exception": "E"}}
    with (
        answering(400, json.dumps(said).encode()) as rest,
        pytest.raises(RestFault, match=r"Queue x does not exist \(400\)"),
    ):
        rest.submit({})


def test_a_page_of_another_server_is_not_printed():
    page = b'<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN">\n<html>Not found</html>'
    with answering(404, page) as rest, pytest.raises(RestFault) as fault:
        rest.nodes()
    assert str(fault.value) == (
        f"{rest.base}: Not Found (404). It answers with a web page: is it its web address?"
    )


def test_a_server_that_is_not_there_is_one_clear_message():
    with pytest.raises(EngineUnavailable, match=r"no ResourceManager answers at .*refused"):
        ResourceManagerRest("http://127.0.0.1:9").nodes()


@pytest.mark.parametrize("said", NOT_HTTP.values(), ids=NOT_HTTP)
def test_a_server_of_something_else_is_one_clear_message(said):
    with raw_served(said) as host, pytest.raises(EngineUnavailable, match=host):
        ResourceManagerRest(f"http://{host}").nodes()


def test_an_https_address_of_a_server_without_tls_is_named():
    with (
        raw_served(b"HTTP/1.1 400 Bad Request\r\n\r\n") as host,
        pytest.raises(EngineUnavailable, match=r"does not answer with TLS.* http://"),
    ):
        ResourceManagerRest(f"https://{host}").nodes()


def test_the_settings_say_what_a_node_is():
    plain = ContainerRule(settings=YarnSettings(), step_mb=1024)
    assert plain.node(reported(NODE)).map_slots == 7
    assert plain.node(reported(NODE)).rack == "r1"
    assert (plain.memory_mb(reported(NODE)), plain.vcores(reported(NODE))) == (6144, 7)

    settings = YarnSettings(
        yarn_memory_mb=2000, yarn_vcores=2, yarn_map_slots_per_vcore=2,
        yarn_reduce_slots_per_vcore=0.5, yarn_containers_per_vcore=1,
    )  # fmt: skip
    rule = ContainerRule(settings=settings, step_mb=512)
    node = rule.node(reported(NODE))
    assert (node.map_slots, node.reduce_slots, node.containers) == (4, 1, 2)
    assert (rule.memory_mb(reported(NODE)), rule.vcores(reported(NODE))) == (1536, 2)


@pytest.mark.parametrize(
    ("words", "weight"),
    [("", 1.0), ("r2=4", 1.0), ("r1=3", 3.0), ("/r1=3", 1.0), ("r1=3, worker=7", 7.0)],
)
def test_a_unit_counts_by_the_host_or_the_rack_of_its_node(words, weight):
    weights = TaskLimitSettings(unit_weights=words).node_weights()
    with answering(200, b'{"property": {"value": "512"}}') as rest:
        rule = ContainerRule.of(YarnSettings(), weights, rest)

    assert rule.node(reported(NODE)).unit_weight == weight
    assert rule.step_mb == 512


def test_a_host_with_two_node_managers_is_one_node():
    twin = NODE.__class__(**{**_fields(NODE), "node_id": "worker:9"})
    tiny = NODE.__class__(**{**_fields(NODE), "host": "tiny", "memory_mb": 64})
    assert usable([twin, NODE, tiny]) == [NODE]


def _fields(node):
    return {name: getattr(node, name) for name in node.__slots__}


@pytest.mark.parametrize(
    ("options", "where", "words"),
    [
        ({}, "--address", "http://rm:8088"),
        ({"address": "rm:8088"}, "--address", "http://rm:8088"),
        ({"address": "http://rm:8088/ws/v1"}, "--address", "http://rm:8088"),
        ({"address": "http://rm:8088", "nodes": 2}, "--nodes", "yarn_map_slots_per_vcore"),
    ],
)
def test_options_that_do_not_fit_are_explained(options, where, words):
    with pytest.raises(InvalidInput) as refused:
        checked_engine(RunOptions(engine="yarn", **options))

    assert refused.value.where == where
    assert words in refused.value.hint
