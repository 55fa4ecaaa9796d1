"""Bounds by constraint programming for chains of stages, where OR-Tools is installed.

A task is an interval, the slots of a stage are a cumulative resource, and the tasks of a job start
after those of its stage before. The jobs need not keep one order, so that the bound holds for every
order. CP-SAT counts in whole numbers. One worker and a fixed seed lead to the same answer, unless
the seconds end it before.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sluice.planning.flow_shops.flow_shop import FlowShop


def cp_least(shop: FlowShop, least: float, most: float, seconds: float) -> float:
    """A makespan that no order is below, of a shop of whole lengths.

    least: a bound that is known.  most: a makespan that an order has.
    """
    from ortools.sat.python import cp_model

    model: Any = cp_model.CpModel()  # OR-Tools has no types that could be checked
    time = partial(model.new_int_var, 0, int(most), "")
    end = model.new_int_var(int(least), int(most), "")
    intervals: list[list[Any]] = [[] for _ in shop.slots]
    for job in shop.tasks:
        ready = 0
        for here, lengths in zip(intervals, job, strict=True):
            done = time() if lengths else ready
            for length in lengths:
                begin = time()
                here.append(model.new_fixed_size_interval_var(begin, int(length), ""))
                model.add(begin >= ready)
                model.add(done >= begin + int(length))
            ready = done
        model.add(end >= ready)
    for here, slots in zip(intervals, shop.slots, strict=True):
        model.add_cumulative(here, [1] * len(here), slots)
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = seconds
    solver.solve(model)
    return round(min(most, max(least, float(solver.best_objective_bound))))
