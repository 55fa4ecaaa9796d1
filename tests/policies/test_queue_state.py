"""All that a queue of the tree may have, by the numbers it has now."""

import math
from types import SimpleNamespace

import pytest

from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount
from sluice.policies.queue_tree.queues import QueueState

WHOLE = QueueAmount(AmountKind.PERCENT, 100.0)


def state(*, guarantee=0.0, limit=math.inf, running=0, index=0, parent=None, **queue):
    made = QueueState(ConfiguredQueue(path="root.a", capacity=WHOLE, **queue), parent, index)
    made.guarantee, made.limit, made.running = guarantee, limit, running
    return made


def job(job_id="j", user=None, running=0, weight=1.0):
    return SimpleNamespace(
        job_id=job_id, job=SimpleNamespace(customer=user), running=running, weight=weight,
        has_ended=False,
    )  # fmt: skip


def test_a_new_queue_has_no_guarantee_no_limit_and_nothing_running():
    parent = QueueState(ConfiguredQueue(path="root", capacity=WHOLE), None, 0)
    made = QueueState(ConfiguredQueue(path="root.a", capacity=WHOLE), parent, 3)

    assert (made.guarantee, made.limit, made.running, made.index) == (0.0, math.inf, 0, 3)
    assert ([made], [made, parent]) == (parent.children, list(made.line()))


@pytest.mark.parametrize(
    ("limit", "running", "has_room"),
    [
        (0.0, 0, False), (0.5, 0, True), (0.5, 1, False), (1.0, 0, True), (1.0, 1, False),
        (2.0, 1, True), (2.0, 2, False), (2.9, 2, False), (3.0 - 1e-10, 2, True),
        (math.inf, 10**6, True),
    ],
)  # fmt: skip
def test_one_more_container_must_stay_within_the_limit(limit, running, has_room):
    assert state(limit=limit, running=running).has_room is has_room


@pytest.mark.parametrize(
    ("share", "of_guarantee", "guarantee", "limit", "root", "masters"),
    [
        (None, False, 4.0, 8.0, (8.0, 0), None),
        (0.5, True, 4.0, 8.0, (8.0, 0), 2),
        (0.74, True, 4.0, 8.0, (8.0, 0), 2),
        (0.75 - 1e-12, True, 4.0, 8.0, (8.0, 0), 3),
        (0.1, True, 4.0, 8.0, (8.0, 0), 1),
        (0.5, False, 4.0, 8.0, (8.0, 2), 4),  # 2 of the root's are its own
        (0.5, False, 4.0, 8.0, (8.0, 5), 3),  # others run 3, so that 5 are left
        (0.5, False, 4.0, 8.0, (8.0, 8), 2),  # others run 6: its guarantee
        (0.5, False, 4.0, 6.0, (8.0, 2), 3),
        (0.5 + 1e-12, False, 4.0, 8.0, (8.0, 2), 4),
        (0.51, False, 4.0, 8.0, (8.0, 2), 5),
        (0.01, False, 0.0, 0.0, (8.0, 2), 1),
    ],
)
def test_masters_have_a_share_of_the_guarantee_or_of_what_is_left(
    share, of_guarantee, guarantee, limit, root, masters
):
    above = state(limit=root[0], running=root[1])
    made = state(
        guarantee=guarantee, limit=limit, running=2 if root[1] else 0, parent=above,
        masters_share=share, masters_of_guarantee=of_guarantee,
    )  # fmt: skip

    assert made.masters_max == masters


@pytest.mark.parametrize(
    ("limits", "begun", "may"),
    [
        ({}, 9, True),
        ({"jobs_max": 2}, 1, True),
        ({"jobs_max": 2}, 2, False),
        ({"masters_share": 0.5, "masters_of_guarantee": True}, 1, True),
        ({"masters_share": 0.5, "masters_of_guarantee": True}, 2, False),
        ({"jobs_max": 3, "masters_share": 0.5, "masters_of_guarantee": True}, 2, False),
        ({"jobs_max": 1, "masters_share": 0.5, "masters_of_guarantee": True}, 1, False),
    ],
)
def test_one_more_job_begins_below_every_limit_and_one_that_has_begun_goes_on(limits, begun, may):
    made = state(guarantee=4.0, **limits)
    for number in range(begun):
        made.leaf.count(job(f"j{number}"), 1)

    assert made.may_begin(job("new")) is may
    assert made.may_begin(job("j0"))


@pytest.mark.parametrize(
    ("running", "guarantee", "least", "place"),
    [
        (0, 4.0, 0.0, (1, 0.0, -4.0, 7)),
        (1, 4.0, 2.0, (0, 0.25, -4.0, 7)),
        (2, 4.0, 2.0, (1, 0.5, -4.0, 7)),
        (3, 0.0, 0.0, (1, math.inf, 0.0, 7)),
    ],
)
def test_the_place_of_a_queue_is_its_minimum_then_its_use_of_the_guarantee(
    running, guarantee, least, place
):
    made = state(running=running, guarantee=guarantee, least=least, index=7)

    assert made.place == place


@pytest.mark.parametrize(
    ("percent", "factor", "guarantee", "running", "held", "may"),
    [
        (100.0, None, 4.0, 4, 99, True),
        (99.0, None, 4.0, 4, 4, True),  # of the 5 that it holds with one more, rounded up
        (99.0, None, 4.0, 4, 5, False),
        (50.0, None, 6.0, 2, 2, True),  # half of 6
        (50.0, None, 6.0, 2, 3, False),
        (10.0, None, 6.0, 2, 2, True),  # an equal share of two users
        (10.0, None, 6.0, 2, 3, False),
        (10.0, None, 7.0, 2, 3, True),  # 3.5, rounded up
        (10.0, None, 7.0, 2, 4, False),
        (100.0, 1.0, 4.0, 4, 3, True),
        (100.0, 1.0, 4.0, 4, 4, False),
        (100.0, 0.1, 4.0, 0, 0, True),
        (100.0, 0.1, 4.0, 0, 1, False),
    ],
)
def test_a_user_has_the_larger_of_a_share_and_a_percentage_up_to_a_factor(
    percent, factor, guarantee, running, held, may
):
    leaf = state(user_limit_percent=percent, user_limit_factor=factor).leaf
    one, other = job("one", "u"), job("other", "v")
    leaf.users = {"one": "u", "other": "v"}
    leaf.count(one, held)

    assert leaf.user_room(one, guarantee, running) is may
    assert leaf.user_room(other, guarantee, running)


def test_jobs_without_an_owner_belong_to_one_user():
    leaf = state(user_limit_percent=10.0).leaf
    leaf.count(job("a"), 2)
    leaf.count(job("b"), 1)
    leaf.count(job("c", "u"), 5)
    leaf.count(job("a"), -1)

    assert leaf.by_user == {"": 2, "u": 5}
    assert not leaf.begun, "no limit counts them"


@pytest.mark.parametrize(("order", "key"), [(LeafOrder.FAIR, 1.5), (LeafOrder.FIFO, 0.0)])
def test_only_in_a_fair_queue_the_place_of_a_job_is_what_it_runs_for_its_weight(order, key):
    assert state(order=order).leaf.key_of(job(running=3, weight=2.0)) == key
