"""The keys by which the children of a queue are ordered."""

from unittest.mock import Mock

import pytest

from sluice.policies.ltyarn.orders import key_of
from sluice.policies.ltyarn.tree import QueueNode

pytestmark = pytest.mark.interpreted


def child(**facts):
    """The third child of a queue: 6 units run, at a level of 3; 20 used, and a weight of 2."""
    made = Mock(spec=QueueNode)
    usage = Mock(rate=6.0)
    usage.level.return_value = 20.0
    made.configure_mock(**{
        "waiting": 1, "is_limited": False, "share_max": None, "share_min": 0, "units": 6.0,
        "running_level": 3.0, "index": 2, "weight": 2.0, "usage": usage, **facts,
    })  # fmt: skip
    return made


def with_credits(guaranteed, *, may_borrow):
    book = Mock()
    book.guaranteed.return_value, book.spent.return_value = guaranteed, 8.0
    book.may_borrow.return_value = may_borrow
    return child(parent=Mock(credits=book))


@pytest.mark.parametrize(
    ("order", "key"),
    [("mlrf", (1, 3.0, 2)), ("ltrf", (1, 10.0, 3.0, 2)), ("decay", (1, 10.0, 3.0, 2))],
)
def test_a_child_is_ordered_by_what_runs_or_by_what_it_has_used(order, key):
    assert key_of(order)(child(), 9.0) == key


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        ({"waiting": 0}, None),
        ({"is_limited": True, "share_max": 6.0}, None),
        ({"is_limited": True, "share_max": 6.5}, (1, 3.0, 2)),
        ({"is_limited": True, "share_min": 8}, (0, 0.75, 3.0, 2)),
        ({"is_limited": True, "share_min": 6}, (1, 3.0, 2)),
        ({"is_limited": True, "share_min": 8, "share_max": 6.0}, None),
        ({"is_limited": False, "share_min": 8, "share_max": 6.0}, (1, 3.0, 2)),
    ],
)
def test_a_child_below_its_minimum_is_first_and_one_at_its_maximum_has_no_turn(facts, key):
    assert key_of("mlrf")(child(**facts), 9.0) == key


@pytest.mark.parametrize(
    ("guaranteed", "may_borrow", "key"),
    [(8.0, False, (1, 0.75, 2)), (6.0, True, (2, 4.0, 3.0, 2)), (6.0, False, (3, 3.0, 2))],
)
def test_with_credits_what_is_guaranteed_comes_first_and_debtors_last(guaranteed, may_borrow, key):
    assert key_of("karma")(with_credits(guaranteed, may_borrow=may_borrow), 9.0) == key
