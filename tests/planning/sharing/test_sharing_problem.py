"""The values that a sharing problem takes and refuses, and when it is exact."""

import math
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from sluice.model.errors import InvalidInput
from sluice.model.members import Member
from sluice.planning.sharing.problem import (
    CELLS_EXACT_MAX,
    STEPS_EXACT_MAX,
    WHOLE_UNITS_MAX,
    SharingOptions,
    sharing_problem,
)

TINY, HUGE = math.ulp(0.0), sys.float_info.max
BELOW_ONE, ABOVE_ONE = math.nextafter(1, 0), math.nextafter(1, 2)


@pytest.mark.parametrize(
    ("field", "taken", "refused"),
    [
        ("discount_price", (TINY, 1.0), (0.0, ABOVE_ONE)),
        ("alpha", (0.0, 1.0), (-TINY, ABOVE_ONE)),
        ("half_life_steps", (TINY, HUGE), (0.0, math.inf)),
        ("round_steps", (None, 1, 2), (0,)),
        ("initial_credits", (None, 0.0, HUGE), (-TINY, math.inf)),
        ("policy", ("ltrf", "karma"), ("fifo",)),
    ],
)
def test_an_option_takes_its_first_and_last_value_and_not_the_next(field, taken, refused):
    for value in taken:
        assert getattr(replace(SharingOptions(), **{field: value}), field) == value
    for value in refused:
        with pytest.raises(InvalidInput, match=f"{field} is"):
            replace(SharingOptions(), **{field: value})


def members(*rows, weights=(1.0, 1.0), tasks=({}, {})):
    return [
        Member(member_id=f"u{number}", demands=row, weight=weight, task=task)
        for number, (row, weight, task) in enumerate(zip(rows, weights, tasks, strict=False), 1)
    ]


PAIR = members((2.0, 1.0), (1.0, 3.0))


@pytest.mark.parametrize("capacity", [0.0, math.inf, math.nan])
def test_a_capacity_is_a_finite_number_above_0(capacity):
    with pytest.raises(InvalidInput, match="capacity is"):
        sharing_problem(capacity, PAIR, SharingOptions())
    with pytest.raises(InvalidInput, match="cpu is"):
        sharing_problem({"cpu": capacity}, PAIR, SharingOptions())


def test_small_problems_are_exact_as_their_numbers_are_written():
    made = sharing_problem(0.3, members((0.1,), (0.2,), weights=(1.0, 2.0)), SharingOptions())

    assert made.demands == ((Fraction(1, 10), Fraction(1, 5)),)
    assert made.shares == (Fraction(1, 10), Fraction(1, 5))


@pytest.mark.parametrize(
    ("steps", "count", "is_exact"),
    [
        (STEPS_EXACT_MAX, 1, True),
        (STEPS_EXACT_MAX + 1, 1, False),
        (1, CELLS_EXACT_MAX, True),
        (1, CELLS_EXACT_MAX + 1, False),
    ],
)
def test_large_problems_are_in_floating_point(steps, count, is_exact):
    many = [Member(member_id=f"u{number}", demands=(1.0,) * steps) for number in range(count)]

    assert sharing_problem(3.0, many, SharingOptions()).is_exact == is_exact


def test_powers_of_a_half_life_are_not_exact():
    assert not sharing_problem(3.0, PAIR, SharingOptions(policy="decay")).is_exact


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ([], "members is empty"),
        (members((), ()), "demands is empty"),
        (members((1.0,), (1.0, 2.0)), "demands has 2 steps, and that of 'u1' has 1"),
        (members((1.0,), tasks=({"cpu": 1.0},)), "task is given with one resource"),
    ],
)
def test_members_that_do_not_fit_together_are_refused(given, what):
    with pytest.raises(InvalidInput, match=what):
        sharing_problem(3.0, given, SharingOptions())


@pytest.mark.parametrize(("capacity", "is_taken"), [(3.0, True), (2.5, False),
                                                    (WHOLE_UNITS_MAX / 2, True),
                                                    (WHOLE_UNITS_MAX / 2 + 1, False)])  # fmt: skip
def test_whole_units_are_handed_out_up_to_a_limit_over_all_steps(capacity, is_taken):
    options = SharingOptions(is_whole=True)
    if is_taken:
        assert sharing_problem(capacity, PAIR, options).capacity == capacity
    else:
        with pytest.raises(InvalidInput, match=r"capacity is .* for 2 steps"):
            sharing_problem(capacity, PAIR, options)


def test_whole_units_are_not_demanded_in_parts():
    with pytest.raises(InvalidInput, match=r"demands\[1\] is 1.5"):
        sharing_problem(3.0, members((1.0, 1.5), (1.0, 1.0)), SharingOptions(is_whole=True))


@pytest.mark.parametrize(
    ("policy", "alpha", "capacity", "is_taken"),
    [
        ("static", 0.5, 4, True),  # 2 each
        ("static", 0.5, 3, False),  # 1.5 each
        ("karma", 0.5, 4, True),  # 1 each
        ("karma", 0.5, 6, False),
        ("karma", 1.0, 3, True),  # nothing is guaranteed
        ("mlrf", 0.5, 3, True),
    ],
)
def test_whole_units_are_guaranteed_in_whole_numbers(policy, alpha, capacity, is_taken):
    options = SharingOptions(policy=policy, alpha=alpha, is_whole=True)
    if is_taken:
        assert sharing_problem(capacity, PAIR, options).options == options
    else:
        with pytest.raises(InvalidInput, match="which is not a whole number"):
            sharing_problem(capacity, PAIR, options)


TASKS = ({"cpu": 1.0, "memory": 4.0}, {"cpu": 3.0, "memory": 1.5})


def test_a_unit_of_several_resources_is_the_dominant_share_of_a_task():
    """Tasks take 4/18 of the memory and 3/9 of the cpu; they demand 2 and 1 tasks."""
    made = sharing_problem(
        {"cpu": 9.0, "memory": 18.0}, members((2.0,), (1.0,), tasks=TASKS), SharingOptions()
    )

    assert made.task_units == (Fraction(2, 9), Fraction(1, 3))
    assert made.demands == ((Fraction(4, 9), Fraction(1, 3)),)
    assert (made.room, made.tasks) == ((9, 36), ((1, 8), (3, 3)))
    assert made.shares == (Fraction(1, 2), Fraction(1, 2))


@pytest.mark.parametrize(
    ("capacities", "tasks", "policy", "what"),
    [
        ({"cpu": 9.0}, TASKS, "ltrf", "task.memory is not one of the capacities"),
        ({"cpu": 9.0, "memory": 3.9}, TASKS, "ltrf", "task.memory is 4, above the capacity"),
        ({"cpu": 9.0}, ({}, {}), "ltrf", "task is missing"),
        ({"cpu": 9.0, "memory": 18.0}, TASKS, "karma", "karma shares one resource"),
    ],
)
def test_tasks_that_do_not_fit_the_capacities_are_refused(capacities, tasks, policy, what):
    with pytest.raises(InvalidInput, match=what):
        sharing_problem(
            capacities, members((2.0,), (1.0,), tasks=tasks), SharingOptions(policy=policy)
        )


def test_a_task_may_take_all_of_a_resource():
    full = members((1.0,), (1.0,), tasks=({"cpu": 9.0}, {"cpu": 1.0}))

    assert sharing_problem({"cpu": 9.0}, full, SharingOptions()).task_units[0] == 1
