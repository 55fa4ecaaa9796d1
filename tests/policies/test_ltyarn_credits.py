"""Karma's books: the lazy sums equal a plain count of every unit, quantum by quantum."""

import random
from dataclasses import dataclass, field

import pytest
from tests.policies.ltyarn_worlds import starts, workload

import sluice
from sluice.policies.ltyarn.credits import QUANTUM_S, CreditBook
from sluice.policies.ltyarn.usage import Usage

CAPACITY = 12
QUARTERS = 4  # changes happen at quarters of a quantum


@dataclass(eq=False)
class Holder:
    """A child of a queue: what it runs changes by `run`."""

    weight: float
    index: int
    registered_at_s: float = 0.0
    usage: Usage = field(default_factory=lambda: Usage(0.0))

    def run(self, units, now_s):
        self.usage.settle(now_s)
        self.usage.amount = self.usage.rate = float(units)


class PlainKarma:
    """The plain rule, counted quarter by quarter and shared out at the end of each quantum."""

    def __init__(self, holders, alpha, initial):
        weights = sum(one.weight for one in holders)
        self.shares = {one: CAPACITY * one.weight / weights for one in holders}
        self.own = {one: (1 - alpha) * share for one, share in self.shares.items()}
        self.credits = {one: initial * one.weight for one in holders}
        self.alpha = alpha
        self.donated = dict.fromkeys(holders, 0.0)
        self.borrowed = 0.0

    def quarter(self, running):
        for one, units in running.items():
            over = units - self.own[one]
            self.credits[one] += (self.alpha * self.shares[one] - max(0, over)) / QUARTERS
            self.borrowed += max(0, over) / QUARTERS
            self.donated[one] += max(0, -over) / QUARTERS

    def end_quantum(self):
        left = self.borrowed
        order = sorted(self.credits, key=lambda one: (self.credits[one] / one.weight, one.index))
        for one in order:
            earned = min(left, self.donated[one])
            self.credits[one] += earned
            left -= earned
        self.donated = dict.fromkeys(self.donated, 0.0)
        self.borrowed = 0.0


def random_running(draw, holders):
    """Units by child, together at most the capacity; often all of it, often little."""
    units = dict.fromkeys(holders, 0)
    for _ in range(draw.choice([CAPACITY, CAPACITY, draw.randint(0, CAPACITY)])):
        units[draw.choice(holders)] += 1
    return units


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_credits_are_those_of_a_plain_count(seed, alpha):
    draw = random.Random(seed)
    holders = [Holder(draw.choice([1.0, 2.0, 3.0]), n) for n in range(draw.randint(1, 6))]
    book: CreditBook[Holder] = CreditBook(alpha, 30.0)
    plain = PlainKarma(holders, alpha, 30.0)
    for one in holders:
        book.join(one, 0.0)
    book.settle(0.0, CAPACITY)
    for step in range(120):
        now_s = step * QUANTUM_S / QUARTERS
        book.settle(now_s, CAPACITY)
        if step % QUARTERS == 0:
            plain.end_quantum()
            for one in holders:
                assert book.credit_of(one, now_s) == pytest.approx(plain.credits[one], abs=1e-6)
        running = random_running(draw, holders)
        for one, units in running.items():
            if units != one.usage.rate:
                one.run(units, now_s)
                book.follow(one, now_s)
        plain.quarter(running)


def test_what_is_donated_counts_in_its_quantum_alone():
    """Of 12 units each has 6. B borrows 2 for 3 s; A leaves 6 idle for 0.5 s, and 3 from then on.

    More is left idle than is borrowed in each second, so that A earns what B pays.
    """
    a, b = Holder(1.0, 0), Holder(1.0, 1)
    book: CreditBook[Holder] = CreditBook(0.0, 30.0)
    for one in (a, b):
        book.join(one, 0.0)
    book.settle(0.0, CAPACITY)
    for child, units, now_s in ((b, 8, 0.0), (a, 3, 0.5)):
        child.run(units, now_s)
        book.follow(child, now_s)
    found = []
    for second in (1, 2, 3):
        book.settle(second, CAPACITY)
        found.append((book.credit_of(a, second), book.credit_of(b, second)))

    assert found == [(32, 28), (34, 26), (36, 24)]


