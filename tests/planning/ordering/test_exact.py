"""Exact search against enumeration, the nine benchmarks, proofs and bounds."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import share_of
from tests.planning.order_problems import (
    EXAMPLE_A,
    G3,
    G4,
    G5,
    all_values,
    context,
    problem,
    problems,
    solved,
    values,
)

from sluice.model.errors import InvalidInput
from sluice.planning.ordering.annealing import evaluated
from sluice.planning.ordering.branch_and_bound import BranchAndBound, _node
from sluice.planning.ordering.compilation import compiled_kernels
from sluice.planning.ordering.enumeration import enumerate_orders
from sluice.planning.ordering.kernels.enumeration_kernel import next_order
from sluice.planning.ordering.kernels.prefix_bounds import _johnson_s
from sluice.planning.ordering.kernels.slot_groups import reset
from sluice.planning.ordering.objectives import Objective, weighted_objective
from sluice.planning.ordering.problem import OrderedJob, OrderingProblem
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.ordering.workloads import benchmarks, facebook

ROUNDING = 1e-9


def best_values(made, kernels=None):
    """Least makespan, least total, and least weighted sum of both, by enumeration."""
    every = all_values(made, kernels).values()
    makespan_s, total_s = (min(both) for both in zip(*every, strict=True))
    return makespan_s, total_s, min(one / makespan_s + two / total_s for one, two in every)


def check_against_enumeration(made, kernels=None):
    makespan_s, total_s, both = best_values(made, kernels)
    answers = [solved(made, "exact", name) for name in ("makespan", "tct", "both")]

    assert all(answer.is_proved for answer in answers)
    assert makespan_s == pytest.approx(answers[0].best.makespan_s, rel=ROUNDING)
    assert total_s == pytest.approx(answers[1].best.total_s, rel=ROUNDING)
    found = answers[2].best
    assert both == pytest.approx(
        found.makespan_s / makespan_s + found.total_s / total_s, rel=ROUNDING
    )
    for answer in answers:
        reported = (answer.best.makespan_s, answer.best.total_s)
        assert reported == values(made, answer.best.order)


@settings(max_examples=60, deadline=None)
@given(problems(jobs_max=5))
def test_exact_is_equal_to_enumeration(made):
    check_against_enumeration(made)


@pytest.mark.slow
def test_exact_is_equal_to_enumeration_many_times_up_to_seven_jobs():
    """Enumeration uses compiled kernels if there are any; exact uses plain ones."""
    draw = random.Random(3)
    for case in range(share_of(200)):
        made = random_problem(draw, jobs=(2, 3, 4, 5, 6, 6, 7)[case % 7])
        check_against_enumeration(made, compiled_kernels())


def test_orders_evaluated_between_two_nodes_do_not_change_the_proof():
    """Annealing runs in the middle of a tree search, on the same jobs."""
    draw = random.Random(5)
    for _ in range(60):
        made = random_problem(draw, jobs=5)
        makespan_s, total_s, _ = best_values(made)
        for objective, optimum in ((Objective.MAKESPAN, makespan_s), (Objective.TCT, total_s)):
            place = context(made, evaluations=10**9)
            goal = weighted_objective(objective, 1.0, 1.0)
            tree = BranchAndBound(place, evaluated(place, tuple(range(5))), goal)
            while not tree.is_done:
                place.budget.evaluations_max = place.budget.evaluations + 1
                tree.search(1.0)
                place.values(draw.sample(range(5), 5))

            assert optimum == pytest.approx(tree.best.value(goal), rel=ROUNDING)


def test_jobs_with_only_one_equal_phase_are_not_equal():
    """One order may be skipped only for jobs that are equal in both phases."""
    draw = random.Random(4)
    for case in range(40):
        shared = draw.randint(1, 6), float(draw.randint(1, 4))
        others = [(draw.randint(1, 6), float(draw.randint(1, 12))) for _ in range(5)]
        pairs = [((shared,), (other,)) for other in others]
        jobs = tuple(
            OrderedJob(name=f"J{number}", maps=pair[case % 2], reduces=pair[1 - case % 2])
            for number, pair in enumerate(pairs)
        )
        check_against_enumeration(
            OrderingProblem(
                map_slots=draw.randint(1, 4), reduce_slots=draw.randint(1, 4), jobs=jobs
            )
        )


def random_problem(draw, jobs):
    """Any combination of phases, one style of lengths, sometimes equal jobs."""
    length_s = draw.choice(
        [
            lambda: float(draw.randint(1, 12)),
            lambda: draw.randint(1, 99) / 10,
            lambda: draw.choice([0.1, 0.2, 0.3]),
            lambda: float(draw.choice([1, 1, 2, 30])),
        ]
    )
    tasks_max = draw.choice([3, 8, 40])

    def phase(is_there):
        if not is_there:
            return ()
        if draw.random() < 0.2:
            return tuple((1, length_s()) for _ in range(draw.randint(1, 5)))
        return ((draw.randint(1, tasks_max), length_s()),)

    made = []
    for number in range(jobs):
        shape = draw.choice(["both", "both", "both", "both", "maps", "reduces"])
        maps, reduces = phase(shape != "reduces"), phase(shape != "maps")
        made.append(OrderedJob(name=f"J{number}", maps=maps, reduces=reduces))
    if draw.random() < 0.3:
        made[-1] = OrderedJob(name="twin", maps=made[0].maps, reduces=made[0].reduces)
    return OrderingProblem(
        map_slots=draw.randint(1, 9), reduce_slots=draw.randint(1, 9), jobs=tuple(made)
    )


@pytest.mark.parametrize(
    ("example", "makespan_s", "total_s"),
    [(EXAMPLE_A, 40, 88), (G3, 67, None), (G4, 52, None), (G5, 18, 51)],
    ids=["G1", "G3", "G4", "G5"],
)
def test_exact_finds_the_golden_optima(example, makespan_s, total_s):
    made = problem(*example)

    assert makespan_s == solved(made, "exact").best.makespan_s
    assert total_s in {None, solved(made, "exact", "tct").best.total_s}


def test_the_nine_benchmarks_are_proved():
    """G7: makespan 1086, total completion 4598; the thesis's enumeration took 97 s."""
    shortest = solved(benchmarks(9), "exact", "makespan")
    least = solved(benchmarks(9), "exact", "tct")

    assert (1086, True, 1086) == (shortest.best.makespan_s, shortest.is_proved, shortest.lower)
    assert (4598, True, 4598) == (least.best.total_s, least.is_proved, least.lower)


