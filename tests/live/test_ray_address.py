"""Runs on a Ray cluster that exists by itself, with nodes that come and go."""

import json
import time
from pathlib import Path

import pytest
from tests.engines.test_local_engine import Bench, shell
from tests.live.command_line import PATIENCE_S, Place, awaited, environment, listening_hosts
from tests.live.ray_by_hand import RayByHand
from tests.live.recorded_decisions import events_of, scheduler_like

from sluice.core.events import NodeJoined, NodeLost, TaskFinished
from sluice.engines.cluster.managed import ManagedEngine
from sluice.engines.ray.bridge_process import RayPlace, listed_nodes
from sluice.engines.ray.launcher import RayLauncher
from sluice.engines.ray.nodes import NodeRule

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("ray")]

FILES = 8
COMMAND_SH = """\
echo "$SLUICE_ATTEMPT $SLUICE_NODE_ID" >> "$FOLDER/begun"
while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
"$@"
"""
SETTINGS = {
    "ray_map_slots_per_cpu": 1,
    "ray_reduce_slots_per_cpu": 0.5,
    "ray_type_label": "machine",
    "reattach_s": 300,
}


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory):
    """For both tests that have it: the second kills one of its nodes."""
    made = RayByHand(environment(tmp_path_factory.mktemp("ray"))["PYTHONPATH"])
    try:
        made.add("a", 2, rack="r1", machine="m5")
        made.add("b", 2, rack="r2", machine="c5")
        yield made
    finally:
        made.end()


@pytest.fixture
def cluster(monkeypatch, two_nodes):
    for name, value in two_nodes.env.items():
        monkeypatch.setenv(name, value)
    return two_nodes


@pytest.fixture
def growing(monkeypatch, tmp_path):
    made = RayByHand(environment(tmp_path)["PYTHONPATH"], autoscales_to=2)
    try:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        yield made
    finally:
        made.end()


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path / "run")
    made.write_input("in", *(f"one two {number}\n" * 9 for number in range(FILES)))
    (made.folder / "command.sh").write_text(COMMAND_SH)
    words = {
        "id": "words",
        "reduces": {"tasks": 2},
        "run": {
            "input": ["in"],
            "output": "out",
            "mapper": "sh command.sh tr ' ' '\\n'",
            "reducer": "uniq -c",
            "env": {"FOLDER": str(made.folder)},
        },
    }
    made.write([words], settings=SETTINGS)
    yield made
    made.end()


def begun(place):
    path = place.folder / "begun"
    return path.read_text().splitlines() if path.exists() else []


def assert_one_host_is_listened_at(driver, cluster):
    """The data server of the driver listens at the one address where nodes reach it."""
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    (ours,) = filter(None, map(listening_hosts, map(int, children)))
    (host,) = ours
    assert host in {node["address"] for node in listed_nodes(cluster.address)}


def test_a_container_counts_by_the_type_of_its_node(cluster, place):
    """The use of a queue is the time of its tasks, three times as much on nodes of type m5."""
    jobs = [
        {"id": name, "pool": name, "run": {"input": ["in"], "output": name, "mapper": "sleep 1"}}
        for name in ("etl", "ads")
    ]
    exact = {"ltyarn.adaptive": False, "run.unit_weights": "m5=3, r2=1"}
    place.write(jobs, queues=[{"id": "etl"}, {"id": "ads"}], settings=SETTINGS | exact)
    words = ("run", str(place.file), "--engine", "ray", "--address", cluster.address)
    code, heard, complained = place.sluice(*words, "--tasks", "ltrf", "--json")

    assert code == 0, complained
    scheduler = scheduler_like(place.runs[-1], is_live=True)
    for event in events_of(place.runs[-1]):
        scheduler.handle(event)
    weights = {
        str(one.node.node_id): one.node.unit_weight for one in scheduler.state.nodes.values()
    }
    assert sorted(weights.values()) == [1.0, 3.0]
    plain, counted = (dict.fromkeys(("etl", "ads"), 0.0) for _ in range(2))
    for one in scheduler.state.closed:
        length_s = one.finished_at_s - one.started_at_s
        plain[str(one.key.job_id)] += length_s
        counted[str(one.key.job_id)] += length_s * weights[str(one.node.node_id)]
    accounts = {
        name: row["used_container_s"] for name, row in json.loads(heard)["accounts"].items()
    }
    assert counted == pytest.approx(accounts, rel=0.4)  # a container is held a little longer
    assert all(used > 1.4 * plain[name] for name, used in accounts.items())


