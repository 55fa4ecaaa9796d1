"""The workloads of the pareto paper, drawn again from their published distributions.

Normal(50, 200) and similar distributions have about 40 % negative draws, and the paper does not say
how they are truncated. Here a draw is a task, and values below 1 count as 1. The paper has no task
counts of Taobao; those of Yahoo are used. Source: pareto, section 7, E19.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from sluice.model.ids import JobId
from sluice.model.lengths import ConstantLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import Rent, VmOffer, VmShape
from sluice.model.prices import Prices
from sluice.planning.pareto.problem import ParetoProblem, PlannedJob, PlannedPhase

Draw = Callable[[random.Random], float]

VM = VmShape(map_slots=2, reduce_slots=2)
VM_HOUR_USD, IO_OP_USD = 1.0, 5e-8
HOUR_S, SECOND_S = 3600.0, 1.0


def yahoo(jobs: int, seed: int, *, billing_s: float = HOUR_S) -> ParetoProblem:
    """Map times Normal(50, 200), reduce times Normal(100, 300), seconds."""
    return _problem(
        jobs,
        seed,
        billing_s,
        maps=lambda draw: draw.gauss(50, 200),
        reduces=lambda draw: draw.gauss(100, 300),
    )


def taobao(jobs: int, seed: int, *, billing_s: float = HOUR_S) -> ParetoProblem:
    """Map times LogNormal(1.95, 1.67), reduce times LogNormal(3.52, 1.56), seconds."""
    return _problem(
        jobs,
        seed,
        billing_s,
        maps=lambda draw: draw.lognormvariate(1.95, 1.67),
        reduces=lambda draw: draw.lognormvariate(3.52, 1.56),
    )


WORKLOADS = {"Yahoo": yahoo, "Taobao": taobao}
DEADLINES_S = {"Yahoo": 4000.0, "Taobao": 3000.0}
BUDGET_USD_MAX = {10: 80.0, 25: 200.0}


def problem_of(
    jobs: tuple[PlannedJob, ...], *, billing_s: float = HOUR_S, vms_max: int | None = None
) -> ParetoProblem:
    """Jobs on the paper's VMs, at its prices."""
    return ParetoProblem(
        jobs=jobs,
        offers=(VmOffer(vm_type="vm", rent=Rent.ON_DEMAND, shape=VM, hour_usd=VM_HOUR_USD),),
        prices=Prices(vm_hour_usd=VM_HOUR_USD, billing_s=billing_s, io_op_usd=IO_OP_USD),
        limits=PlanLimits(vms_max=vms_max),
    )


def _problem(jobs: int, seed: int, billing_s: float, *, maps: Draw, reduces: Draw) -> ParetoProblem:
    draw = random.Random(seed)
    return problem_of(
        tuple(_job(draw, number, maps, reduces) for number in range(jobs)), billing_s=billing_s
    )


def _job(draw: random.Random, number: int, maps: Draw, reduces: Draw) -> PlannedJob:
    map_tasks = max(1, round(draw.gauss(154, 558)))
    reduce_tasks = max(1, round(draw.gauss(19, 145)))
    return PlannedJob(
        job_id=JobId(f"job-{number}"),
        maps=_phase(draw, map_tasks, maps),
        reduces=_phase(draw, reduce_tasks, reduces),
    )


def _phase(draw: random.Random, tasks: int, length: Draw) -> PlannedPhase:
    lengths_s = [max(1.0, length(draw)) for _ in range(tasks)]
    average_s, longest_s = sum(lengths_s) / tasks, max(lengths_s)
    lengths = ConstantLengths(min(average_s, longest_s), longest_s)
    return PlannedPhase(tasks=tasks, tasks_max=tasks, parts=(lengths,))
