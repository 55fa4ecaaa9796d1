"""Laws of the rules of sharing, on random traces."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.planning.sharing_problems import problem, random_demands

from sluice.planning.sharing.fluid import allocations, share_out
from sluice.planning.sharing.misreports import best_misreport

TRACES = range(300)
RULES = ("static", "mlrf", "ltrf", "karma", "decay")


@st.composite
def problems(draw, policies=RULES):
    """Small problems with weights, under any rule and option."""
    members, steps = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    units = st.integers(0, 12).map(lambda halves: halves / 2)
    return problem(
        draw(st.integers(1, 8)),
        [draw(st.lists(units, min_size=steps, max_size=steps)) for _ in range(members)],
        weights=draw(st.lists(st.sampled_from([0.5, 1, 2]), min_size=members, max_size=members)),
        policy=draw(st.sampled_from(policies)),
        discount_price=draw(st.sampled_from([1.0, 0.5])),
        keeps_leftovers=draw(st.booleans()),
        alpha=draw(st.sampled_from([0.0, 0.5, 1.0])),
        charges_late=draw(st.booleans()),
    )


@given(problems())
def test_units_are_conserved(given_problem):
    """No rule hands out more than there is or than was wanted; only a fixed split leaves idle."""
    history = share_out(given_problem)

    for step in history.steps:
        total, wanted = sum(step.allocated), sum(step.demand_total)
        assert total <= given_problem.capacity + 1e-9
        assert all(
            0 <= a <= d + 1e-9 for a, d in zip(step.allocated, step.demand_total, strict=True)
        )
        if given_problem.options.policy != "static":
            assert total == pytest.approx(float(min(wanted, given_problem.capacity)))
        event(f"short of units: {wanted > given_problem.capacity}")


@given(problems(policies=("mlrf",)))
def test_the_memoryless_rule_never_loses(given_problem):
    """Acceptance (ii): with divisible units MLRF has no sharing loss."""
    assert all(step.loss == 0 for step in share_out(given_problem).steps)


@given(problems(policies=("karma",)))
def test_karma_without_a_shared_part_never_loses(given_problem):
    options = replace(given_problem.options, alpha=0.0)
    history = share_out(replace(given_problem, options=options))

    assert all(step.loss == 0 for step in history.steps)


@pytest.mark.parametrize("is_whole", [False, True])
def test_karma_with_all_units_shared_is_the_long_term_rule(is_whole):
    """Spec 8.4: the same allocations on 300 random traces, divisible and in whole units."""
    for seed in TRACES:
        capacity, demands = random_demands(seed)
        long_term = allocations(problem(capacity, demands, policy="ltrf", is_whole=is_whole))
        karma = allocations(problem(capacity, demands, policy="karma", is_whole=is_whole))
        assert long_term == karma, f"seed {seed}"


def test_karma_with_weights_is_the_long_term_rule_too():
    for seed in TRACES:
        capacity, demands = random_demands(seed)
        weights = [1 + (seed + member) % 3 for member in range(len(demands))]
        both = [
            allocations(problem(capacity, demands, weights=weights, policy=name))
            for name in ("ltrf", "karma")
        ]
        assert both[0] == both[1], f"seed {seed}"


def test_the_long_term_rule_can_lose():
    """Erratum E13: the printed theorem of sharing incentive is false, the worst case near -1/3."""
    losses = [
        min(step.loss for step in share_out(problem(capacity, demands)).steps)
        for capacity, demands in (random_demands(seed) for seed in TRACES)
    ]

    assert sum(loss < 0 for loss in losses) > 10
    assert min(losses) > -1


def test_the_first_step_of_the_long_term_rule_is_the_memoryless_one():
    """Acceptance (v): without history both rules divide alike."""
    for seed in range(100):
        capacity, demands = random_demands(seed)
        first = [
            allocations(problem(capacity, demands, policy=name))[0] for name in ("mlrf", "ltrf")
        ]
        assert first[0] == first[1]


def test_each_round_divides_as_a_trace_of_its_own():
    """S-LTMM: use and charges are forgotten; one endless round is F-LTMM."""
    for seed in range(50):
        capacity, demands = random_demands(seed)
        steps = len(demands[0])
        in_rounds = problem(capacity, demands, round_steps=2, charges_late=True)
        apart = [
            divided
            for k in range(0, steps, 2)
            for divided in allocations(
                problem(capacity, [row[k : k + 2] for row in demands], charges_late=True)
            )
        ]
        assert allocations(in_rounds) == apart, f"seed {seed}"
        endless = problem(capacity, demands, round_steps=steps)
        assert allocations(endless) == allocations(problem(capacity, demands))


def test_floating_point_follows_the_exact_rule():
    """Beyond some size numbers are floats; they must divide as the fractions do."""
    for seed in range(50):
        capacity, demands = random_demands(seed)
        exact = problem(capacity, demands, policy="ltrf", discount_price=0.5)
        rough = replace(
            exact,
            capacity=float(exact.capacity),
            weights=tuple(map(float, exact.weights)),
            demands=tuple(tuple(map(float, row)) for row in exact.demands),
        )
        pairs = zip(allocations(exact), allocations(rough), strict=True)
        for mine, other in pairs:
            assert [float(units) for units in mine] == pytest.approx(other)
    assert not problem(3, [[1] * 300, [2] * 300]).is_exact


def test_over_reporting_gains_nothing_without_a_memory():
    """Spec 8.1: no gain was found for MLRF by any report."""
    for seed in range(25):
        capacity, demands = random_demands(seed, members_max=3, steps_max=3, units_max=3)
        given_problem = problem(capacity, demands, policy="mlrf")
        assert 0 == best_misreport(given_problem, 0).gain, f"seed {seed}"


def test_a_long_search_finds_the_gain_that_a_short_one_finds():
    """Eight steps are too many to try all reports; the search still finds a gain of 1/4."""
    longer = problem(
        3, [[2, 3, 2, 0, 0, 0, 0, 0], [3, 1, 2, 0, 0, 0, 0, 0], [0, 3, 1, 0, 0, 0, 0, 0]]
    )

    found = best_misreport(longer, 0)

    assert not found.is_exhaustive
    assert found.gain >= Fraction(1, 4)
