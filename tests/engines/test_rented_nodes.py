"""Virtual nodes that are rented: their names, over months and over restarts."""

import math

from sluice.engines.local.rented_nodes import RentedNodes
from sluice.model.cluster import Node
from sluice.model.ids import NodeId

OWN = Node(node_id=NodeId("n1"), containers=2)


def names(*given):
    return [NodeId(one) for one in given]


def rented(nodes, count):
    """The names of this many nodes more, once they are up."""
    nodes.rent(count)
    nodes.tend(math.inf)
    return [change.node.node_id for change in nodes.changes() if not change.left]


def test_names_of_nodes_that_were_given_back_are_used_again():
    nodes = RentedNodes(OWN, names("n1", "rented-2"), 0.0)
    assert rented(nodes, 2) == ["rented-1", "rented-3"]
    for _ in range(100):
        nodes.give_back(NodeId("rented-1"))
        nodes.give_back(NodeId("rented-1"))
        assert rented(nodes, 1) == ["rented-1"]
    assert rented(nodes, 1) == ["rented-4"]
    assert sorted(nodes.nodes) == ["rented-1", "rented-3", "rented-4"]


def test_a_node_goes_before_another_comes_under_its_name():
    nodes = RentedNodes(OWN, names("n1"), 0.0)
    rented(nodes, 1)
    nodes.give_back(NodeId("rented-1"))
    nodes.rent(1)
    nodes.tend(math.inf)
    changes = [(change.node.node_id, bool(change.left)) for change in nodes.changes()]
    assert changes == [("rented-1", True), ("rented-1", False)]


def test_names_that_a_former_life_used_are_not_free():
    nodes = RentedNodes(OWN, names("n1"), 0.0)
    there = [Node(node_id=NodeId("rented-2"), containers=2)]
    nodes.restore(there, names("n1", "rented-1", "rented-2"))
    assert rented(nodes, 1) == ["rented-3"]
    nodes.give_back(NodeId("rented-2"))
    assert rented(nodes, 1) == ["rented-2"]
