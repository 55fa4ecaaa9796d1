"""Integer solutions, compared with full enumeration and with a solver."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.capacity_problems import drawn_problem, is_feasible, problem_of, solved_by_highs

from sluice.planning.capacity.integer import CORE_MAX, solve_integer
from sluice.planning.capacity.relaxation import solve_relaxation


def by_enumeration(problem):
    """Least objective over all integer job counts, with the VMs that they need."""
    rent, least = problem.rent, np.inf
    reserved = np.floor(rent.reserved_vms)
    ranges = [
        range(int(low), int(high) + 1)
        for low, high in zip(problem.jobs_min, problem.jobs_max, strict=True)
    ]
    for jobs in product(*ranges):
        need = np.ceil(float(problem.vms_per_job @ np.array(jobs)) - 1e-9)
        r, d = min(reserved, need), max(0.0, need - reserved)
        least = min(least, problem.objective_usd(np.array(jobs, dtype=float), r, d))
    return least


@st.composite
def problems(draw):
    classes = []
    for _ in range(draw(st.integers(1, 4))):
        need = draw(st.sampled_from([0.3, 0.5, 1.0, 1.7, 2.0, 2.3, 3.9]))
        worth = draw(st.sampled_from([0.0, 4.0, 8.0, 9.0, 13.0, 15.0, 20.0, 33.0]))
        low = draw(st.integers(0, 3))
        classes.append((need, need * worth, low, low + draw(st.integers(0, 4))))
    return problem_of(draw(st.sampled_from([0, 1, 3, 5.5, 9, 14, 40])), *classes)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_few_classes_are_solved_to_the_optimum(problem):
    answer = solve_integer(problem, solve_relaxation(problem))

    assert answer.objective_usd == pytest.approx(by_enumeration(problem), abs=1e-9)
    assert answer.is_proven


@settings(max_examples=100, deadline=None)
@given(problems())
def test_integer_solutions_are_integer_and_feasible(problem):
    """They never cost less than the linear program."""
    relaxed = solve_relaxation(problem)
    answer = solve_integer(problem, relaxed)

    assert is_feasible(problem, answer)
    assert (answer.jobs == np.round(answer.jobs)).all()
    assert answer.reserved_vms == round(answer.reserved_vms)
    assert answer.on_demand_vms == round(answer.on_demand_vms)
    assert answer.objective_usd >= relaxed.objective_usd - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_core_is_the_whole_problem_for_sixty_classes(seed):
    problem = drawn_problem(seed, classes=CORE_MAX)
    answer = solve_integer(problem, solve_relaxation(problem))

    assert answer.objective_usd == pytest.approx(solved_by_highs(problem, whole=True), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [100, 300])
def test_the_core_is_enough_for_more_classes(classes):
    """The gap to the true optimum is below 1e-7, and the gap to the proven bound below 1e-3."""
    for seed in range(5):
        problem = drawn_problem(100 + seed, classes=classes)
        relaxed = solve_relaxation(problem)
        answer = solve_integer(problem, relaxed)
        cost = problem.rent.cost_usd(problem.needed_vms(answer.jobs)) + problem.refusals_usd(
            answer.jobs
        )
        best = solved_by_highs(problem, whole=True)

        assert answer.objective_usd - best <= 2e-7 * cost
        assert answer.objective_usd - relaxed.objective_usd <= 1e-3 * cost


def test_the_core_never_increases_the_cost():
    for seed in range(20):
        problem = drawn_problem(seed, classes=80)
        relaxed = solve_relaxation(problem)
        rounded = solve_integer(problem, relaxed, core_max=0)

        assert not rounded.is_proven or (problem.jobs_min == problem.jobs_max).all()
        assert solve_integer(problem, relaxed).objective_usd <= rounded.objective_usd
