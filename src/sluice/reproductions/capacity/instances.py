"""Instances of the capacity paper's evaluation, the same for the same seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sluice.planning.capacity.instances import DrawnClasses, InstanceKind, draw_classes, draw_rent
from sluice.planning.capacity.problem import CapacityProblem, RentalPrices

GENERATOR = "Instances as the paper draws them, with the errata of the capacity spec (E8 to E12)."


def drawn_classes(
    seed: int, classes: int, sort: InstanceKind, *, has_reserved: bool
) -> tuple[DrawnClasses, RentalPrices]:
    """Classes and prices, without the number of reserved machines."""
    draw = np.random.default_rng([seed, classes])
    rent = draw_rent(draw, float(has_reserved))
    return draw_classes(draw, classes, rent, sort), rent


def drawn_problem(
    seed: int, classes: int, sort: InstanceKind, reserved_share: float
) -> CapacityProblem:
    """One instance. reserved_share: reserved machines over those that all jobs need."""
    made, rent = drawn_classes(seed, classes, sort, has_reserved=reserved_share > 0)
    problem = made.problem(rent)
    reserved = reserved_share * problem.needed_vms(problem.jobs_max)
    return replace(problem, rent=replace(rent, reserved_vms=reserved))
