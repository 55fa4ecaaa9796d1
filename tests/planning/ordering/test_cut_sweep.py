"""The cut sweep: which orders it tries, and which of them are the frontier."""

from dataclasses import replace

import pytest
from tests.planning.order_problems import G6, problem

from sluice.planning.ordering.annealing import EvaluatedOrder
from sluice.planning.ordering.compilation import plain_kernels
from sluice.planning.ordering.cut_sweep import cut_sweep, frontier
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext

# Example G6 by its work: least work first is 0 1 3 4 2, and Johnson's rule 1 3 2 4 0.
JOHNSON, ONE_FIRST, SHORTEST = (1, 3, 2, 4, 0), (0, 1, 3, 2, 4), (0, 1, 3, 4, 2)


@pytest.mark.parametrize(
    ("cuts_max", "tried"),
    [
        (400, [JOHNSON, ONE_FIRST, ONE_FIRST, ONE_FIRST, SHORTEST, SHORTEST]),  # 0 to 5 first jobs
        (6, [JOHNSON, ONE_FIRST, ONE_FIRST, ONE_FIRST, SHORTEST, SHORTEST]),
        (3, [JOHNSON, ONE_FIRST, SHORTEST]),  # 0, 2 and 5
        (1, [JOHNSON, SHORTEST]),  # both ends are always tried
    ],
)
def test_each_cut_is_tried_once_or_as_many_as_are_allowed(cuts_max, tried):
    plain, seen = plain_kernels(), []

    def noted(flow, order):
        seen.append(tuple(order))
        return plain.evaluate(flow, order)

    place = SearchContext(
        problem(*G6), SearchBudget(lambda: 0.0), kernels=replace(plain, evaluate=noted)
    )
    found = cut_sweep(place, cuts_max=cuts_max)

    assert tried == seen
    assert {one.order for one in found} <= {*tried}


def test_of_equal_orders_the_first_is_in_the_frontier_and_no_worse_one():
    tried = [
        EvaluatedOrder(order=(number,), makespan_s=float(makespan_s), total_s=float(total_s))
        for number, (makespan_s, total_s) in enumerate(
            [(12, 20), (10, 30), (11, 25), (10, 25), (12, 20), (9, 40), (13, 20), (14, 19)]
        )
    ]

    assert [(5,), (3,), (0,), (7,)] == [one.order for one in frontier(tried)]
