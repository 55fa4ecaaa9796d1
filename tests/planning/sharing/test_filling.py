"""Water-filling with whole fractions, on claims whose level can be found by hand."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from tests.planning.sharing_problems import problem

from sluice.planning.sharing.filling import Claim, fill, fill_several, level_at
from sluice.planning.sharing.whole_units import WholeDecayRule, WholeMemorylessRule, hand_out


def claim(demand, weight=1, base=0, share=100):
    return Claim(Fraction(demand), Fraction(weight), Fraction(base), Fraction(share))


def test_where_there_is_enough_all_demands_are_met():
    assert fill(Fraction(5), [claim(2), claim(3)], Fraction(1)) == [2, 3]
    assert fill(Fraction(4), [claim(2), claim(3)], Fraction(1)) == [2, 2]


@pytest.mark.parametrize(
    ("claims", "supply", "given"),
    [
        # The level is 3: the small demand is met.
        ([claim(1), claim(9), claim(9)], 7, [1, 3, 3]),
        # By weight: 2 for 1.
        ([claim(9), claim(9, weight=2)], 6, [2, 4]),
        # Who has used 3 before begins at that level; the other has 3 first, then both 1.
        ([claim(9, base=3), claim(9)], 5, [1, 4]),
        ([claim(9, base=3), claim(9)], 2, [0, 2]),
        # With a weight of 2, a use of 4 is a level of 2.
        ([claim(9, weight=2, base=4), claim(9)], 5, [2, 3]),
    ],
)
def test_the_level_rises_until_the_supply_is_used_up(claims, supply, given):
    assert fill(Fraction(supply), claims, Fraction(1)) == given


def test_a_unit_above_the_share_counts_its_price():
    """At half the price the first has 2 + 2 * 2 units at a level of 4, where the other has 4."""
    claims = [claim(9, share=2), claim(9, share=8)]

    assert fill(Fraction(10), claims, Fraction(1, 2)) == [6, 4]
    assert fill(Fraction(3), claims, Fraction(1, 2)) == [Fraction(3, 2), Fraction(3, 2)]


@pytest.mark.parametrize(
    ("level", "units"), [(0, 0), (3, 0), (4, 2), (5, 4), (6, 8), (7, 10), (9, 10)]
)
def test_a_claim_receives_nothing_then_its_share_then_borrowed_units(level, units):
    """A weight of 2 and a use of 6 begin at 3; a share of 4 is passed at 5; 10 are met at 6.5."""
    one = claim(10, weight=2, base=6, share=4)

    assert one.received(Fraction(level), Fraction(1, 2)) == units
    assert one.break_points(Fraction(1, 2)) == (3, 5, Fraction(13, 2))


def test_a_demand_below_the_share_is_met_before_it():
    assert claim(2, weight=2, base=6, share=4).break_points(Fraction(1, 2)) == (3, 4, 4)


def test_with_several_resources_the_level_rises_on_for_those_that_need_none_used_up():
    """Two share the first resource; the third needs the second alone, and has all of it."""
    claims = [claim(9), claim(9), claim(9)]
    needs = [(Fraction(1), Fraction(0)), (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))]

    assert fill_several(claims, Fraction(1), needs) == [Fraction(1, 2), Fraction(1, 2), 1]
    small = [claim(Fraction(1, 4)), claim(9), claim(Fraction(1, 3))]
    assert fill_several(small, Fraction(1), needs) == [
        Fraction(1, 4),
        Fraction(3, 4),
        Fraction(1, 3),
    ]


def test_who_needs_a_resource_that_is_used_up_stops_there():
    """All three share the first; the third has no more of the second than of the first."""
    claims = [claim(9), claim(9), claim(9)]
    needs = [(Fraction(1), Fraction(0)), (Fraction(1), Fraction(0)), (Fraction(1), Fraction(1, 2))]

    assert fill_several(claims, Fraction(1), needs) == [Fraction(1, 3)] * 3


@pytest.mark.parametrize(("supply", "level"), [(0, 1), (1, Fraction(3, 2)), (2, 2), (5, 3), (8, 4)])
def test_a_level_is_interpolated_between_its_break_points(supply, level):
    """The function is 0, 2 and 8 at 1, 2 and 4."""
    values = {Fraction(1): Fraction(0), Fraction(2): Fraction(2), Fraction(4): Fraction(8)}

    assert (
        level_at(Fraction(supply), [Fraction(1), Fraction(2), Fraction(4)], values.__getitem__)
        == level
    )


def test_where_the_function_is_level_the_first_point_is_the_answer():
    assert level_at(Fraction(5), [Fraction(1), Fraction(2)], lambda _: Fraction(5)) == 1


@pytest.mark.parametrize(
    ("supply", "wanted", "weights", "given"),
    [
        (5, [9, 9], [1, 1], [3, 2]),  # the earlier of equals
        (5, [1, 9], [1, 1], [1, 4]),
        (5, [0, 2], [1, 1], [0, 2]),
        (6, [9, 9], [1, 2], [2, 4]),
        (0, [9, 9], [1, 1], [0, 0]),
    ],
)
def test_whole_units_go_to_the_least_level_one_by_one(supply, wanted, weights, given):
    fractions = [Fraction(weight) for weight in weights]

    assert hand_out(supply, wanted, fractions, lambda i, units: units / fractions[i]) == given


def test_of_equal_levels_the_smaller_part_of_this_step_comes_first():
    """The first has used a unit before: after one unit of the second both have a level of 1."""
    given = hand_out(
        2,
        [9, 9],
        [Fraction(1), Fraction(1)],
        lambda i, units: Fraction(units) + (1 if i == 0 else 0),
    )

    assert given == [1, 1]


@pytest.mark.parametrize(
    ("demand", "size", "units"),
    [(10.0, 1.0, 10), (10 - 1e-10, 1.0, 10), (10 - 1e-8, 1.0, 9), (9.99, 1.0, 9), (0.3, 0.1, 0.3)],
)
def test_a_demand_counts_its_whole_units_but_for_rounding(demand, size, units):
    problem = SimpleNamespace(
        weights=(1.0,), capacity=20.0, names=("a",), task_units=(size,), room=None, tasks=None
    )

    assert WholeMemorylessRule(problem).divide([demand]) == pytest.approx([units])


def test_use_counts_half_after_the_steps_of_a_half_life():
    rule = WholeDecayRule(problem(4, [[2], [1]], half_life_steps=2))
    rule.divide([2, 1])
    assert rule.memory() == {"decayed": (2, 1)}

    rule.divide([0, 0])
    rule.divide([0, 0])
    assert rule.memory()["decayed"] == pytest.approx((1, 0.5))
