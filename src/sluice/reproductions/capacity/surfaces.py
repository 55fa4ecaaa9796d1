"""Two classes: jobs and reserved machines by the worth of the classes (Figs. 4 and 5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sluice.planning.capacity.problem import CapacityProblem, RentalPrices
from sluice.planning.capacity.relaxation import solve_relaxation
from sluice.planning.capacity.two_classes import two_class_solution
from sluice.reproductions.charts import surfaces_chart
from sluice.reproductions.runner import Cell, Experiment, OnProgress

_RENT = RentalPrices(on_demand_usd=20.0, reserved_usd=8.0, reserved_vms=0.0)
_NEEDS, _LOW, _HIGH = np.array([2.0, 3.0]), np.array([4.0, 3.0]), np.array([10.0, 12.0])
_WORTHS = np.arange(1.0, 28.0, 1.5)  # of a machine; the prices are between the steps
_CONDITIONS = {"a": 12.0, "b": 30.0, "c": 48.0, "d": 60.0}

Surface = list[tuple[float, float, float]]


def two_classes(_seeds: int, on_progress: OnProgress) -> Experiment:
    """Both surfaces under each condition on reserved machines, each point computed twice."""
    rows: list[dict[str, Cell]] = []
    jobs: dict[str, Surface] = {}
    vms: dict[str, Surface] = {}
    for column, reserved in _CONDITIONS.items():
        on_progress(f"two classes: condition {column}")
        name = f"condition {column}: {reserved:.0f} reserved"
        jobs[name], vms[name], differing = _surfaces(column, reserved)
        levels_h1 = len({round(value, 9) for _, _, value in jobs[name]})
        levels_r = len({round(value, 9) for _, _, value in vms[name]})
        rows.append(
            {"condition": column, "paper: levels of h1": _PAPER_H1[column],
             "ours: levels of h1": levels_h1, "paper: levels of r": _PAPER_R[column],
             "ours: levels of r": levels_r, "points": len(jobs[name]), "differing": differing}
        )  # fmt: skip
    return Experiment(
        name="two-classes",
        title="Two classes: jobs and reserved machines by their worth (Figs. 4, 5)",
        setup=(
            "p1/gamma1 below p2/gamma2, prices 8 and 20; every point from the table of section 3.4"
            " and again by greedy."
        ),
        rows=tuple(rows),
        why=(
            "The staircases agree with the paper. `differing` counts points at which the closed"
            " form and greedy disagree in jobs or machines: none."
        ),
        chart=surfaces_chart(
            "Two classes in closed form",
            "Worth of a machine: x is p1/gamma1, y is p2/gamma2, the larger one.",
            {"jobs of class 1": jobs, "reserved machines": vms},
        ),
    )


# From figures 4 and 5 and their text.
_PAPER_H1 = {"a": 2, "b": 2, "c": 3, "d": 2}
_PAPER_R = {"a": 1, "b": 2, "c": 3, "d": 3}


def _surfaces(column: str, reserved: float) -> tuple[Surface, Surface, int]:
    """h1 and r at every point, and the number of points where both ways disagree."""
    rent = replace(_RENT, reserved_vms=reserved)
    jobs: Surface = []
    vms: Surface = []
    differing = 0
    for first in _WORTHS:
        for second in _WORTHS[first < _WORTHS]:
            penalties = _NEEDS * np.array([first, second])
            problem = CapacityProblem(
                vms_per_job=_NEEDS, penalty_usd=penalties, jobs_min=_LOW, jobs_max=_HIGH, rent=rent
            )
            cell, answer = two_class_solution(problem), solve_relaxation(problem)
            printed = (*cell.jobs, cell.reserved_vms, cell.on_demand_vms)
            found = (*answer.jobs, answer.reserved_vms, answer.on_demand_vms)
            differing += cell.column != column or not np.allclose(printed, found, rtol=1e-12)
            jobs.append((float(first), float(second), cell.jobs[0]))
            vms.append((float(first), float(second), cell.reserved_vms))
    return jobs, vms, differing
