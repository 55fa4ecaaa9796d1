"""Cost over reserved VMs: convex, piecewise linear, and equal to a new solution."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.capacity_problems import drawn_problem, problem_of

from sluice.planning.capacity.cost_curve import cost_curve
from sluice.planning.capacity.relaxation import solve_relaxation


def cost_with(problem, reserved_vms):
    """The least cost with this number of reserved VMs, from a new solution."""
    asked = replace(problem, rent=replace(problem.rent, reserved_vms=reserved_vms))
    saved = float((problem.penalty_usd * problem.jobs_max).sum())
    return solve_relaxation(asked).objective_usd + saved


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 1.5))
def test_the_curve_equals_a_new_solution_at_each_point(seed, part):
    problem = drawn_problem(seed, classes_max=20)
    curve = cost_curve(problem)
    reserved = part * max(1.0, problem.needed_vms(problem.jobs_max))

    assert curve.cost_at_usd(reserved) == pytest.approx(cost_with(problem, reserved), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_curve_is_convex_and_falls(seed):
    """Each further VM saves at most as much as the one before, and never adds cost."""
    curve = cost_curve(drawn_problem(seed, classes_max=20))
    slopes = np.diff(curve.cost_usd) / np.diff(curve.reserved_vms)

    assert (np.diff(curve.reserved_vms) > 0).all()
    assert (slopes < 0).all()
    assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[1:])).all()
    assert (np.diff(curve.next_vm_usd) < 0).all()


def test_the_price_of_the_next_vm_is_the_slope():
    """One more VM saves its worth minus its rent. Source: capacity spec, section 4.1."""
    problem = problem_of(13, (2, 30, 3, 10))
    answer, rent = solve_relaxation(problem), problem.rent

    saved = cost_with(problem, 13.0) - cost_with(problem, 13.5)
    assert saved == pytest.approx(0.5 * (answer.next_vm_usd - rent.reserved_usd))


def test_the_curve_is_one_point_if_no_vm_has_a_use():
    curve = cost_curve(problem_of(50, (2, 10, 0, 10)))

    assert [0.0] == list(curve.reserved_vms)
    assert [100.0] == list(curve.cost_usd)
    assert 0.0 == curve.useful_vms


def test_vms_beyond_all_profitable_jobs_have_no_use():
    """Class one is worth reserved VMs, class two is not."""
    assert 20.0 == cost_curve(problem_of(0, (2, 30, 3, 10), (2, 10, 0, 10))).useful_vms
