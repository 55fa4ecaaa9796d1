"""Bytes per link of a run on nodes that share no disk."""

from types import SimpleNamespace

from sluice.core.codec import decode, encode
from sluice.core.commands import Locality
from sluice.core.events import AttemptKey, TaskFinished, Usage
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId
from sluice.reporting.run.links import Link, links

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
