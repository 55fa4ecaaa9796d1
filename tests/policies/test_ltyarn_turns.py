"""The first child of a queue against the least of all keys."""

import random

import pytest

from sluice.policies.ltyarn.turns import Turns


class Children:
    """Numbers whose keys grow as time passes, and change to any other when they are touched."""

    def __init__(self, draw, count):
        self.draw = draw
        self.base: dict[int, float | None] = dict.fromkeys(range(count))
        self.rate = dict.fromkeys(range(count), 0.0)
        self.turns: Turns[int] = Turns("ltrf")
        self.turns.key_of = self.key
        for child in self.base:
            self.change(child)

    def key(self, child, now_s):
        at = self.base[child]
        return None if at is None else (at + self.rate[child] * now_s, child)

    def change(self, child):
        self.base[child] = self.draw.choice([None, self.draw.randint(0, 9), self.draw.random()])
        self.rate[child] = self.draw.choice([0.0, 0.0, 1.0, 3.0])
        self.turns.touch(child)

    def least(self, now_s, without):
        keys = [self.key(child, now_s) for child in self.base if child not in without]
        return min((key for key in keys if key is not None), default=(0.0, None))[1]


@pytest.mark.parametrize("seed", range(12))
def test_the_first_child_is_the_one_with_the_least_key(seed):
    """So often that void entries are thrown out; now and then a child leaves, or all change."""
    draw = random.Random(seed)
    children = Children(draw, 2 + seed)
    now_s = 0.0
    for step in range(400):
        now_s += draw.choice([0.0, 0.1, 1.0])
        for child in draw.sample(sorted(children.base), draw.randint(0, len(children.base))):
            children.change(child)
        if step == 300:
            children.turns.drop(0)
            del children.base[0]
        if draw.random() < 0.02:
            children.base = {one: draw.choice([0.5, 2.0]) for one in children.base}
            children.turns.restart()
        without = set(draw.sample(sorted(children.base), draw.randint(0, 1)))

        assert children.turns.first(now_s, without) == children.least(now_s, without)


@pytest.mark.interpreted
def test_no_more_void_entries_are_kept_than_twice_the_children():
    """And 64. Each of eight children changes a thousand times, and grows dearer each time."""
    turns: Turns[int] = Turns("ltrf")
    keys = dict.fromkeys(range(8), 0)
    turns.key_of = lambda child, _: (keys[child], child)
    longest = 0
    for step in range(8000):
        keys[step % 8] += 8
        turns.touch(step % 8)
        turns.first(0.0, without=set(range(8)))
        longest = max(longest, len(turns._heap))

    assert longest <= 64 + 2 * 8
