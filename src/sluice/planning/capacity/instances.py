"""Random instances as in the paper's evaluation, for tests, benchmarks and reproductions.

The paper gives prices in cents, this module in dollars; only their ratio matters. Three kinds:

- TEXT: values from the paper's text. Then every class is worth admitting in full (erratum E12);
- TABLE: deadlines, penalties and minimum jobs from its table; a few classes are infeasible;
- TIGHT: penalties around the two prices, so that the decision is not trivial.

Source: capacity spec, section 7, errata E8 to E12.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from sluice.estimate.bounds import Bound, LengthSummary, SharedJob, TimeLaw
from sluice.estimate.vm_need import vms_per_job
from sluice.model.classes import ClassProfile, JobClass
from sluice.model.lengths import ConstantLengths
from sluice.planning.capacity.problem import CapacityProblem, Numbers, RentalPrices

AVERAGE = 0.8  # average over longest task length, in every phase (erratum E10)
PENALTY = 10.0  # penalty over the rent of one job (section 4.3)


class InstanceKind(Enum):
    """Source of deadlines, penalties and minimum jobs."""

    TEXT = "text"
    TABLE = "table"
    TIGHT = "tight"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnClasses:
    """Classes as columns of equal length. jobs: one job of each class, with columns as fields."""

    jobs: SharedJob
    deadline_s: Numbers
    maps_per_vm: Numbers
    reduces_per_vm: Numbers
    jobs_min: Numbers
    jobs_max: Numbers
    penalty_usd: Numbers

    def needs(self, bound: Bound = Bound.UP) -> Numbers:
        """VMs for a job of each class; infinite or NaN if no capacity meets its deadline."""
        law: Any = self.jobs.law(bound)
        slack_s = self.deadline_s - law.xi_fixed_s
        fit = self.maps_per_vm, self.reduces_per_vm
        with np.errstate(divide="ignore"):
            needs: Numbers = vms_per_job(law.xi_map_s, law.xi_reduce_s, slack_s, *fit)
        return np.where(slack_s > 0, needs, np.inf)

    def problem(self, rent: RentalPrices, bound: Bound = Bound.UP) -> CapacityProblem:
        """Make a problem of the classes whose deadline can be met."""
        needs = self.needs(bound)
        can = needs < np.inf
        return CapacityProblem(
            vms_per_job=needs[can],
            penalty_usd=self.penalty_usd[can],
            jobs_min=self.jobs_min[can],
            jobs_max=self.jobs_max[can],
            rent=rent,
        )

    def job_classes(self) -> tuple[JobClass, ...]:
        """Return the classes as model values, named class-1, class-2 and so on."""
        return tuple(self._job_class(number) for number in range(len(self.deadline_s)))

    def _job_class(self, number: int) -> JobClass:
        jobs: Any = self.jobs
        return JobClass(
            class_id=f"class-{number + 1}",
            penalty_usd=float(self.penalty_usd[number]),
            jobs_min=float(self.jobs_min[number]),
            jobs_max=float(self.jobs_max[number]),
            deadline_s=float(self.deadline_s[number]),
            maps_per_vm=int(self.maps_per_vm[number]),
            reduces_per_vm=int(self.reduces_per_vm[number]),
            profile=ClassProfile(
                map_tasks=int(jobs.map_tasks[number]),
                reduce_tasks=int(jobs.reduce_tasks[number]),
                maps=_constant(jobs.map, number),
                reduces=_constant(jobs.reduce, number),
                first_shuffle=_constant(jobs.first_shuffle, number),
                shuffle=_constant(jobs.shuffle, number),
            ),
        )

    def law(self, number: int, bound: Bound = Bound.UP) -> TimeLaw:
        """Return the time law of one class."""
        law: Any = self.jobs.law(bound)
        return TimeLaw(
            xi_map_s=float(law.xi_map_s[number]),
            xi_reduce_s=float(law.xi_reduce_s[number]),
            xi_fixed_s=float(law.xi_fixed_s[number]),
        )


def _constant(lengths: Any, number: int) -> ConstantLengths:  # noqa: ANN401  # columns, see above
    return ConstantLengths(float(lengths.avg_s[number]), float(lengths.max_s[number]))


def draw_rent(draw: np.random.Generator, reserved_vms: float) -> RentalPrices:
    """Draw prices from the paper's table until on-demand costs more (erratum E9)."""
    reserved, on_demand = 0.0, 0.0
    while on_demand <= reserved:
        reserved, on_demand = draw.uniform(5, 20), draw.uniform(5, 40)
    return RentalPrices(on_demand_usd=on_demand, reserved_usd=reserved, reserved_vms=reserved_vms)


def draw_classes(
    draw: np.random.Generator, count: int, rent: RentalPrices, sort: InstanceKind
) -> DrawnClasses:
    """Draw `count` classes. Penalties depend on the prices, except for TABLE.

    VM needs use the pessimistic bound.
    """
    base = _base(draw, count)
    if sort is InstanceKind.TABLE:
        return replace(
            base,
            deadline_s=draw.uniform(600, 1200, count),
            jobs_min=draw.integers(10, base.jobs_max.astype(int), endpoint=True).astype(float),
            penalty_usd=draw.uniform(250, 2500, count),
        )
    if sort is InstanceKind.TEXT:
        alone_usd = rent.reserved_usd if rent.reserved_vms else rent.on_demand_usd
        return replace(
            base,
            jobs_min=np.round(0.9 * base.jobs_max),
            penalty_usd=PENALTY * base.needs() * alone_usd,
        )
    worth_usd = draw.uniform(0.5 * rent.reserved_usd, 1.5 * rent.on_demand_usd, count)
    return replace(
        base,
        jobs_min=draw.integers(0, base.jobs_max.astype(int), endpoint=True).astype(float),
        penalty_usd=base.needs() * worth_usd,
    )


def _base(draw: np.random.Generator, count: int) -> DrawnClasses:
    """Draw the values that all kinds share; deadlines are those of the paper's text."""

    def whole(low: int, high: int) -> Any:  # noqa: ANN401  # columns, see above
        return draw.integers(low, high, count, endpoint=True).astype(float)

    def lengths(low: float, high: float) -> Any:  # noqa: ANN401  # as above
        longest: Any = draw.uniform(low, high, count)
        return LengthSummary(avg_s=AVERAGE * longest, max_s=longest)

    jobs = SharedJob(
        map_tasks=whole(70, 700),
        reduce_tasks=whole(32, 64),
        map=lengths(16, 120),
        shuffle=lengths(30, 150),
        reduce=lengths(15, 75),
        first_shuffle=lengths(10, 30),
    )
    return DrawnClasses(
        jobs=jobs,
        maps_per_vm=whole(1, 4),
        reduces_per_vm=whole(1, 4),
        jobs_max=whole(10, 30),
        deadline_s=draw.uniform(1500, 2700, count),
        jobs_min=np.zeros(count),
        penalty_usd=np.zeros(count),
    )
