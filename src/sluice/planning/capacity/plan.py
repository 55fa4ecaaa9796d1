"""From classes and prices to a plan: the one way through this room.

Works out what jobs take, solves for whole or divisible jobs, and says of every class what it gets,
what it is worth, and which deadline would be worth its machines. Source: capacity spec.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sluice.estimate.bounds import Bound
from sluice.model.classes import HOUR_S, CapacityPrices, JobClass
from sluice.model.errors import InvalidInput
from sluice.planning.capacity.break_even import BreakEven, break_even
from sluice.planning.capacity.cost_curve import CostCurve, cost_curve
from sluice.planning.capacity.integer import solve_integer
from sluice.planning.capacity.needs import ClassNeed, class_needs, least_deadlines_s
from sluice.planning.capacity.problem import CapacityProblem, CapacitySolution, RentalPrices
from sluice.planning.capacity.relaxation import certificate_gap_usd, solve_relaxation
from sluice.planning.capacity.two_classes import TableCell, two_class_solution

_TABLE_CLASSES = 2  # what the closed form is for
_SLOP = 1e-9  # of a number of containers; what differs by less is whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPlan:
    """What one class gets. Jobs at once; containers and VMs for all of them together.

    map_containers, reduce_containers, time_s: None where the class says only its VMs; time_s also
    where none of its jobs is taken.  share: of the queue; 0 where nothing is taken.
    """

    class_id: str
    jobs: float
    rejected: float
    vms_per_job: float
    vms: float
    share: float
    map_containers: float | None
    reduce_containers: float | None
    time_s: float | None
    break_even: BreakEven


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """An optimum, with its proof. objective_usd is cost_usd less the penalties of all jobs.

    gap_usd: of divisible jobs, what the certificate leaves open (rounding); of whole ones, what
    they cost more than divisible ones, an upper limit on the distance to the best.
    rounded_vms: VMs that containers rounded up take; None for divisible jobs.
    is_proven: nothing cheaper exists, of its kind.
    curve: the cost over reserved VMs, jobs divisible.  cell: of the closed form, for two classes.
    """

    bound: Bound
    is_whole: bool
    rent: RentalPrices
    reserved_vms: float
    on_demand_vms: float
    objective_usd: float
    rent_usd: float
    penalties_usd: float
    next_vm_usd: float
    gap_usd: float
    classes: tuple[ClassPlan, ...]
    curve: CostCurve
    cell: TableCell | None
    rounded_vms: float | None
    is_proven: bool
    warnings: tuple[str, ...]

    @property
    def cost_usd(self) -> float:
        """Rent and penalties together."""
        return self.rent_usd + self.penalties_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableDeadlines:
    """A true no: classes whose deadline no capacity meets, with what it must exceed, seconds."""

    least_deadline_s: Mapping[str, float]
    warnings: tuple[str, ...] = field(default=())


def plan_capacity(
    classes: Sequence[JobClass],
    prices: CapacityPrices | None,
    *,
    bound: Bound = Bound.UP,
    is_whole: bool = False,
    source: str = "workload",
) -> CapacityPlan | UnreachableDeadlines:
    """The cheapest jobs and machines.

    is_whole: in whole jobs, machines and containers.  source: what messages call the file.
    Raises InvalidInput naming class and field where the question cannot be asked.
    """
    if not classes:
        raise InvalidInput("classes is missing", where=source, hint="give at least one class")
    rent = RentalPrices.of(prices, source)
    if is_whole:
        _check_whole(classes, source)
    try:
        least_s = least_deadlines_s(classes, bound)
        if least_s:
            return UnreachableDeadlines(
                least_deadline_s=least_s, warnings=tuple(_warnings(classes))
            )
        needs = class_needs(classes, bound)
    except InvalidInput as error:
        raise error.within(source) from None
    problem = CapacityProblem.of(classes, np.array([need.vms_per_job for need in needs]), rent)
    relaxed = solve_relaxation(problem)
    if not is_whole:
        return _plan(classes, needs, problem, relaxed, bound)
    return _whole_plan(classes, needs, problem, relaxed, bound)


def _check_whole(classes: Sequence[JobClass], source: str) -> None:
    for one in classes:
        for name in ("jobs_min", "jobs_max"):
            jobs: float = getattr(one, name)
            if jobs != math.floor(jobs):
                raise InvalidInput(
                    f"{name} is {jobs:g}",
                    where=f"{source}, class {one.class_id!r}",
                    hint="give a whole number, or leave out --integer",
                )


def _warnings(classes: Sequence[JobClass]) -> list[str]:
    return [
        f"class {one.class_id!r}: deadline_s is {one.deadline_s:g}, above {HOUR_S:g}; VMs are paid"
        " for one hour, so that its jobs cost more than is told here"
        for one in classes
        if one.deadline_s is not None and one.deadline_s > HOUR_S
    ]


def _plan(
    classes: Sequence[JobClass],
    needs: Sequence[ClassNeed],
    problem: CapacityProblem,
    answer: CapacitySolution,
    bound: Bound,
) -> CapacityPlan:
    """The plan of an answer, its jobs and containers divisible."""
    rent, total_vms = problem.rent, problem.needed_vms(answer.jobs)
    return CapacityPlan(
        bound=bound,
        is_whole=False,
        rent=rent,
        reserved_vms=float(answer.reserved_vms),
        on_demand_vms=float(answer.on_demand_vms),
        objective_usd=answer.objective_usd,
        rent_usd=rent.reserved_usd * answer.reserved_vms
        + rent.on_demand_usd * answer.on_demand_vms,
        penalties_usd=problem.refusals_usd(answer.jobs),
        next_vm_usd=float(answer.next_vm_usd),
        gap_usd=certificate_gap_usd(problem, answer),
        classes=tuple(
            _class_plan(one, need, float(jobs), total_vms, rent)
            for one, need, jobs in zip(classes, needs, answer.jobs, strict=True)
        ),
        curve=cost_curve(problem),
        cell=two_class_solution(problem) if len(classes) == _TABLE_CLASSES else None,
        rounded_vms=None,
        is_proven=answer.is_proven,
        warnings=tuple(_warnings(classes)),
    )


def _class_plan(
    one: JobClass, need: ClassNeed, jobs: float, total_vms: float, rent: RentalPrices
) -> ClassPlan:
    vms, containers = need.vms_per_job * jobs, need.containers
    return _timed(
        ClassPlan(
            class_id=one.class_id,
            jobs=jobs,
            rejected=one.jobs_max - jobs,
            vms_per_job=need.vms_per_job,
            vms=vms,
            share=vms / total_vms if total_vms else 0.0,
            map_containers=None if containers is None else containers.maps * jobs,
            reduce_containers=None if containers is None else containers.reduces * jobs,
            time_s=None,
            break_even=break_even(one, need, rent),
        ),
        need,
    )


def _timed(one: ClassPlan, need: ClassNeed) -> ClassPlan:
    """The class with the time that its containers give its jobs."""
    if need.law is None or not one.map_containers or not one.reduce_containers:
        return one
    return replace(one, time_s=need.law.time_s(one.jobs, one.map_containers, one.reduce_containers))


def _whole_plan(
    classes: Sequence[JobClass],
    needs: Sequence[ClassNeed],
    problem: CapacityProblem,
    relaxed: CapacitySolution,
    bound: Bound,
) -> CapacityPlan:
    """The plan in whole jobs, machines and containers."""
    answer = solve_integer(problem, relaxed)
    rough = _plan(classes, needs, problem, answer, bound)
    parts = tuple(_rounded_up(part, need) for part, need in zip(rough.classes, needs, strict=True))
    rounded_vms = math.fsum(map(_held_vms, classes, parts))
    lacking = rounded_vms - answer.reserved_vms - answer.on_demand_vms
    warning = (
        f"containers rounded up take {rounded_vms:.2f} VMs, {lacking:.2f} more than are rented:"
        " let the queues have their shares, or rent more"
    )
    return replace(
        rough,
        is_whole=True,
        gap_usd=answer.objective_usd - relaxed.objective_usd,
        classes=parts,
        cell=None,
        rounded_vms=rounded_vms,
        warnings=(*rough.warnings, *([warning] if lacking > _SLOP else [])),
    )


def _rounded_up(part: ClassPlan, need: ClassNeed) -> ClassPlan:
    if part.map_containers is None or part.reduce_containers is None:
        return part
    maps, reduces = (
        float(math.ceil(containers - _SLOP * max(1.0, containers)))
        for containers in (part.map_containers, part.reduce_containers)
    )
    return _timed(replace(part, map_containers=maps, reduce_containers=reduces), need)


def _held_vms(one: JobClass, part: ClassPlan) -> float:
    """VMs that the class's containers fill."""
    if part.map_containers is None or part.reduce_containers is None:
        return part.vms
    assert one.maps_per_vm is not None, "a class with containers says how many fit a VM"
    assert one.reduces_per_vm is not None, "and these as well"
    return part.map_containers / one.maps_per_vm + part.reduce_containers / one.reduces_per_vm
