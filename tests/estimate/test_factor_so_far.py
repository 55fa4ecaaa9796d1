"""The tasks of a job that have run show how long the rest takes."""

import math
import random

import pytest

from sluice.estimate.factor_so_far import FactorSoFar, TasksSoFar
from sluice.estimate.length_spread import LengthSpread

CV = 0.3
CASES, DRAWS = 400, 99


def seen(lengths, slots, now):
    """The tasks of these lengths as they are seen at an instant; they
    begin where a slot is free.
    """
    free = [0.0] * slots
    done, ages = [], []
    for length in lengths:
        began = min(free)
        free[free.index(began)] = began + length
        if began + length <= now:
            done.append(length)
        elif began < now:
            ages.append(now - began)
    log_sum = math.fsum(map(math.log, done))
    return TasksSoFar(done=len(done), log_sum=log_sum, ages=tuple(ages))


@pytest.mark.parametrize("freedom", [3.0, math.inf])
@pytest.mark.parametrize("now", [0.3, 1.2, 3.0])
def test_the_truth_lies_within_as_often_as_the_level_says(now, freedom):
    """Also early, when the only tasks that have ended are the shortest."""
    draw, sigma = random.Random(f"{now} {freedom}"), math.sqrt(math.log1p(CV * CV))
    before = LengthSpread(0.4, freedom)
    inside = {0.5: 0, 0.9: 0}
    for _ in range(CASES):
        factor = before.factor(draw)
        lengths = [factor * draw.lognormvariate(-sigma * sigma / 2, sigma) for _ in range(16)]
        found = FactorSoFar(before, seen(lengths, 4, now), CV)
        drawn = sorted(found.factor(draw) for _ in range(DRAWS))
        for level in inside:
            cut = round((1 - level) / 2 * (DRAWS + 1))
            inside[level] += drawn[cut - 1] <= factor <= drawn[-cut]
    for level, count in inside.items():
        chance = 3 * math.sqrt(level * (1 - level) / CASES)
        assert abs(count / CASES - level) <= 0.02 + chance, level


def test_tasks_that_take_twice_as_long_are_believed():
    draw = random.Random(1)
    tasks = TasksSoFar(done=12, log_sum=12 * math.log(2.0), ages=(2.5,))
    drawn = sorted(FactorSoFar(LengthSpread(0.25), tasks, CV).factor(draw) for _ in range(999))

    assert 1.7 < drawn[499] < 2.2
    assert drawn[949] / drawn[49] < 1.5


def test_nothing_seen_changes_nothing():
    draw = random.Random(1)
    found = FactorSoFar(LengthSpread(0.25), TasksSoFar(), CV)
    logs = sorted(math.log(found.factor(draw)) for _ in range(9999))

    assert logs[4999] == pytest.approx(0.0, abs=0.02)
    assert logs[9749] == pytest.approx(1.96 * 0.25, abs=0.03)
