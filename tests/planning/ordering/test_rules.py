"""Orders by formula. Source: ordering spec, sections 5 and 8 (golden examples G1 to G7)."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.order_problems import (
    EXAMPLE_A,
    EXAMPLE_B,
    G3,
    G4,
    G5,
    G6,
    loads,
    problem,
    problems,
    values,
)

from sluice.planning.ordering import rules
from sluice.planning.ordering.bounds import fluid
from sluice.planning.ordering.loads import loads_of
from sluice.planning.ordering.workloads import BENCHMARKS

G7 = (
    (57, 19),
    [(maps, map_s, reduces, reduce_s) for _, maps, reduces, map_s, reduce_s in BENCHMARKS],
)

GOLDEN = [
    ("G1", EXAMPLE_A, rules.input_order, [0, 1, 2, 3], 44, 94),
    ("G1", EXAMPLE_A, rules.mk_jr, [1, 2, 3, 0], 40, 100),
    ("G1", EXAMPLE_A, rules.reverse, [0, 3, 2, 1], 52, None),
    ("G1", EXAMPLE_A, rules.mk_tct_jr, [1, 0, 2, 3], 44, 90),
    ("G1", EXAMPLE_A, rules.tct, [1, 0, 2, 3], 44, 90),
    ("G2 10/10", ((10, 10), EXAMPLE_B), rules.mk_jr, [1, 0], 30, 56),
    ("G2 10/10", ((10, 10), EXAMPLE_B), rules.mk_tct_jr, [0, 1], 35, 54),
    ("G2 10/10", ((10, 10), EXAMPLE_B), rules.tct, [0, 1], 35, 54),
    ("G2 8/8", ((8, 8), EXAMPLE_B), rules.mk_jr, [1, 0], 39, 65),
    ("G2 8/8", ((8, 8), EXAMPLE_B), rules.mk_tct_jr, [0, 1], 44, 72),
    ("G3", G3, rules.mk_jr, [0, 1, 2, 3, 4], 99, 301),
    ("G3", G3, rules.reverse, [4, 3, 2, 1, 0], 81, None),
    ("G3", G3, rules.mk_tct_jr, [0, 1, 2, 4, 3], 77, 268),
    ("G4", G4, rules.mk_jr, [1, 0], 101, None),
    ("G5", G5, rules.input_order, [0, 1, 2, 3], 23, 68),
    ("G5", G5, rules.mk_jr, [3, 1, 0, 2], 21, 55),
    ("G5", G5, rules.mk_tct_jr, [2, 3, 1, 0], 18, 51),
    ("G5", G5, rules.tct, [2, 1, 0, 3], 24, 62),
    ("G6", G6, rules.mk_jr, [1, 3, 2, 4, 0], 30, 101),
    ("G6", G6, rules.reverse, [0, 4, 2, 3, 1], 45, None),
    ("G6", G6, rules.mk_tct_jr, [1, 0, 3, 2, 4], 32, 90),
    ("G7", G7, rules.input_order, [0, 1, 2, 3, 4, 5, 6, 7, 8], 1273, 6672),
    ("G7", G7, rules.mk_jr, [4, 5, 8, 1, 6, 7, 3, 2, 0], 1090, 5895),
    ("G7", G7, rules.reverse, [0, 2, 3, 7, 6, 1, 8, 5, 4], 1539, 8454),
    ("G7", G7, rules.mk_tct_jr, [4, 5, 8, 6, 2, 0, 1, 7, 3], 1096, 5026),
    ("G7", G7, rules.tct, [4, 5, 0, 6, 2, 8, 1, 7, 3], 1090, 4780),
]  # fmt: skip


@pytest.mark.parametrize(
    ("example", "rule", "order", "makespan_s", "total_s"),
    [row[1:] for row in GOLDEN],
    ids=[f"{row[0]} {row[2].__name__}" for row in GOLDEN],
)
def test_a_rule_gives_the_golden_order_and_its_golden_values(
    example, rule, order, makespan_s, total_s
):
    found = rule(loads(*example))

    assert order == list(found)
    last_s, sum_s = values(problem(*example), found)
    assert makespan_s == last_s
    assert total_s in {None, sum_s}


def flow_shops(rows):
    """One slot of each kind: the two-machine flow shop."""
    return loads((1, 1), [(1, map_s, 1, reduce_s) for map_s, reduce_s in rows])


stages = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5)


@given(stages)
def test_johnson_is_best_in_the_flow_shop_and_its_reverse_is_worst(rows):
    """Theorem 3.2 holds there; in the slot model it does not (erratum E5)."""
    known = flow_shops(rows)
    flows = [fluid(known, order) for order in itertools.permutations(range(len(rows)))]

    assert min(flows) == fluid(known, rules.mk_jr(known))
    assert max(flows) == fluid(known, rules.reverse(known))


@given(problems(jobs_max=6), st.integers(2, 9))
def test_orders_do_not_change_with_the_number_of_nodes(made, nodes):
    """Theorem 3.3: with fixed slots per node, TM, TR, T and G all scale equally."""
    more = type(made)(
        map_slots=made.map_slots * nodes, reduce_slots=made.reduce_slots * nodes, jobs=made.jobs
    )

    for rule in (rules.mk_jr, rules.mk_tct_jr, rules.tct):
        assert rule(loads_of(made)) == rule(loads_of(more))


def test_a_tenth_three_times_is_three_tenths():
    """In binary 3 * 0.1 > 0.3, so the first job would count as one with more map work."""
    known = loads((1, 1), [(3, 0.1, 1, 0.3), (1, 0.2, 1, 0.1)])

    assert (0, 1) == rules.mk_jr(known)
    assert known.maps[0] == known.reduces[0]


def test_ties_keep_the_input_order():
    known = loads((2, 2), [(4, 3, 2, 5)] * 4)

    for rule in (rules.mk_jr, rules.mk_tct_jr, rules.tct):
        assert (0, 1, 2, 3) == rule(known)


def test_a_job_at_the_geometric_mean_is_small():
    """T = 2, 4, 8 has G = 4, which rounding must not push below 4; so have equal T."""
    known = loads((1, 1), [(1, 4, 1, 4), (1, 3, 1, 1), (1, 1, 1, 1)])

    # Small are 1 and 2: by MK_JR first 2 (TM <= TR), then 1. Were 1 large, 0 would precede it.
    assert (2, 1, 0) == rules.mk_tct_jr(known)
    thousand = loads((7, 3), [(1, 0.7, 1, 0.1)] * 1000)
    assert tuple(range(1000)) == rules.mk_tct_jr(thousand)


def test_lengths_of_any_magnitude_are_compared_exactly():
    known = loads((1, 1), [(1, 1e-300, 1, 1e299), (1, 1e299, 1, 1e-300), (1, 5e-324, 1, 1e299)])

    assert (2, 0, 1) == rules.mk_jr(known)
    assert (2, 0, 1) == rules.mk_tct_jr(known)


@given(problems(jobs_max=7), st.randoms(use_true_random=False))
def test_every_rule_gives_a_permutation(made, draw: random.Random):
    known = loads_of(made)
    for rule in (rules.mk_jr, rules.mk_tct_jr, rules.tct, rules.reverse, rules.input_order):
        assert sorted(rule(known)) == list(range(len(made.jobs)))
