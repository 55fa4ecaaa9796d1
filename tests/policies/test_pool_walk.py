"""The turns of pools on one node, against a plain minimum over all pools."""

import random
from unittest.mock import Mock

import pytest

from sluice.core.reasons import ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.loans import Loans
from sluice.policies.dynamicmr.pools import Claimant, PoolWalk

pytestmark = pytest.mark.interpreted
MAP, REDUCE = SlotKind.MAP, SlotKind.REDUCE


class Pool(Claimant):
    """Has some tasks, after which it has no key; each start makes its key no smaller."""

    def __init__(self, draw, number):
        self.draw, self.number = draw, number
        self.at, self.tasks = draw.randint(0, 4), draw.randint(1, 4)

    def key(self):
        return (self.at,) if self.tasks else None

    def place(self):
        return (self.at,)

    def start(self):
        self.at += self.draw.randint(0, 2)
        self.tasks -= 1


@pytest.mark.parametrize("seed", range(40))
def test_each_turn_goes_to_the_pool_with_the_least_key_that_was_not_passed(seed):
    """Of equals, pools that have been served are before the others. The last two only copy."""
    draw = random.Random(seed)
    pools = [Pool(draw, number) for number in range(6)]
    copiers, in_line = pools[4:], sorted(pools[:4], key=lambda one: (one.key(), one.number))
    walk = PoolWalk(iter([(one.key(), one.number, one) for one in in_line]), copiers)
    # By (key, whether it waits for its first turn, when it joined).
    left = {one: (1, number) for number, one in enumerate(in_line)}
    left |= {one: (0, number) for number, one in enumerate(copiers)}
    count, turns = len(copiers), 0
    while (found := walk.first()) is not None:
        turns += 1
        assert found is min(left, key=lambda one: (one.place(), left[one]))
        if draw.random() < 0.3:
            walk.passed(found)
            del left[found]
            continue
        walk.served(found)
        found.start()
        walk.settle()
        count += 1
        left[found] = (0, count)
        if found.key() is None:
            del left[found]

    assert not left
    assert turns >= 6


def test_a_pool_that_was_passed_may_be_asked_again():
    pool = Pool(random.Random(0), 0)
    walk = PoolWalk(iter([(pool.key(), 0, pool)]))
    walk.passed(pool)
    assert walk.first() is None
    walk.ask_again(pool)
    walk.settle()

    assert walk.first() is pool


def test_loans_count_borrowers_and_owners_of_both_kinds_of_slot():
    """Reasons name those that were lent ahead, and back for it."""
    loans = Loans(Mock())
    ran = [
        Mock(phase=Mock(kind=kind), slot_kind=slot_kind, tasks=tasks, reason=(code,))
        for kind, slot_kind, tasks, code in (
            (MAP, MAP, 1, ReasonCode.SLOTS_BUSY), (MAP, REDUCE, 2, ReasonCode.LENT_AHEAD),
            (REDUCE, REDUCE, 4, ReasonCode.SLOTS_BUSY), (REDUCE, MAP, 8, ReasonCode.LENT_BACK),
            (SlotKind.CONTAINER, SlotKind.CONTAINER, 16, ReasonCode.SLOTS_BUSY),
        )
    ]  # fmt: skip
    for one in ran:
        loans.began(one)
    assert (loans.own_in(MAP), loans.own_in(REDUCE)) == (1, 4)
    assert (loans.lent_in(MAP), loans.lent_in(REDUCE)) == (8, 2)
    assert (loans.ahead, loans.back) == (2, 8)
    for one in ran[1:]:
        loans.ended(one)

    assert (loans.own_in(MAP), loans.own_in(REDUCE)) == (1, 0)
    assert (loans.lent_in(MAP), loans.lent_in(REDUCE), loans.ahead, loans.back) == (0, 0, 0, 0)