@pytest.mark.slow
def test_the_nine_benchmarks_have_the_range_of_full_enumeration():
    """G7: over all 362,880 orders, makespan 1086 to 1563 and total completion 4598 to 10409."""
    found = enumerate_orders(context(benchmarks(9), may_compile=True), Objective.MAKESPAN)

    assert (1086, 1563, 10409) == (found.best.makespan_s, found.makespan_s_max, found.total_s_max)
    least = enumerate_orders(context(benchmarks(9), may_compile=True), Objective.TCT)
    assert 4598 == least.best.total_s


def test_the_next_order_is_the_next_in_lexicographic_order():
    order, found = list(range(5)), []
    while True:
        found.append(tuple(order))
        if not next_order(order):
            break

    assert found == list(itertools.permutations(range(5)))


def test_enumeration_breaks_ties_by_the_other_measure_then_lexicographically():
    """This is the rule of SIM, which the online part of the thesis uses."""
    twins = problem((1, 1), [(1, 2, 1, 1)] * 3)
    assert (0, 1, 2) == enumerate_orders(context(twins), Objective.TCT).best.order

    made = problem(*EXAMPLE_A)
    every = all_values(made)
    expected = min(every, key=lambda order: (*every[order], order))
    assert expected == enumerate_orders(context(made), Objective.MAKESPAN).best.order
    expected = min(every, key=lambda order: (*every[order][::-1], order))
    assert expected == enumerate_orders(context(made), Objective.TCT).best.order


def test_enumeration_refuses_more_than_ten_jobs_and_offers_the_exact_search():
    with pytest.raises(InvalidInput, match=r"39,916,800 orders.*exact search"):
        enumerate_orders(context(benchmarks(11)), Objective.TCT)
    with pytest.raises(InvalidInput, match="not a single measure"):
        enumerate_orders(context(benchmarks(2)), Objective.BOTH)


