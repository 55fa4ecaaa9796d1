"""Queue trees of other schedulers: which are refused, and what their capacities come to."""

import math
from dataclasses import replace

import pytest

from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import (
    QUEUES_MAX,
    AmountKind,
    ConfiguredQueue,
    LeafOrder,
    QueueAmount,
    QueueTree,
)

PERCENT, WEIGHT, CONTAINERS = AmountKind.PERCENT, AmountKind.WEIGHT, AmountKind.CONTAINERS


def queue(path, kind=WEIGHT, value=1.0, maximum=None, **more):
    limit = None if maximum is None else QueueAmount(*maximum)
    return ConfiguredQueue(path=path, capacity=QueueAmount(kind, value), maximum=limit, **more)


def tree(*queues):
    return QueueTree(queues=queues, source="queues.xml")


@pytest.mark.parametrize(
    ("paths", "what"),
    [
        ([], "there is no queue"),
        (["root.a", "root.a"], "queue 'root.a' is defined twice"),
        (["root"], "queue 'root' is defined twice"),
        (["root.a", "root.b.c"], "queue 'root.b.c' is without its parent"),
        (["root.a.b", "root.a"], "queue 'root.a.b' is without its parent"),
        ([f"root.{number}" for number in range(QUEUES_MAX + 1)], "more than 10,000 queues"),
    ],
)
def test_a_tree_with_no_queue_or_one_out_of_place_is_refused(paths, what):
    with pytest.raises(InvalidInput, match=what) as caught:
        tree(*map(queue, paths))
    assert "queues.xml" == caught.value.where


def test_a_tree_of_as_many_queues_as_allowed_is_accepted():
    assert QUEUES_MAX == len(tree(*(queue(f"root.{one}") for one in range(QUEUES_MAX))).leaves)


@pytest.mark.parametrize("value", [-0.001, math.inf, math.nan])
def test_a_capacity_is_a_finite_number_of_at_least_0(value):
    with pytest.raises(InvalidInput, match="not a finite number of at least 0"):
        QueueAmount(WEIGHT, value)


def test_a_queue_of_which_only_the_capacity_is_known_limits_nobody():
    found = queue("root.etl.nightly")

    assert ("root.etl", "nightly") == (found.parent, found.name)
    assert (0.0, 100.0, None, None) == (
        found.least, found.user_limit_percent, found.user_limit_factor, found.jobs_max
    )  # fmt: skip
    assert found.is_preemptible


def test_trees_of_the_same_queues_are_equal_whatever_their_files_said_besides():
    one = QueueTree(queues=(queue("root.a"),), unknown_keys=("x",), notes=("y",), source="z")

    assert one == tree(queue("root.a"))
    assert one != tree(queue("root.b"))


def test_leaves_keep_their_order_of_jobs_and_queues_with_queues_have_none():
    found = tree(
        queue("root.a", order=LeafOrder.FAIR),
        queue("root.a.x", order=LeafOrder.FAIR),
        queue("root.b", order=LeafOrder.FAIR),
    )

    assert ("root.a.x", "root.b") == found.leaves
    assert ["root.a", "root.b"] == [one.path for one in found.children("root")]
    orders = [LeafOrder.FIFO, LeafOrder.FAIR, LeafOrder.FAIR]
    assert orders == [one.order for one in found.queues]


def test_weights_share_what_percentages_and_containers_leave():
    found = tree(
        queue("root.a", PERCENT, 50),
        queue("root.b", WEIGHT, 1),
        queue("root.c", WEIGHT, 3),
        queue("root.d", CONTAINERS, 10),
    ).containers(110.0)

    assert {
        "root": (110.0, 110.0),
        "root.a": (55.0, 110.0),
        "root.b": (11.25, 110.0),
        "root.c": (33.75, 110.0),
        "root.d": (10.0, 110.0),
    } == found


def test_guarantees_over_the_parents_are_cut_in_proportion_and_none_is_above_its_maximum():
    found = tree(
        queue("root.a", CONTAINERS, 90, (CONTAINERS, 50)),
        queue("root.b", CONTAINERS, 30, (PERCENT, 20)),
        queue("root.c", WEIGHT, 5),
        queue("root.a.x", PERCENT, 100, (PERCENT, 50)),
        queue("root.a.y", PERCENT, 200, (CONTAINERS, 400)),
        queue("root.c.z"),
    ).containers(60.0)

    assert {
        "root": (60.0, 60.0),
        "root.a": (45.0, 50.0),
        "root.b": (12.0, 12.0),  # 15, but for its maximum
        "root.c": (0.0, 60.0),
        "root.a.x": (15.0, 25.0),
        "root.a.y": (30.0, 50.0),
        "root.c.z": (0.0, 60.0),
    } == found


def test_siblings_whose_weights_are_all_0_have_no_guarantee():
    found = tree(queue("root.a", WEIGHT, 0), queue("root.b", WEIGHT, 0)).containers(10.0)

    assert {"root": (10.0, 10.0), "root.a": (0.0, 10.0), "root.b": (0.0, 10.0)} == found


def test_the_weight_of_an_idle_queue_goes_to_its_siblings():
    found = tree(queue("root.a", WEIGHT, 3), queue("root.b", WEIGHT, 1), queue("root.a.x"))

    assert (7.5, 2.5) == tuple(found.containers(10.0)[one][0] for one in ("root.a", "root.b"))
    assert (0.0, 10.0) == tuple(
        found.containers(10.0, {"root.a"})[one][0] for one in ("root.a", "root.b")
    )
    assert {0.0} == {found.containers(10.0, {"root.a", "root.b"})["root.b"][0]}


def test_a_queue_that_jobs_name_is_made_below_root_like_the_undeclared_one():
    like = queue("root.default", WEIGHT, 2.0, jobs_max=3)
    known = (queue("root.a"), queue("root.a.x"))
    found = QueueTree(queues=known, undeclared=like)

    names = ["new", "a", "x", "root.a", "root.a.x", "", "root.other", "new", "a.y", "root.new"]
    made = found.with_undeclared(names).queues[len(known) :]
    assert [replace(like, path=path) for path in ("root.new", "root.other")] == [*made]
    assert known == found.with_undeclared(["a"]).queues


def test_a_tree_without_an_undeclared_queue_makes_none():
    found = tree(queue("root.a"))

    assert found is found.with_undeclared(["new"])
