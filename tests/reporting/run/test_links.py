"""Bytes per link of a run on nodes that share no disk."""

from types import SimpleNamespace

import pytest
from tests.core.test_late_news import done, launched
from tests.runs import map_reduce, scheduler_of

from sluice.bootstrap.history.profiles import measured_runs
from sluice.core.events import JobSubmitted, NodeJoined, TaskFinished, Tick
from sluice.core.explain.story import story
from sluice.core.record.codec import decode, encode
from sluice.model.attempts import AttemptKey, Usage
from sluice.model.cluster import Cluster, Locality, Node
from sluice.model.ids import JobId, NodeId
from sluice.reporting.run.figures import measured_profiles
from sluice.reporting.run.links import Link, links, moved_bytes
from sluice.store.rows import RunHeader

CLUSTER = Cluster(
    nodes=tuple(
        Node(node_id=NodeId(name), rack=rack, map_slots=1)
        for name, rack in (("n0", "a"), ("n1", "a"), ("n2", "b"))
    )
)


def attempt(node, **fetched):
    usage = Usage(fetched=tuple(fetched.items()))
    return SimpleNamespace(node=SimpleNamespace(node_id=node), usage=usage)


def test_the_bytes_of_a_link_are_added_up():
    ran = [
        attempt("n0", n0=1, n1=10, n2=100, driver=1000),
        attempt("n0", n1=5),
        attempt("n2", n1=7),
        SimpleNamespace(node=SimpleNamespace(node_id="n1"), usage=None),
    ]

    assert [(x.node, x.peer, x.locality, x.moved_bytes) for x in links(ran, CLUSTER)] == [
        ("n0", "driver", Locality.ANY, 1000),
        ("n0", "n0", Locality.NODE, 1),
        ("n0", "n1", Locality.RACK, 15),
        ("n0", "n2", Locality.ANY, 100),
        ("n2", "n1", Locality.ANY, 7),
    ]
    assert moved_bytes(links(ran, CLUSTER)) == {"node": 1, "rack": 15, "any": 1107}
    assert links([attempt("n0")], CLUSTER) == ()


def test_a_link_is_plain_values():
    link = Link(node="n0", peer="n1", locality=Locality.RACK, moved_bytes=3)
    assert link.document() == {
        "node": "n0", "peer": "n1", "locality": "rack", "moved_bytes": 3,
    }  # fmt: skip


def test_the_journal_keeps_the_bytes_of_each_link():
    usage = Usage(wall_s=1.0, fetched=(("driver", 5), ("n1", 7)))
    event = TaskFinished(1.0, AttemptKey(JobId("j"), 0, 0, 1), 1.0, usage=usage)
    assert decode(encode(event)) == event


NODES = tuple(
    Node(node_id=NodeId(name), rack="a", map_slots=1, reduce_slots=1, vm_type=vm_type)
    for name, vm_type in (("n0", "m5"), ("n1", "c5"))
)


@pytest.fixture
def finished():
    """The state after a job of two maps, and a reduce that fetched from both nodes."""
    scheduler = scheduler_of()
    for node in NODES:
        scheduler.handle(NodeJoined(0.0, node))
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 2, reduces=1)))
    first, second = launched(scheduler.handle(Tick(0.0)))
    done(scheduler, first, 1.0)
    (reduce,) = done(scheduler, second, 2.0)
    usage = Usage(wall_s=1.0, fetched=(("driver", 1234), ("n0", 5), ("n1", 7)))
    scheduler.handle(TaskFinished(3.0, reduce, 3.0, usage=usage))
    return scheduler.state


def test_the_story_of_a_task_has_the_bytes_of_each_link(finished):
    where = [one.node.node_id for one in finished.closed][-1]
    near = {name: "node" if name == where else "rack" for name in ("n0", "n1")}
    (line,) = [one for one in story("j/reduce/0", finished).lines if "moved" in one.what]

    assert line.what == "attempt 1 has moved data"
    assert line.why == (f"driver 1,234 bytes, n0 5 bytes ({near['n0']}), n1 7 bytes ({near['n1']})")


def test_measured_phases_name_the_types_of_their_nodes(finished):
    measured = measured_profiles(finished.jobs.values(), finished.closed)

    assert measured["j"]["phases"][0]["node_types"] == {"c5": 1, "m5": 1}


@pytest.mark.parametrize(
    ("settings", "machine_type"), [({"address": "auto"}, "c5, m5"), ({}, "processors")]
)
def test_history_names_the_type_of_the_nodes_of_a_cluster(finished, settings, machine_type):
    header = RunHeader(
        source="jobs.yaml", folder=".", sha256="", started_at="2026-01-01T00:00:00+00:00",
        policies={}, settings=settings,
    )  # fmt: skip
    for one in measured_runs(finished, run_id="r", header=header, cluster=Cluster(nodes=NODES)):
        assert one.machine_type.endswith(machine_type)
