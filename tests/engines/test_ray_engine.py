"""The engine over Ray: one embedded cluster for all tests here, each with nodes of its own."""

import os
import signal
import time
from pathlib import Path

import pytest
from tests.engines.test_engine_contract import ends
from tests.engines.test_local_engine import Bench, left_of, marked, pid_in, shell
from tests.live.command_line import awaited

from sluice.core.events import (
    FailureKind,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    TaskStarted,
)
from sluice.engines.agent import kernel
from sluice.engines.cluster.managed import ManagedEngine
from sluice.engines.ray.bridge_process import BridgeRecord, RayPlace
from sluice.engines.ray.launcher import RayLauncher
from sluice.engines.ray.nodes import NodeRule
from sluice.model.cluster import Node

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

NODES = tuple(Node(node_id=f"n{number}", map_slots=2) for number in range(3))
START_S = 120.0  # of all raylets and actors, on a machine that is very busy


class Cluster:
    """An engine at work over a raylet for each node; tasks are numbered through all tests."""

    def __init__(self, folder):
        self.folder = folder
        self.bridge = folder / "ray"
        zero_s = time.monotonic()

        def clock():
            return time.monotonic() - zero_s

        self.launcher = RayLauncher(
            self.bridge,
            folder / "scratch",
            RayPlace(raylets=len(NODES)),
            NodeRule(embedded=NODES),
            epoch=1,
            lease_s=10.0,
        )
        self.engine = ManagedEngine(self.launcher, 1, clock)
        self.engine.start()
        self.clock = clock
        self.task = 0

    def bench(self):
        """A bench with the events that are shown from now on."""
        return Bench(self.engine, self.clock, [])

    def next_task(self):
        self.task += 1
        return self.task

    def raylet_of(self, node_id):
        """The raylet's process of one of our nodes."""
        nodes = self.launcher._nodes.items()
        ray_id = next(ray_id for ray_id, node in nodes if node.node_id == node_id)
        for pid in kernel.all_pids():
            if kernel.has_mark(pid, f"SLUICE_NODE={self.bridge}"):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"raylet/raylet" in words and ray_id.encode() in words:
                    return pid
        raise AssertionError(f"no raylet of {node_id}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("ray"))
    root = None
    try:
        bench = made.bench()
        until_s = time.monotonic() + START_S
        while len(bench.heard) < len(NODES):
            assert time.monotonic() < until_s, bench.heard
            bench.heard += made.engine.events(1.0)
        root = Path(BridgeRecord.read(made.bridge).root)
        assert {event.node for event in bench.heard} == set(NODES)
        yield made
    finally:
        made.engine.stop(kill_running=True)
    assert [] == left_of(marked(made.bridge))
    assert not root.exists()


def test_attempts_run_once_on_the_node_that_was_chosen(cluster, tmp_path):
    bench = cluster.bench()
    wanted = {}
    for number in range(60):
        task, node = cluster.next_task(), f"n{number % 3}"
        work = shell(f"echo {task} $PWD >> {tmp_path}/runs", cwd=str(tmp_path))
        wanted[task] = node
        bench.launch(work, task, node=node)
        bench.launch(work, task, node=node)
    bench.wait_for(TaskFinished, count=60)

    for kind in (TaskStarted, TaskFinished):
        keys = [event.key.task for event in bench.heard if isinstance(event, kind)]
        assert sorted(keys) == sorted(wanted)
    ran = (tmp_path / "runs").read_text().splitlines()
    assert len(ran) == 60


def test_a_kill_and_a_refused_launch_are_answered(cluster):
    bench = cluster.bench()
    key = bench.launch(shell("sleep 600"), cluster.next_task(), grace_s=0.1)
    cluster.engine.kill(key, "preempted")
    failed = bench.wait_for(TaskFailed, key)[0]
    assert (failed.kind, failed.detail) == (FailureKind.KILLED, "preempted")

    late = bench.launch(shell("true"), cluster.next_task(), epoch=2)
    assert bench.wait_for(TaskFailed, late)[0].kind is FailureKind.REJECTED


def test_attempts_do_not_see_the_environment_of_ray(cluster, tmp_path):
    bench = cluster.bench()
    bench.run(shell("env > env", cwd=str(tmp_path)), task=cluster.next_task())

    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert not {name for name in names if name.startswith("RAY_")} - os.environ.keys()


def test_a_killed_agent_is_a_lost_node_that_comes_back(cluster, tmp_path):
    bench = cluster.bench()
    bench.launch(shell("echo $$ > pid; exec sleep 600", cwd=str(tmp_path)), cluster.next_task())
    pid = pid_in(tmp_path / "pid")
    agent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(agent, signal.SIGKILL)
    (lost,) = bench.wait_for(NodeLost)

    assert (lost.node_id, lost.reason) == ("n0", "its agent ended: signal SIGKILL")
    assert [] == left_of([pid])
    bench.wait_for(NodeJoined)
    assert isinstance(bench.run(shell("true"), task=cluster.next_task()), TaskFinished)


def test_a_rented_node_is_another_raylet_until_it_is_given_back(cluster):
    bench = cluster.bench()
    cluster.engine.provision(2)
    joined = bench.wait_for(NodeJoined, count=2, patience_s=START_S)
    assert {event.node.node_id for event in joined} == {"rented-1", "rented-2"}
    assert {event.node.map_slots for event in joined} == {2}
    raylet = cluster.raylet_of("rented-1")
    cluster.engine.give_back("rented-1")
    (lost,) = bench.wait_for(NodeLost)
    assert (lost.node_id, lost.reason) == ("rented-1", "it was given back")
    awaited(lambda: raylet not in kernel.all_pids(), "the end of its raylet")
    other = bench.run(shell("true"), task=cluster.next_task(), node="rented-2")
    assert isinstance(other, TaskFinished)

    bench = cluster.bench()
    cluster.engine.provision(1)
    (again,) = bench.wait_for(NodeJoined, patience_s=START_S)
    assert again.node.node_id == "rented-1"
    assert isinstance(
        bench.run(shell("true"), task=cluster.next_task(), node="rented-1"), TaskFinished
    )
    for node_id in ("rented-1", "rented-2"):
        cluster.engine.give_back(node_id)
    time.sleep(1)  # a driver that writes much looks later than the node servers end
    returned = bench.wait_for(NodeLost, count=2)
    assert [event.reason for event in returned] == ["it was given back"] * 2


@pytest.mark.parametrize(("node_id", "fault"), [("n1", signal.SIGKILL), ("n2", signal.SIGSTOP)])
def test_a_raylet_that_is_killed_or_frozen_is_a_lost_node(cluster, tmp_path, node_id, fault):
    bench = cluster.bench()
    task = cluster.next_task()
    script = "echo $$ > pid; exec sleep 600"
    bench.launch(shell(script, cwd=str(tmp_path)), task, node=node_id)
    pid = pid_in(tmp_path / "pid")
    os.kill(cluster.raylet_of(node_id), fault)
    (lost,) = bench.wait_for(NodeLost)

    assert lost.node_id == node_id
    assert [] == left_of([pid])
    assert task not in ends(bench)
    assert isinstance(bench.run(shell("true"), task=cluster.next_task()), TaskFinished)
