"""The relaxation against a solver, its certificate, and the theorems of the paper."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from tests.effort import share_of
from tests.planning.capacity_problems import drawn_problem, is_feasible, problem_of, solved_by_highs

from sluice.estimate.bounds import Bound
from sluice.estimate.vm_need import containers_per_job, vms_per_job
from sluice.planning.capacity.instances import InstanceKind, draw_classes, draw_rent
from sluice.planning.capacity.relaxation import certificate_gap_usd, solve_relaxation
from sluice.planning.capacity.two_classes import two_class_solution


def scale_of(problem, answer):
    """Magnitude to which rounding errors are compared."""
    return 1.0 + abs(answer.objective_usd) + problem.refusals_usd(answer.jobs)


def check_against_highs(seeds):
    for seed in seeds:
        problem = drawn_problem(seed)
        answer = solve_relaxation(problem)
        scale = scale_of(problem, answer)

        assert is_feasible(problem, answer), seed
        assert abs(answer.objective_usd - solved_by_highs(problem)) <= 1e-9 * scale, seed
        assert abs(certificate_gap_usd(problem, answer)) <= 1e-9 * scale, seed


def test_greedy_is_the_optimum_of_the_linear_program():
    """Compared with HiGHS, on instances of every kind. Source: capacity spec, section 8."""
    check_against_highs(range(100))


@pytest.mark.slow
def test_greedy_is_the_optimum_of_the_linear_program_many_times():
    check_against_highs(range(1000, 1000 + share_of(1000)))


amounts = st.one_of(st.integers(0, 12).map(float), st.floats(0, 50))
needs = st.one_of(st.integers(1, 8).map(float), st.floats(0.01, 20))


@st.composite
def problems(draw):
    """Small problems with many ties: equal ratios, ratios equal to a price, fixed job counts."""
    classes = []
    for _ in range(draw(st.integers(1, 6))):
        need = draw(needs)
        worth = draw(st.one_of(st.sampled_from([0.0, 8.0, 12.0, 20.0]), st.floats(0, 40)))
        low = draw(amounts)
        classes.append((need, need * worth, low, low + draw(amounts)))
    reserved = draw(st.one_of(st.just(0.0), amounts, st.just(1e6)))
    return problem_of(reserved, *classes)


@settings(max_examples=200, deadline=None)
@given(problems())
def test_the_certificate_has_no_gap_on_any_ties(problem):
    """Strong duality: the gap is 0, which proves the optimum, and the solution is feasible."""
    answer = solve_relaxation(problem)

    assert is_feasible(problem, answer)
    assert abs(certificate_gap_usd(problem, answer)) <= 1e-9 * scale_of(problem, answer)


@settings(max_examples=200, deadline=None)
@given(problems(), st.floats(0.5, 1.5))
def test_the_certificate_of_a_worse_solution_has_a_gap(problem, factor):
    """The proof must reject solutions that are not optimal."""
    answer = solve_relaxation(problem)
    jobs = np.clip(answer.jobs * factor, problem.jobs_min, problem.jobs_max)
    r, d = problem.rent.vms(problem.needed_vms(jobs))
    other = replace(
        answer, jobs=jobs, reserved_vms=r, on_demand_vms=d,
        objective_usd=problem.objective_usd(jobs, r, d),
    )  # fmt: skip
    gap = certificate_gap_usd(problem, other)
    loss = other.objective_usd - answer.objective_usd

    assert gap == pytest.approx(loss, abs=1e-9 * scale_of(problem, answer))
    assert gap >= -1e-9 * scale_of(problem, answer)


@pytest.mark.parametrize("seed", range(60))
def test_the_six_properties_of_theorem_3(seed):
    """The properties hold under their corrected conditions. Source: capacity spec, section 3.3."""
    problem = drawn_problem(seed)
    answer, rent = solve_relaxation(problem), problem.rent
    used, slop = problem.needed_vms(answer.jobs), 1e-9 * problem.needed_vms(problem.jobs_max)
    at_least, at_most = (problem.needed_vms(problem.jobs_min), problem.needed_vms(problem.jobs_max))

    if rent.reserved_vms > 0 and used > 0:
        assert answer.reserved_vms > 0
    assert answer.reserved_vms + answer.on_demand_vms == pytest.approx(used, abs=slop)
    dear = problem.penalty_usd > problem.vms_per_job * rent.on_demand_usd
    cheap = problem.penalty_usd < problem.vms_per_job * rent.reserved_usd
    assert (answer.jobs[dear] == problem.jobs_max[dear]).all()
    assert (answer.jobs[cheap] == problem.jobs_min[cheap]).all()
    if rent.reserved_vms >= at_most:
        assert answer.on_demand_vms == 0
    if rent.reserved_vms < at_least - slop:
        assert answer.reserved_vms == rent.reserved_vms
        assert answer.on_demand_vms > 0


def test_theorem_1_is_the_cheapest_split_of_the_slack():
    """Compared with a numerical minimisation over the split of the slack between the phases."""
    draw = np.random.default_rng(1)
    for _ in range(50):
        xi_map, xi_reduce, slack = draw.uniform(1, 1e4), draw.uniform(1, 1e4), draw.uniform(1, 3e3)
        c_map, c_reduce = map(float, draw.integers(1, 4, 2, endpoint=True))
        gamma = vms_per_job(xi_map, xi_reduce, slack, c_map, c_reduce)

        def vms(part, xm=xi_map, xr=xi_reduce, s=slack, cm=c_map, cr=c_reduce):
            return xm / (part * s) / cm + xr / ((1 - part) * s) / cr

        least = minimize_scalar(vms, bounds=(1e-6, 1 - 1e-6), method="bounded")
        held = containers_per_job(xi_map, xi_reduce, slack, c_map, c_reduce)
        assert gamma == pytest.approx(least.fun, rel=1e-9)
        assert held.maps / c_map + held.reduces / c_reduce == pytest.approx(gamma, rel=1e-12)
        assert xi_map / held.maps + xi_reduce / held.reduces == pytest.approx(slack, rel=1e-12)


@pytest.mark.parametrize("bound", Bound)
def test_a_deadline_gives_its_vms_and_the_vms_give_the_deadline(bound):
    draw = np.random.default_rng(2)
    classes = draw_classes(draw, 20, draw_rent(draw, 1.0), InstanceKind.TEXT)
    gammas = classes.needs(bound)
    for number, gamma in enumerate(gammas):
        fit = classes.maps_per_vm[number], classes.reduces_per_vm[number]
        law = classes.law(number, bound)
        slack_s = vms_per_job(law.xi_map_s, law.xi_reduce_s, 1.0, *fit) / gamma
        deadline_s = law.xi_fixed_s + slack_s
        assert deadline_s == pytest.approx(classes.deadline_s[number])


# Two classes in closed form -----------------------------------------------------------------------


def in_cell(draw, row, column):
    """Draw a problem of two classes in a cell of the table. Source: capacity spec, section 3.4."""
    rho = draw.uniform(5, 20)
    delta = rho * draw.uniform(1.2, 4)
    parts = {1: (0, rho), 2: (rho, delta), 3: (delta, 2 * delta)}
    low, high = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2), 5: (2, 3), 6: (3, 3)}[row]
    worths = sorted((draw.uniform(*parts[low]), draw.uniform(*parts[high])))
    classes = []
    for worth in worths:
        gamma, least = draw.uniform(0.2, 5), draw.uniform(0, 10)
        classes.append((gamma, gamma * worth, least, least + draw.uniform(0.1, 10)))
    (g1, _, l1, u1), (g2, _, l2, u2) = classes
    edges = [0, g1 * l1 + g2 * l2, g1 * l1 + g2 * u2, g1 * u1 + g2 * u2, 2 * (g1 * u1 + g2 * u2)]
    place = "abcd".index(column)
    rent = replace(
        problem_of(0, (1, 1, 1, 1)).rent, on_demand_usd=delta, reserved_usd=rho, reserved_vms=0.0
    )
    if draw.random() < 0.5:
        classes.reverse()
    return problem_of(draw.uniform(edges[place], edges[place + 1]), *classes, rent=rent)


@pytest.mark.parametrize("column", "abcd")
@pytest.mark.parametrize("row", range(1, 7))
def test_the_closed_form_of_two_classes_equals_the_relaxation(row, column):
    """100 instances of each of the 24 cells; a few are also compared with HiGHS."""
    draw = np.random.default_rng(10 * row + ord(column))
    for number in range(100):
        problem = in_cell(draw, row, column)
        cell, answer = two_class_solution(problem), solve_relaxation(problem)

        assert (row, column) == (cell.row, cell.column)
        assert answer.jobs == pytest.approx(cell.jobs, rel=1e-9, abs=1e-9)
        assert answer.reserved_vms == pytest.approx(cell.reserved_vms, rel=1e-9, abs=1e-9)
        assert answer.on_demand_vms == pytest.approx(cell.on_demand_vms, rel=1e-9, abs=1e-9)
        if number < 3:
            assert answer.objective_usd == pytest.approx(solved_by_highs(problem), rel=1e-9)


@pytest.mark.parametrize(
    ("reserved_vms", "jobs", "on_demand_vms", "next_vm_usd"),
    [(5, 3, 1, 20), (6, 3, 0, 15), (7, 3.5, 0, 15), (20, 10, 0, 8), (21, 10, 0, 8)],
)
def test_the_next_vm_is_worth_what_the_class_that_waits_for_it_pays(
    reserved_vms, jobs, on_demand_vms, next_vm_usd
):
    """3 to 10 jobs of 2 VMs each, and a refused job costs $30: $15 a VM, between $8 and $20.

    With 6 VMs the jobs that must run have exactly enough, and the next VM is for a fourth.
    """
    answer = solve_relaxation(problem_of(reserved_vms, (2, 30, 3, 10)))

    assert answer.jobs == pytest.approx([jobs])
    assert (answer.on_demand_vms, answer.next_vm_usd) == (on_demand_vms, next_vm_usd)
