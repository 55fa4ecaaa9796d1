"""From Ray's nodes to ours, and what a missing or strange Ray cluster is answered with."""

import importlib.util
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from types import SimpleNamespace

import pytest
from tests.engines.fakes import HEADER, FakeSource
from tests.live.command_line import awaited

from sluice.bootstrap.engines.registry import checked_engine, end_lost_clusters, engine_kind
from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.preparation.facts import ON_MESSAGE, OPTIONS, WORKLOAD
from sluice.bootstrap.preparation.work import weights_in_file
from sluice.core.commands import Provision
from sluice.core.reasons import Reason, ReasonCode
from sluice.engines.base import Limits
from sluice.engines.cluster.handshake import new_token
from sluice.engines.dispatch import Dispatcher
from sluice.engines.local.scratch_lock import ScratchLock
from sluice.engines.ray.agent_actor import remove_left_folders
from sluice.engines.ray.bridge import nodes_of
from sluice.engines.ray.bridge_process import (
    BridgeProcess,
    BridgeRecord,
    RayPlace,
    check_ray,
    end_remnants,
    listed_nodes,
)
from sluice.engines.ray.embedded_cluster import NODE_LABEL, EmbeddedCluster
from sluice.engines.ray.nodes import NodeRule
from sluice.engines.run_clock import RunClock
from sluice.engines.settings import TaskLimitSettings
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.workload import Workload
from sluice.store.runs import Runs

FOUND = {
    "id": "abcdef0123456789",
    "host": "worker-3",
    "address": "10.0.0.3",
    "resources": {"CPU": 4.0},
    "labels": {"rack": "r7", "kind": "m5"},
}


def test_processors_and_labels_become_slots_and_racks():
    rule = NodeRule(map_slots_per_cpu=1.5, reduce_slots_per_cpu=0.5, type_label="kind")

    assert rule.node(FOUND) == Node(
        node_id="worker-3-abcdef", rack="r7", map_slots=6, reduce_slots=2, vm_type="m5"
    )


@pytest.mark.parametrize(("label", "rack"), [("rack", "r7"), ("kind", "m5"), ("zone", "rack-1")])
def test_a_site_names_the_label_of_its_racks(label, rack):
    assert NodeRule.of(TaskLimitSettings(ray_rack_label=label)).node(FOUND).rack == rack


@pytest.mark.parametrize(
    ("words", "weight"),
    [
        ("", 1.0),
        ("c5=4", 1.0),
        ("m5=2.5, c5=4", 2.5),
        ("r7=3", 3.0),
        ("worker-3=7, m5=2.5, r7=3", 7.0),
        ("m5 = 1e2,", 100.0),
    ],
)
def test_a_unit_counts_by_the_host_the_type_or_the_rack_of_its_node(words, weight):
    settings = TaskLimitSettings(ray_type_label="kind", unit_weights=words)

    assert NodeRule.of(settings).node(FOUND).unit_weight == weight


@pytest.mark.parametrize(
    "words", ["m5", "m5=", "=2", "m5=0", "m5=-1", "m5=nan", "m5=1e999", "m5=1e-300", "m5=2,m5=3"]
)
def test_weights_that_cannot_be_are_refused(words):
    with pytest.raises(InvalidInput) as refused:
        TaskLimitSettings(unit_weights=words).node_weights()
    assert refused.value.where == "run.unit_weights"
    assert "m5" in str(refused.value) or "=2" in str(refused.value)


def test_a_node_without_labels_is_in_the_usual_rack():
    assert NodeRule().node(FOUND | {"labels": {}}) == Node(
        node_id="worker-3-abcdef", map_slots=4, reduce_slots=4
    )


def test_a_node_of_an_embedded_cluster_is_the_one_it_was_started_for():
    nodes = (Node(node_id="a", map_slots=1), Node(node_id="b", map_slots=9))

    assert NodeRule(embedded=nodes).node(FOUND | {"labels": {"sluice-node": "1"}}) == nodes[1]


@pytest.mark.parametrize(
    ("options", "where", "words"),
    [
        ({"engine": "rey"}, "--engine", "did you mean ray?"),
        ({"address": "auto"}, "--address", "use --engine ray"),
        ({"engine": "ray", "address": "auto", "nodes": 2}, "--nodes", "leave it out"),
        *(
            ({"engine": "ray", "address": address}, "--address", "give HOST:PORT")
            for address in ("local", "ray://127.0.0.1:10001", "head", "head:", ":6379", "h:99999")
        ),
    ],
)
def test_options_that_do_not_fit_are_explained(options, where, words):
    with pytest.raises(InvalidInput) as refused:
        checked_engine(RunOptions(**options))

    assert refused.value.where == where
    assert words in refused.value.hint


