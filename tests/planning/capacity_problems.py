"""Capacity problems for tests: made by hand, drawn at random, and solved by HiGHS."""

from dataclasses import replace

import highspy
import numpy as np

from sluice.planning.capacity.instances import InstanceKind, draw_classes, draw_rent
from sluice.planning.capacity.problem import CapacityProblem, RentalPrices

RENT = RentalPrices(on_demand_usd=20.0, reserved_usd=8.0, reserved_vms=0.0)


def problem_of(reserved_vms, *classes, rent=RENT):
    """Make a problem of classes given as (gamma, p, h_low, h_up)."""
    columns = np.array(classes, dtype=float).T
    return CapacityProblem(
        vms_per_job=columns[0],
        penalty_usd=columns[1],
        jobs_min=columns[2],
        jobs_max=columns[3],
        rent=replace(rent, reserved_vms=float(reserved_vms)),
    )


def drawn_problem(seed, *, classes_max=100, classes=None):
    """Draw any kind of instance with few or many reserved VMs; a fifth have fixed job counts."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, classes_max, endpoint=True)) if classes is None else classes
    rent = draw_rent(draw, 1.0)
    sort = list(InstanceKind)[int(draw.integers(3))]
    problem = draw_classes(draw, count, rent, sort).problem(rent)
    while not len(problem.vms_per_job):  # a single class of the table may be infeasible
        problem = draw_classes(draw, count, rent, sort).problem(rent)
    if draw.random() < 0.2:
        problem = replace(problem, jobs_min=problem.jobs_max)
    reserved = draw.choice([0.0, 0.3, 0.8, 1.0, 1.5]) * problem.needed_vms(problem.jobs_max)
    return replace(problem, rent=replace(rent, reserved_vms=float(reserved)))


def solved_by_highs(problem, *, whole=False):
    """Objective found by HiGHS for the linear program (P3), or for its integer version."""
    solver, rent = highspy.Highs(), problem.rent
    for name, setting in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
    ):
        solver.setOptionValue(name, setting)
    reserved = float(np.floor(rent.reserved_vms)) if whole else rent.reserved_vms
    lows = [*problem.jobs_min, 0.0, 0.0]
    highs = [*problem.jobs_max, reserved, highspy.kHighsInf]
    costs = [*-problem.penalty_usd, rent.reserved_usd, rent.on_demand_usd]
    for column, (low, high, cost) in enumerate(zip(lows, highs, costs, strict=True)):
        solver.addVar(float(low), float(high))
        solver.changeColCost(column, float(cost))
        if whole:
            solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    row = [*(-need for need in problem.vms_per_job.tolist()), 1.0, 1.0]
    solver.addRow(0.0, highspy.kHighsInf, len(row), range(len(row)), row)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return solver.getInfo().objective_function_value


def is_feasible(problem, answer, *, slop=1e-9):
    """Whether a solution satisfies every constraint of (P3)."""
    rent, scale = problem.rent, max(1.0, problem.needed_vms(problem.jobs_max))
    return (
        (answer.jobs >= problem.jobs_min - slop).all()
        and (answer.jobs <= problem.jobs_max + slop).all()
        and -slop <= answer.reserved_vms <= rent.reserved_vms + slop
        and answer.on_demand_vms >= -slop
        and problem.needed_vms(answer.jobs)
        <= answer.reserved_vms + answer.on_demand_vms + slop * scale
    )