def test_a_run_lives_through_the_kill_of_its_driver_and_changes_of_its_cluster(cluster, place):
    words = ("run", str(place.file), "--engine", "ray", "--address", cluster.address)
    driver = place.started(*words)
    awaited(lambda: len(begun(place)) == 4, "the slots of two nodes")
    cluster.add("c", 2, rack="r2", machine="m5")
    awaited(lambda: len(begun(place)) == 6, "the slots of the third")
    assert_one_host_is_listened_at(driver, cluster)
    driver.kill()
    driver.communicate()
    cluster.kill("a")
    (place.folder / "go").touch()
    code, heard, complained = place.sluice(*words, "--resume", "--json")

    assert code == 0, complained
    assert complained.count("no longer in the cluster") == 1
    assert len(begun(place)) == FILES + 2  # of the six that had begun, two were lost with `a`
    assert all(line.split()[0].endswith("-e1") for line in begun(place)[:6])
    result = json.loads(heard)
    assert result["attempts"] == {"done": FILES + 2, "failed": 0, "killed": 0, "lost": 2}
    maps, reduces = result["measured"]["words"]["phases"]
    assert maps["node_types"].keys() | reduces["node_types"].keys() == {"c5", "m5"}
    assert {link["locality"] for link in result["links"]} == {"node", "rack"}
    assert sum(result["moved_bytes"].values()) == maps["output_bytes"]
    counts = {b"one": 9 * FILES, b"two": 9 * FILES} | {b"%d" % n: 9 for n in range(FILES)}
    assert {line.split()[1]: int(line.split()[0]) for line in place.lines("out")} == counts
    awaited(lambda: cluster.sluice_processes() == [], "the end of all that was started there")


def test_nodes_that_are_asked_for_come_from_the_autoscaler(growing, tmp_path):
    place = RayPlace(address=growing.address)
    launcher = RayLauncher(
        tmp_path / "ray", tmp_path / "s", place, NodeRule(), epoch=1, lease_s=30.0
    )
    engine = ManagedEngine(launcher, 1, time.monotonic)
    engine.start()
    try:
        awaited(lambda: engine.events(0.1) == [] and engine.alive() == frozenset(), "Ray")
        bench = Bench(engine, time.monotonic, [])
        engine.provision(1)
        (joined,) = bench.wait_for(NodeJoined, patience_s=PATIENCE_S)
        assert joined.node.map_slots == 2
        assert isinstance(bench.run(shell("true"), node=joined.node.node_id), TaskFinished)

        engine.give_back(joined.node.node_id)
        (left,) = bench.wait_for(NodeLost)
        assert (left.node_id, left.reason) == (joined.node.node_id, "it was given back")
        engine.provision(1)  # it is there still, and idle
        again = bench.wait_for(NodeJoined, count=2, patience_s=PATIENCE_S)[-1]
        assert again.node == joined.node
        assert isinstance(bench.run(shell("true"), task=1, node=again.node.node_id), TaskFinished)

        engine.give_back(joined.node.node_id)
        awaited(lambda: not listed_nodes(growing.address), "the end of the idle node")
        engine.provision(1)
        bench.wait_for(NodeJoined, count=3, patience_s=PATIENCE_S)
    finally:
        engine.stop(kill_running=True)
