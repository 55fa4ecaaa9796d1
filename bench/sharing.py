"""Which queue comes next: 1,000 queues and 10,000 applications against 10 and 100.

Budget on one core of 2 GHz: under 250 microseconds a choice with 10,000 applications that all wait,
at most 6 times the cost with 100, and at most 3 times as many keys worked out (O(log n)). It first
asserts that the choice is the least.

    PYTHONPATH=src python bench/sharing.py
"""

import itertools
import random
import time
from typing import NamedTuple

from sluice.policies.ltyarn.orders import key_of
from sluice.policies.ltyarn.turns import Key, Turns
from sluice.policies.ltyarn.usage import Usage

BUDGET_S = 250e-6
GROWTH_MAX = 6.0
KEYS_GROWTH_MAX = 3.0  # log(10,000) is twice log(100)
CHOICES = 20_000


class Child:
    """What a key reads of an application: its use grows at its own rate once it has run."""

    def __init__(self, index: int, draw: random.Random) -> None:
        self.index = index
        self.weight = draw.choice([1.0, 2.0, 3.0])  # not a secret
        self.waiting = 1
        self.usage = Usage(0.0, draw.uniform(0.0, 100.0))
        self.held: list[float] = []

    @property
    def running_level(self) -> float:
        return self.usage.amount / self.weight


class Cost(NamedTuple):
    """Of one choice: a queue, an application in it, and both start one more task."""

    seconds: float
    keys: float


def cost_of(queues: int, apps: int) -> Cost:
    """The cost of a choice, and how many keys it works out."""
    draw = random.Random(1)
    ordered = key_of("ltrf")
    worked_out = itertools.count()

    def key(child: Child, now_s: float) -> Key | None:
        next(worked_out)
        return ordered(child, now_s)

    top: Turns[Child] = Turns("ltrf")
    top.key_of = key
    tree: dict[Child, Turns[Child]] = {}
    for index in range(queues):
        queue = Child(index, draw)
        tree[queue] = Turns("ltrf")
        tree[queue].key_of = key
        top.touch(queue)
        for number in range(apps // queues):
            tree[queue].touch(Child(number, draw))
    first = top.first(0.0)
    assert first is min(tree, key=lambda one: (one.usage.used(0.0) / one.weight, one.index))
    for turns in tree.values():
        turns.first(0.0)
    before = next(worked_out)
    began_s = time.process_time()
    for step in range(CHOICES):
        now_s = step * 0.01
        whose = top.first(now_s)
        assert whose is not None
        queue = whose
        app = tree[queue].first(now_s)
        assert app is not None
        for turns, child in ((top, queue), (tree[queue], app)):
            child.usage.settle(now_s)
            child.usage.amount += 1.0
            child.usage.rate = child.usage.amount
            turns.touch(child)
    spent_s = time.process_time() - began_s
    return Cost(spent_s / CHOICES, (next(worked_out) - before - 1) / CHOICES)


def main() -> None:
    """Print the cost of a choice by size, and check the budget."""
    sizes = ((10, 100), (100, 1_000), (1_000, 10_000))
    costs = {size: min(cost_of(*size) for _ in range(3)) for size in sizes}
    for (queues, apps), cost in costs.items():
        print(
            f"{queues:>6,} queues {apps:>7,} applications: {cost.seconds * 1e6:6.1f} us and"
            f" {cost.keys:4.1f} keys a choice"
        )
    small, large = costs[sizes[0]], costs[sizes[-1]]
    growth = Cost(large.seconds / small.seconds, large.keys / small.keys)
    print(f"growth at 100x: {growth.seconds:.1f} in time, {growth.keys:.1f} in keys")
    assert large.seconds < BUDGET_S
    assert growth.seconds < GROWTH_MAX
    assert growth.keys < KEYS_GROWTH_MAX


if __name__ == "__main__":
    main()
