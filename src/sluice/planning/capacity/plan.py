"""Capacity plan from classes and prices; the entry point of this package.

It computes the VMs per job, solves for divisible or whole jobs, and reports for every class its
jobs, VMs and break-even points. Source: capacity spec.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sluice.estimate.bounds import Bound
from sluice.model.classes import HOUR_S, CapacityPrices, JobClass
from sluice.model.errors import InvalidInput
from sluice.planning.capacity.cost_curve import CostCurve, cost_curve
from sluice.planning.capacity.integer import solve_integer
from sluice.planning.capacity.needs import ClassNeed, class_needs, least_deadlines_s
from sluice.planning.capacity.problem import CapacityProblem, CapacitySolution, RentalPrices
from sluice.planning.capacity.relaxation import certificate_gap_usd, solve_relaxation
from sluice.planning.capacity.two_classes import TableCell, two_class_solution

_TABLE_CLASSES = 2  # number of classes in the closed form
_SLOP = 1e-9  # relative tolerance when containers are rounded up


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Break-even points of a class.

    reserved_usd, on_demand_usd: cost of the VMs of one job; admit a job if its penalty is higher.
    reserved_deadline_s, on_demand_deadline_s: admit a job if its deadline is looser; None for a
    penalty of 0, or a class without a deadline.
    """

    reserved_usd: float
    on_demand_usd: float
    reserved_deadline_s: float | None
    on_demand_deadline_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPlan:
    """Plan of one class: admitted concurrent jobs, with containers and VMs for all of them.

    map_containers, reduce_containers, time_s: None if the class gives only its VMs per job.
    containers: of a class of phases, for tasks of any stage; None for any other class.
    time_s: also None if no job is admitted.  share: share of the VMs; 0 if no job is admitted.
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
    containers: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """An optimal plan with its proof.

    objective_usd: cost_usd minus the penalties of all requested jobs.
    gap_usd: for divisible jobs, the gap of the certificate (rounding only); for whole jobs, the
    extra cost over divisible jobs, which is an upper bound on the distance to the optimum.
    rounded_vms: VMs for containers that are rounded up; None for divisible jobs.
    is_proven: whether the plan is proven to be optimal among plans of its kind.
    curve: cost over reserved VMs, for divisible jobs.  cell: closed form, for two classes.
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
        """Rent plus penalties."""
        return self.rent_usd + self.penalties_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableDeadlines:
    """A true no: classes with an unreachable deadline, and the seconds it must exceed."""

    least_deadline_s: Mapping[str, float]
    warnings: tuple[str, ...] = field(default=())


def plan_capacity(
    classes: Sequence[JobClass],
    prices: CapacityPrices | None,
    *,
    bound: Bound = Bound.UP,
    is_whole: bool = False,
    source: str = "workload",
    known: Mapping[str, ClassNeed] = {},
) -> CapacityPlan | UnreachableDeadlines:
    """Return the cheapest plan.

    is_whole: plan whole jobs, VMs and containers.  source: name of the file in messages.
    known: by class, what one job needs; each class that names a profile has it.
    Raises InvalidInput that names class and field if the input is invalid.
    """
    if not classes:
        raise InvalidInput("classes is missing", where=source, hint="give at least one class")
    rent = RentalPrices.of(prices, source)
    if is_whole:
        _check_whole(classes, source)
    try:
        least_s = least_deadlines_s(classes, bound, known)
        if least_s:
            return UnreachableDeadlines(
                least_deadline_s=least_s, warnings=tuple(_warnings(classes))
            )
        needs = class_needs(classes, bound, known)
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
        " for one hour here, so its jobs cost more than this plan shows"
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
    """Make the plan of a solution, with divisible jobs and containers."""
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
            break_even=_break_even(one, need, rent),
            containers=None if need.shared_containers is None else need.shared_containers * jobs,
        ),
        need,
    )


def _timed(one: ClassPlan, need: ClassNeed) -> ClassPlan:
    """Add the time that the jobs take with these containers."""
    if need.law is not None and one.containers:
        law = need.law
        return replace(one, time_s=law.xi_map_s * one.jobs / one.containers + law.xi_fixed_s)
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
    """Make the plan in whole jobs, VMs and containers."""
    answer = solve_integer(problem, relaxed)
    rough = _plan(classes, needs, problem, answer, bound)
    parts = tuple(_rounded_up(part, need) for part, need in zip(rough.classes, needs, strict=True))
    # Containers are rounded up by class, so together they may need more VMs than the LP rents.
    rounded_vms = math.fsum(map(_held_vms, classes, parts))
    lacking = rounded_vms - answer.reserved_vms - answer.on_demand_vms
    warning = (
        f"containers rounded up need {rounded_vms:.2f} VMs, {lacking:.2f} more than are rented:"
        " configure the queues by share, or rent more VMs"
    )
    return replace(
        rough,
        is_whole=True,
        gap_usd=answer.objective_usd - relaxed.objective_usd,
        classes=parts,
        # The closed form is one of divisible jobs.
        cell=None,
        rounded_vms=rounded_vms,
        warnings=(*rough.warnings, *([warning] if lacking > _SLOP else [])),
    )


def _rounded_up(part: ClassPlan, need: ClassNeed) -> ClassPlan:
    if part.containers is not None:
        return _timed(replace(part, containers=_whole(part.containers)), need)
    if part.map_containers is None or part.reduce_containers is None:
        return part
    maps, reduces = map(_whole, (part.map_containers, part.reduce_containers))
    return _timed(replace(part, map_containers=maps, reduce_containers=reduces), need)


def _whole(containers: float) -> float:
    return float(math.ceil(containers - _SLOP * max(1.0, containers)))


def _held_vms(one: JobClass, part: ClassPlan) -> float:
    """VMs that the containers of the class fill."""
    if part.containers is not None and one.containers_per_vm is not None:
        return part.containers / one.containers_per_vm
    if part.map_containers is None or part.reduce_containers is None:
        return part.vms
    assert one.maps_per_vm is not None, "a class with containers says how many fit a VM"
    assert one.reduces_per_vm is not None, "and these as well"
    return part.map_containers / one.maps_per_vm + part.reduce_containers / one.reduces_per_vm


def _break_even(one: JobClass, need: ClassNeed, rent: RentalPrices) -> BreakEven:
    """Break-even points of the class at these prices. Source: capacity spec, section 8."""
    return BreakEven(
        reserved_usd=need.vms_per_job * rent.reserved_usd,
        on_demand_usd=need.vms_per_job * rent.on_demand_usd,
        reserved_deadline_s=_deadline_s(one, need, rent.reserved_usd),
        on_demand_deadline_s=_deadline_s(one, need, rent.on_demand_usd),
    )


def _deadline_s(one: JobClass, need: ClassNeed, vm_usd: float) -> float | None:
    """The deadline at which the VMs of one job cost as much as its penalty."""
    if need.law is None or need.slack_s is None or not one.penalty_usd:
        return None
    return need.law.xi_fixed_s + need.vms_per_job * need.slack_s * vm_usd / one.penalty_usd
