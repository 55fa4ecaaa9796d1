"""Which queue comes next: 1,000 queues and 10,000 applications against 10 and 100.

Budget on one core of 2 GHz: under 250 microseconds a choice with 10,000 applications that all wait,
and at most 6 times the cost with 100. It first asserts that the choice is the least.

    PYTHONPATH=src python bench/sharing.py
"""

import random
import time

from sluice.policies.ltyarn.orders import key_of
from sluice.policies.ltyarn.turns import Turns
from sluice.policies.ltyarn.usage import Usage

BUDGET_S = 250e-6
GROWTH_MAX = 6.0
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


def choice_s(queues: int, apps: int) -> float:
    """Seconds for one choice: a queue, an application in it, and both start one more task."""
    draw = random.Random(1)
    key = key_of("ltrf")
    top: Turns[Child] = Turns("ltrf")
    top.key_of = key  # type: ignore[assignment]  # a child here is what a key reads
    tree: dict[Child, Turns[Child]] = {}
    for index in range(queues):
        queue = Child(index, draw)
        tree[queue] = Turns("ltrf")
        tree[queue].key_of = key  # type: ignore[assignment]  # as above
        top.touch(queue)
        for number in range(apps // queues):
            tree[queue].touch(Child(number, draw))
    first = top.first(0.0)
    assert first is min(tree, key=lambda one: (one.usage.used(0.0) / one.weight, one.index))
    began_s = time.perf_counter()
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
    return (time.perf_counter() - began_s) / CHOICES


def main() -> None:
    """Print the cost of a choice by size, and check the budget."""
    sizes = ((10, 100), (100, 1_000), (1_000, 10_000))
    cost_s = {size: min(choice_s(*size) for _ in range(3)) for size in sizes}
    for (queues, apps), one_s in cost_s.items():
        print(f"{queues:>6,} queues {apps:>7,} applications: {one_s * 1e6:6.1f} us a choice")
    growth = cost_s[sizes[-1]] / cost_s[sizes[0]]
    print(f"growth at 100x: {growth:.1f}")
    assert cost_s[sizes[-1]] < BUDGET_S
    assert growth < GROWTH_MAX


if __name__ == "__main__":
    main()
