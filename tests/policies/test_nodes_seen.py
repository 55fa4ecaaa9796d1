"""The room on nodes as a timetable of whole jobs sees it."""

from unittest.mock import Mock

import pytest

from sluice.model.cluster import Node
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.backfill.nodes_seen import NodesSeen, room_when_idle

pytestmark = pytest.mark.interpreted
CONTAINER = SlotKind.CONTAINER
INF = float("inf")


def entry(index, free, capacity=Resources(), reserved=Resources(), **facts):  # noqa: B008  # frozen
    """A node that is up, and has free containers."""
    node = Node(node_id=f"n{index}", containers=9, capacity=capacity)
    made = Mock(index=index, free={CONTAINER: free}, node=node, reserved=reserved)
    made.is_mixed.return_value = facts.pop("is_mixed", False)
    made.configure_mock(**{"is_up": True, "rests_until_s": 0.0, **facts})
    return made


def seen(*entries):
    found = NodesSeen(Mock(node_at=list(entries)))
    found.look()
    return found


def test_nodes_without_resources_are_one_place():
    """Not the free slots of those that are lost, rest, or have slots of two kinds in use."""
    nodes = [
        entry(0, 2), entry(1, 3, is_up=False), entry(2, 4, rests_until_s=5.1),
        entry(3, 1, rests_until_s=5.0), entry(4, 7, is_mixed=True), entry(5, 6),
    ]  # fmt: skip
    found = seen(*nodes)

    assert (found.has_resources, found.free(5.0)) == (False, [[9.0]])
    assert [found.place_of(node) for node in nodes] == [0] * 6
    for tasks, places in (
        (1, [(0, 1)]),
        (2, [(0, 2)]),
        (3, [(0, 2), (3, 1)]),
        (5, [(0, 2), (3, 1), (5, 2)]),
    ):
        on_nodes = found.on_nodes([(0, tasks)], 5.0)
        assert [(node.index, count) for node, count in on_nodes] == places


def test_nodes_with_resources_are_a_place_each():
    """Tasks hold a part of them. A node that states no resource has no limit."""
    nodes = [
        entry(0, 2, Resources(cpu=100.0, io=80.0), Resources(cpu=30.0)),
        entry(1, 3),
        entry(2, 4, Resources(cpu=100.0), is_up=False),
    ]
    found = seen(*nodes)

    assert found.has_resources
    assert found.free(5.0)[:2] == [[2.0, 70.0, 80.0, 0.0, 0.0], [3.0, INF, INF, INF, INF]]
    assert set(found.free(5.0)[2]) == {0.0}
    assert [found.place_of(node) for node in nodes] == [0, 1, 2]
    assert list(found.on_nodes([(2, 1), (0, 2)], 5.0)) == [(nodes[2], 1), (nodes[0], 2)]


@pytest.mark.parametrize(
    ("capacity", "released"),
    [(Resources(), [3.0]), (Resources(cpu=9.0), [3.0, 6.0, 0.0, 1.5, 0.0])],
)
def test_an_attempt_gives_back_what_all_of_its_tasks_hold(capacity, released):
    node = entry(1, 0, capacity)
    attempt = Mock(tasks=3, node=node)
    attempt.phase.phase.demand.work = Resources(cpu=2.0, memory=0.5)
    release = seen(entry(0, 1), node).release(attempt, 7.0)

    assert (release.at_s, release.node) == (7.0, 1 if len(released) > 1 else 0)
    assert release.amounts == released


def test_idle_nodes_have_all_of_their_slots():
    plain = [Node(node_id="a", containers=3), Node(node_id="b", containers=2)]
    assert room_when_idle(plain) == ([[5.0]], False)

    rows, by_node = room_when_idle(
        [*plain, Node(node_id="c", containers=1, capacity=Resources(cpu=50.0))]
    )
    assert by_node
    assert [row[:2] for row in rows] == [[3.0, INF], [2.0, INF], [1.0, 50.0]]
