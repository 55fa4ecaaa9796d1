"""Safe bounds, and printed bounds that are false. Source: ordering spec, sections 5, 7, 8."""

import itertools
import math

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.planning.order_problems import (
    EXAMPLE_A,
    G3,
    all_values,
    loads,
    problem,
    problems,
    values,
)

from sluice.planning.ordering import rules
from sluice.planning.ordering.bounds import fluid, fluid_s, printed_bounds, safe_bounds
from sluice.planning.ordering.loads import least_span, loads_of

NEARLY = 1 + 1e-9  # sums of decimals are rounded, one by one


def test_example_a_has_the_golden_bounds():
    """G1, for the input order."""
    known = loads(*EXAMPLE_A)
    safe, printed = safe_bounds(known, range(4)), printed_bounds(known, range(4))

    assert 37.5 == fluid_s(known, range(4))
    assert (36.5, 57.75, 67.25) == (
        safe.makespan_lower_s, safe.makespan_upper_s, safe.makespan_upper_all_s,
    )  # fmt: skip
    assert (53.5, 63) == (printed.makespan_upper_s, printed.makespan_upper_all_s)
    assert math.isclose(32 / 73, printed.mk_jr_excess)
    assert math.isclose(81 / 146, safe.mk_jr_excess)
    assert 72.5 == safe.tct_lower_s


def test_g3_has_the_golden_bounds_and_breaks_the_printed_ones():
    """Errata E2, E3, E4: 99 > 97, 100 > 98.5, and 99 > (1 + 31/66) * 67."""
    known, made = loads(*G3), problem(*G3)
    order = rules.mk_jr(known)
    safe, printed = safe_bounds(known, order), printed_bounds(known, order)
    makespans_s = [last_s for last_s, _ in all_values(made).values()]

    assert (66, 111, 112.5) == (
        safe.makespan_lower_s, safe.makespan_upper_s, safe.makespan_upper_all_s,
    )  # fmt: skip
    assert (97, 98.5) == (printed.makespan_upper_s, printed.makespan_upper_all_s)
    assert (31 / 66, 15 / 22) == (printed.mk_jr_excess, safe.mk_jr_excess)
    assert (67, 100) == (min(makespans_s), max(makespans_s))
    assert values(made, order)[0] == 99 > printed.makespan_upper_s
    assert max(makespans_s) > printed.makespan_upper_all_s
    assert 99 > (1 + printed.mk_jr_excess) * min(makespans_s)
    assert 99 <= (1 + safe.mk_jr_excess) * min(makespans_s)


def test_the_other_counterexample_to_the_printed_bound():
    """Erratum E2: 21 > 20.25."""
    rows = [*[(1, 1, 1, 7)] * 7, (1, 1, 27, 1), (1, 1, 1, 7)]
    known = loads((1, 8), rows)

    assert 21 == values(problem((1, 8), rows), range(9))[0]
    assert 20.25 == printed_bounds(known, range(9)).makespan_upper_s
    assert 21 <= safe_bounds(known, range(9)).makespan_upper_s


def test_delta_as_printed_exceeds_one():
    """Erratum E4: one job with a map and a reduce of 1 on 8/4 slots has delta = 16/3."""
    assert math.isclose(16 / 3, printed_bounds(loads((8, 4), [(1, 1, 1, 1)]), [0]).mk_jr_excess)


@settings(max_examples=80, deadline=None)
@given(problems(jobs_max=4))
def test_safe_bounds_hold_for_every_order(made):
    known = loads_of(made)
    every = all_values(made)
    least_s = min(last_s for last_s, _ in every.values())
    for order, (last_s, total_s) in every.items():
        safe = safe_bounds(known, order)
        assert safe.makespan_lower_s <= last_s * NEARLY
        assert safe.tct_lower_s <= total_s * NEARLY
        assert last_s <= safe.makespan_upper_s * NEARLY
        assert last_s <= safe.makespan_upper_all_s * NEARLY
        if order == rules.mk_jr(known):
            assert last_s <= (1 + safe.mk_jr_excess) * least_s * NEARLY
        event(f"below its own fluid makespan: {last_s * NEARLY < fluid_s(known, order)}")


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(2, 8),
    st.lists(
        st.tuples(
            st.integers(1, 9), st.just(1), st.integers(1, 40), st.sampled_from([1, 1, 1, 7, 30])
        ),
        min_size=2,
        max_size=5,
    ),
)
def test_safe_bounds_hold_where_the_printed_ones_break(map_slots, reduce_slots, rows):
    """Few map slots, and many short reduces with single long ones, as in G3."""
    made, known = problem((map_slots, reduce_slots), rows), loads((map_slots, reduce_slots), rows)
    broken = False
    for order, (last_s, _) in all_values(made).items():
        broken = broken or last_s > printed_bounds(known, order).makespan_upper_s
        assert last_s <= safe_bounds(known, order).makespan_upper_s * NEARLY
    event(f"printed bound broken: {broken}")


@given(problems(jobs_max=6))
def test_the_reverse_of_johnson_has_a_closed_form(made):
    """F(UNOPT) = sum of max(TM, TR) + the greatest min(TM, TR)."""
    known = loads_of(made)
    pairs = [(known.map_share(job), known.reduce_share(job)) for job in known.jobs]

    assert fluid(known, rules.reverse(known)) == sum(map(max, pairs)) + max(map(min, pairs))


@given(problems(jobs_max=5))
def test_the_fluid_makespan_is_the_greatest_of_its_terms(made):
    """(3.3) equals its one-pass form."""
    known = loads_of(made)
    order = list(known.jobs)
    terms = [
        sum(map(known.map_share, order[: k + 1])) + sum(map(known.reduce_share, order[k:]))
        for k in range(len(order))
    ]

    assert max(terms) == fluid(known, order)


def test_the_least_span_counts_the_work_of_all_tasks():
    """Two slots share 10 s of work in parts of 4, 3 and 3 s: one of them takes 6 s."""
    assert 6 == least_span([(1, 4), (2, 3)], 2)


def test_the_least_span_spreads_the_work_over_the_slots():
    """Of 22 s each of two slots has 11 s; two long tasks leave place for the short ones."""
    assert 11 == least_span([(2, 9), (4, 1)], 2)
    assert 0 == least_span([], 2)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 3))
def test_no_placement_beats_the_least_span(lengths, slots):
    """Brute force over all ways to place up to six tasks."""
    best = min(
        max(sum(length for length, at in zip(lengths, places, strict=True) if at == slot)
            for slot in range(slots))
        for places in itertools.product(range(slots), repeat=len(lengths))
    )  # fmt: skip

    assert least_span([(1, length) for length in lengths], slots) <= best
    assert -(-len(lengths) // slots) * 3 == least_span([(len(lengths), 3)], slots)
