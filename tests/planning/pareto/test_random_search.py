"""The searches for buffers draw where they say."""

import itertools
import random

import pytest

from sluice.planning.pareto import random_search
from sluice.planning.pareto.random_search import recursive_random_search

EXPLORED, TRIES = random_search._EXPLORED, random_search._TRIES
FIRST, LEAST = random_search._FIRST_SHARE, random_search._LEAST_SHARE


def draws_nearby():
    """Number of draws near a start in whose neighbourhood nothing is better."""
    shares = itertools.takewhile(
        lambda share: share > LEAST, (FIRST * random_search._SHRINK**n for n in itertools.count())
    )
    return TRIES * len(list(shares))


@pytest.mark.parametrize(("worse", "is_near"), [(0.0, True), (1.0, False)])
def test_a_start_no_worse_than_the_median_of_starts_is_searched_around(worse, is_near):
    """The second start is as good as the first one, or each draw is worse than those before it."""
    first, points = EXPLORED + draws_nearby(), []  # the first start, and around it

    def cost(point):
        points.append(point[0])
        return worse * len(points)

    recursive_random_search(cost, 1, draw=random.Random(1), evaluations=2 * first)

    around_first, after_second = points[EXPLORED:first], points[first + EXPLORED :]
    assert max(abs(point - points[0]) for point in around_first) <= FIRST
    assert (max(abs(point - points[first]) for point in after_second) <= FIRST) is is_near
    assert len(points) == 2 * first