def test_an_address_where_nothing_listens_is_refused_at_once(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    refused = f"{address}: Connection refused. Start it"

    with pytest.raises(EngineUnavailable, match=refused):
        listed_nodes(address)
    with pytest.raises(EngineUnavailable, match=refused):
        BridgeProcess(tmp_path / "ray", RayPlace(address=address))


@pytest.mark.parametrize(
    ("labels", "address"), [({NODE_LABEL: "0"}, "127.0.0.1"), ({}, "10.0.0.3"), (None, "10.0.0.3")]
)
def test_only_nodes_of_an_embedded_cluster_are_reached_at_the_loopback_address(labels, address):
    node = {
        "NodeID": "ab", "Alive": True, "NodeManagerHostname": "h", "Labels": labels,
        "NodeManagerAddress": "10.0.0.3", "Resources": {"CPU": 1.0},
    }  # fmt: skip
    (found,) = nodes_of(SimpleNamespace(nodes=lambda: [node])).values()

    assert address == found["address"]


def test_a_missing_extra_is_one_clear_message(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match="needs Ray, which is not installed"):
        check_ray()


def test_only_an_engine_that_can_is_asked_for_nodes():
    class Renting:
        def __init__(self):
            self.asked = []

        def provision(self, nodes):
            self.asked.append(nodes)

    command = Provision("m5", 3, Reason(ReasonCode.NOT_RELEASED))
    engine = Renting()
    for one in (engine, object()):
        Dispatcher(
            engine=one,
            source=FakeSource([]),
            driver_state=None,
            clock=RunClock(),
            limits=Limits(),
            epoch=1,
        ).carry_out([command])

    assert engine.asked == [3]


def test_what_a_killed_bridge_left_is_ended_by_the_next_clean(tmp_path):
    runs = Runs(tmp_path)
    journal = runs.create(HEADER)
    folder, root = journal.folder / "ray", tmp_path / "sluice-ray-1"
    journal.close()
    folder.mkdir()
    root.mkdir()
    BridgeRecord(token=new_token(), root=str(root)).write(folder)
    left = subprocess.Popen(["sleep", "600"], env={"SLUICE_NODE": str(folder), "PATH": "/bin"})
    try:
        end_lost_clusters(runs)
        assert left.wait(10) == -signal.SIGKILL
    finally:
        left.kill()
        left.wait()
    assert not root.exists()


def test_folders_of_nodes_that_died_are_removed_by_the_next_agent_there(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, used, new, other = folders = [
        tmp_path / name for name in ("sluice-node-1", "sluice-node-2", "sluice-node-3", "node-4")
    ]
    for folder in folders:
        folder.mkdir()
    for folder in (left, other):
        (folder / "lock").touch()
    lock = ScratchLock(used)
    lock.take()
    remove_left_folders()

    assert {used, new, other} == set(tmp_path.iterdir())
    lock.release()


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_file_behind_the_lock_of_a_left_folder_keeps_its_mode(tmp_path, monkeypatch, link):
    """Other users may make such folders in /tmp, with links to files of the one who comes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    precious, folder = tmp_path / "precious", tmp_path / "sluice-node-1"
    precious.touch(0o644)
    folder.mkdir()
    getattr(folder / "lock", link)(precious)

    remove_left_folders()

    assert 0o644 == stat.S_IMODE(precious.stat().st_mode)
    assert folder.exists()


def test_only_a_folder_of_a_bridge_is_ever_removed(tmp_path):
    root, other = tmp_path / "sluice-ray-1", tmp_path / "precious"
    for path in (root, other):
        path.mkdir()
        BridgeRecord(token=new_token(), root=str(path)).write(tmp_path)
        end_remnants(tmp_path)

    assert not root.exists()
    assert other.exists()
    assert not end_remnants(tmp_path / "none")


@pytest.mark.parametrize(
    ("address", "weight", "warns"), [("auto", 2.0, True), ("auto", 1.0, False), (None, 2.0, False)]
)
def test_weights_of_nodes_that_are_not_used_are_reported(address, weight, warns):
    node = Node(node_id="a", map_slots=1, unit_weight=weight)
    said: list[str] = []
    facts = {
        WORKLOAD: Workload(jobs=(), cluster=Cluster(nodes=(node,))),
        OPTIONS: RunOptions(engine="ray", address=address),
        ON_MESSAGE: said.append,
    }
    weights_in_file(facts)

    assert [("run.unit_weights" in line) for line in said] == [True] * warns


def test_more_raylets_than_there_is_memory_for_are_refused():
    workload = Workload(jobs=(), cluster=Cluster(nodes=(Node(node_id="a", map_slots=1),)))
    engine_kind("ray").with_nodes(workload, RunOptions(engine="ray"))
    engine_kind("local").with_nodes(workload, RunOptions(nodes=1_000_000))

    with pytest.raises(InvalidInput, match=r"1000000 raylets on this machine need 220000\.0 GB"):
        engine_kind("ray").with_nodes(workload, RunOptions(engine="ray", nodes=1_000_000))


class HandCluster:
    """As Ray's `Cluster`; raylets start when they are let, and number 2 does not."""

    address = "here"

    def __init__(self, **_):
        self.head_node, self.worker_nodes = None, set()
        self.given, self.raylets, self.may_start = [], [], threading.Event()
        self._is_begun = threading.Lock()

    def add_node(self, **given):
        assert self._is_begun.acquire(blocking=False), "two begin at once"
        words = [
            "sh",
            "-c",
            "sleep 60 & wait",
            f"--raylet_socket_name={given['raylet_socket_name']}",
        ]
        self.given.append(given)
        time.sleep(0.05)
        self._is_begun.release()
        self.raylets.append(subprocess.Popen(words, start_new_session=True))
        assert self.may_start.wait(10.0)
        if given["labels"] == {"sluice-node": "2"}:
            raise RuntimeError("no room for a raylet")


def test_raylets_start_together_and_one_that_cannot_ends_the_cluster(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.cluster_utils", SimpleNamespace(Cluster=HandCluster))
    cluster = EmbeddedCluster(tmp_path)
    cluster.add_nodes(["0", "1", "2"])
    raylets = cluster._cluster.raylets
    try:
        awaited(lambda: len(raylets) == 3, "three raylets")
        cluster.check()
        sockets = [
            given[name] for given in cluster._cluster.given for name in given if "socket" in name
        ]
        assert len(set(sockets)) == 6
    finally:
        cluster._cluster.may_start.set()
        cluster.end()
        for raylet in raylets:
            os.killpg(raylet.pid, signal.SIGKILL)
            raylet.wait()
    with pytest.raises(RuntimeError, match="no room"):
        cluster.check()