def test_the_bound_on_the_makespan_follows_johnsons_order():
    """Map work of 6 and 8 on two slots, then 4 and 10 on one: 3 + 4 and then 10."""
    place = context(problem((2, 1), [(2, 3, 1, 4), (4, 2, 2, 5)]))
    node = _node(place, weighted_objective(Objective.MAKESPAN, 1.0, 1.0))
    reset(node.flow.maps, 2)

    assert _johnson_s(node) == 17.0


@pytest.mark.parametrize("objective", ["makespan", "tct"])
def test_an_interrupted_search_has_a_valid_bound(objective):
    """The optimum is between the lower bound and the order found."""
    made = facebook(6, random.Random(5))
    makespan_s, total_s, _ = best_values(made)
    optimum = makespan_s if objective == "makespan" else total_s
    for evaluations in (1, 5, 10, 20, 40, 80):
        answer = solved(made, "exact", objective, evaluations=evaluations)
        found = answer.best.makespan_s if objective == "makespan" else answer.best.total_s

        assert answer.lower <= optimum * (1 + ROUNDING)
        assert optimum <= found * (1 + ROUNDING)
        assert answer.is_proved is False or found == pytest.approx(optimum, rel=ROUNDING)


def test_the_gap_closes_with_more_evaluations():
    made = facebook(7, random.Random(1))
    gaps = []
    for evaluations in (5, 100, 2000):
        answer = solved(made, "exact", "tct", evaluations=evaluations)
        gaps.append(answer.best.total_s - answer.lower)

    assert sorted(gaps, reverse=True) == gaps
    assert gaps[0] > gaps[-1]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 6), st.integers(1, 3))
def test_equal_jobs_are_not_tried_in_both_orders(count, slots):
    """Six equal jobs have one order to evaluate."""
    made = problem((slots, slots), [(3, 2.0, 2, 3.0)] * count)
    place = context(made)
    from sluice.planning.ordering.exact import exact

    proof = exact(place, Objective.TCT, random.Random(0))

    assert proof.is_proved
    assert place.budget.evaluations <= 4 + 2 * count


def test_a_search_stops_at_its_time_limit():
    """The clock advances at each call, so that the test does not wait."""
    ticks = iter(range(10**9))
    made = benchmarks(20)

    answer = solved(made, "exact", "tct", seconds=40.0, evaluations=None, clock=lambda: next(ticks))

    assert not answer.is_proved
    assert answer.lower < answer.best.total_s


def test_jobs_without_maps_wait_for_no_map_slot():
    """An earlier bound let jobs without maps wait for the first free map slot."""
    reduces = ((37, 2.7),)
    made = OrderingProblem(
        map_slots=5,
        reduce_slots=9,
        jobs=(
            OrderedJob(name="J0", reduces=reduces),
            OrderedJob(name="J1", reduces=((12, 0.1),)),
            OrderedJob(
                name="J2", maps=((1, 9.6), (1, 2.8), (1, 0.9), (1, 7.4)), reduces=((19, 5.4),)
            ),
            OrderedJob(name="J3", maps=((15, 1.6),), reduces=((2, 7.7),)),
            OrderedJob(name="J4", maps=((25, 2.8),), reduces=((9, 0.3),)),
            OrderedJob(name="J5", reduces=reduces),
        ),
    )

    assert solved(made, "exact", "tct").best.total_s == pytest.approx(116.3, rel=ROUNDING)


def test_a_proof_that_auto_does_not_finish_still_gives_its_bound():
    """The tree's bound is above that of the formulas, and the search that follows keeps it."""
    draw = random.Random(3)
    rows = [tuple(draw.randint(1, 9) for _ in range(4)) for _ in range(11)]
    place = context(problem((3, 2), rows), evaluations=60)
    found = solve(place, OrderingMethod.AUTO, Objective.TCT, random.Random(0))

    assert not found.is_proved
    assert found.lower is not None
    assert place.bounds(range(11)).tct_lower_s < found.lower <= found.best.total_s