def test_a_child_without_credit_is_reported_when_it_has_some_again():
    """A pays 6 a second with 12 credits; from 4 s on it runs nothing and receives 6 a second."""
    a, b = Holder(1.0, 0), Holder(1.0, 1)
    book: CreditBook[Holder] = CreditBook(1.0, 12.0)
    for one in (a, b):
        book.join(one, 0.0)
    book.settle(0.0, CAPACITY)
    a.run(12, 0.0)
    book.follow(a, 0.0)
    book.settle(4.0, CAPACITY)
    assert [book.may_borrow(a, at_s) for at_s in (1.9, 2.0, 2.1)] == [True, False, False]

    a.run(0, 4.0)
    book.follow(a, 4.0)

    assert book.credit_of(a, 4.0) == -12
    assert [] == list(book.recovered(5.9))
    assert [a] == list(book.recovered(6.1))
    assert book.may_borrow(a, 6.1)


def test_children_are_reported_at_the_instants_at_which_they_have_paid():
    """Of 12 units each of three receives 4 a second, and starts with 12 credits.

    A runs 12 up to 6 s: 12 + 24 - 72 = -36, which takes 9 s. Then B does, up to 11 s: at 6 s it
    has 36, at 11 s 36 + 20 - 60 = -4, which takes 1 s.
    """
    a, b, c = (Holder(1.0, number) for number in range(3))
    book: CreditBook[Holder] = CreditBook(1.0, 12.0)
    for one in (a, b, c):
        book.join(one, 0.0)
    book.settle(0.0, CAPACITY)
    for child, units, now_s in ((a, 12, 0.0), (a, 0, 6.0), (b, 12, 6.0), (b, 0, 11.0)):
        child.run(units, now_s)
        book.follow(child, now_s)

    assert (book.credit_of(a, 11.0), book.credit_of(b, 11.0)) == (-16, -4)
    assert [] == list(book.recovered(11.9))
    assert [b] == list(book.recovered(12.0))
    assert [b] == list(book.recovered(14.9))  # at 12 s it had 0, which pays for nothing
    assert [a] == list(book.recovered(15.0))


def test_a_child_pays_its_debt_sooner_once_there_is_more_to_share():
    """A, of weight 2, starts with 24 credits and receives 8 of 12 units a second.

    It runs 12 units for 8 s: 24 + 64 - 96 = -8. Then it runs 4 units: of 12 units it would have
    paid after 2 s, and of 18 units, which give it 12 a second, it has after 1 s.
    """
    a, b = Holder(2.0, 0), Holder(1.0, 1)
    book: CreditBook[Holder] = CreditBook(1.0, 12.0)
    for one in (a, b):
        book.join(one, 0.0)
    book.settle(0.0, CAPACITY)
    for units, now_s in ((12, 0.0), (4, 8.0)):
        a.run(units, now_s)
        book.follow(a, now_s)
    book.settle(8.0, 18.0)

    assert book.credit_of(a, 8.0) == -8
    assert [] == list(book.recovered(8.9))
    assert [a] == list(book.recovered(9.0))


def test_tasks_follow_the_long_term_rule_under_karma_with_all_units_shared():
    """The same starts, task by task, where all register at once. Spec 8.4."""
    for seed in range(8):
        draw = random.Random(seed)
        queues = [{"id": name, "weight": draw.choice([1, 2])} for name in "abc"]
        apps = [
            (f"j{n}", draw.choice("abc"), draw.randint(0, 9), [draw.randint(1, 4)] * 8)
            for n in range(6)
        ]
        load = workload(draw.randint(1, 4), queues, apps)
        found = [starts(sluice.simulate(load, tasks=tasks)) for tasks in ("ltrf", "karma")]
        assert found[0] == found[1], f"seed {seed}"


def test_parts_change_with_the_supply_and_with_who_shares_it():
    """Of 12 units half is guaranteed, by weight; later of 24, then to one child alone."""
    a, b = Holder(1.0, 0), Holder(2.0, 1)
    book: CreditBook[Holder] = CreditBook(0.5, None)
    parts = []
    for now_s, supply, come, gone in (
        (0.0, 12.0, [a, b], []),
        (1.0, 12.0, [], []),
        (2.0, 24.0, [], []),
        (3.0, 24.0, [], [b]),
        (4.0, 24.0, [], []),
        (5.0, 24.0, [b], []),
    ):
        for one in come:
            book.join(one, now_s)
        for one in gone:
            book.leave(one, now_s)
        parts.append((book.settle(now_s, supply), book.guaranteed(a)))

    assert parts == [(True, 2), (False, 2), (True, 4), (True, 12), (False, 12), (True, 4)]
