"""Worked examples of the capacity spec, section 6."""

from typing import Any

import pytest
from tests.planning.capacity_problems import problem_of

from sluice.estimate.bounds import Bound
from sluice.ingest.workload import parse_workload
from sluice.planning.capacity.integer import solve_integer
from sluice.planning.capacity.plan import plan_capacity
from sluice.planning.capacity.relaxation import certificate_gap_usd, solve_relaxation

G1 = """
version: 1
prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 50}
classes:
  - {id: q1, penalty_usd: 1000, jobs_min: 10, jobs_max: 10, deadline_s: 1800,
     maps_per_vm: 2, reduces_per_vm: 3,
     maps: {tasks: 100, avg_s: 40, max_s: 50}, reduces: {tasks: 40, avg_s: 24, max_s: 30},
     first_shuffle: {avg_s: 16, max_s: 20}, shuffle: {avg_s: 80, max_s: 100}}
"""


@pytest.mark.parametrize(
    ("bound", "gamma", "maps", "reduces"),
    [
        (Bound.LOW, 3.603719, 39.3276, 49.1202),
        (Bound.AVERAGE, 4.004867, 43.8956, 54.3026),
        (Bound.UP, 4.531223, 49.8897, 61.1021),
    ],
)
def test_g1_needs_containers_and_time_of_a_profile(bound, gamma, maps, reduces):
    workload = parse_workload(G1)
    (one,) = plan_capacity(workload.classes, workload.capacity_prices, bound=bound).classes

    assert one.vms_per_job == pytest.approx(gamma, abs=5e-7)
    assert one.map_containers == pytest.approx(maps, abs=5e-5)
    assert one.reduce_containers == pytest.approx(reduces, abs=5e-5)
    assert one.time_s == pytest.approx(1800.0, abs=1e-9)
    if bound is Bound.UP:
        assert one.vms == pytest.approx(45.3122, abs=5e-5)


GOLDEN: dict[str, Any] = {
    "G2": (0, [(2, 100, 3, 10)], [10], 0, 20, -600, -600, 20),
    "G3": (50, [(2, 10, 3, 10)], [3], 6, 0, 18, 18, 8),
    "G4": (13, [(2, 30, 3, 10)], [6.5], 13, 0, -91, -86, 15),
    "G5": (13, [(2.3, 30, 3, 10)], [5.652174], 13, 0, -65.565217, -56, 30 / 2.3),
    "G6": (0, [(0.3, 10, 0, 4)], [4], 0, 1.2, -16, -10, 20),
    "G7": (30, [(2, 1, 10, 10), (3, 1, 5, 5)], [10, 5], 30, 5, 325, 325, 20),
    "G8": (50, [(2, 10, 0, 10)], [0], 0, 0, 0, 0, 8),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_g2_to_g8(name):
    """Jobs, VMs, objective and price of the next VM; then the same in whole numbers."""
    reserved, classes, jobs, r, d, objective, whole_objective, nu = GOLDEN[name]
    problem = problem_of(reserved, *classes)
    answer = solve_relaxation(problem)

    assert answer.jobs == pytest.approx(jobs, abs=5e-7)
    assert (answer.reserved_vms, answer.on_demand_vms) == pytest.approx((r, d))
    assert answer.objective_usd == pytest.approx(objective, abs=5e-7)
    assert answer.next_vm_usd == pytest.approx(nu)
    assert certificate_gap_usd(problem, answer) == pytest.approx(0, abs=1e-12)
    assert solve_integer(problem, answer).objective_usd == pytest.approx(whole_objective)


@pytest.mark.parametrize(
    ("name", "jobs", "r", "d"), [("G4", 7, 13, 1), ("G5", 6, 13, 1), ("G6", 3, 0, 1)]
)
def test_integer_solutions_round_neither_jobs_up_nor_vms_down(name, jobs, r, d):
    problem = problem_of(GOLDEN[name][0], *GOLDEN[name][1])
    answer = solve_integer(problem, solve_relaxation(problem))

    assert (answer.jobs[0], answer.reserved_vms, answer.on_demand_vms) == (jobs, r, d)


@pytest.mark.parametrize(("name", "objective"), [("G4", -84), ("G5", -54)])
def test_rounding_alone_is_worse_than_the_core(name, objective):
    """Step a of section 4.2 without step b shows why the core is needed."""
    problem = problem_of(GOLDEN[name][0], *GOLDEN[name][1])

    assert solve_integer(
        problem, solve_relaxation(problem), core_max=0
    ).objective_usd == pytest.approx(objective)


def test_g9_equal_ratios_may_be_split_in_any_way():
    problem = problem_of(30, (2, 30, 3, 10), (3, 45, 3, 10))
    answer = solve_relaxation(problem)

    assert answer.objective_usd == pytest.approx(-210)
    assert solve_integer(problem, answer).objective_usd == pytest.approx(-210)


def test_seven_vms_plus_a_rounding_error_are_seven():
    """25 jobs of 0.28 VMs need 7.000000000000001 VMs in binary; an eighth VM is not rented."""
    problem = problem_of(100, (0.28, 30, 25, 25))
    answer = solve_integer(problem, solve_relaxation(problem))

    assert 0.28 * 25 > 7
    assert (answer.reserved_vms, answer.on_demand_vms) == (7.0, 0.0)
