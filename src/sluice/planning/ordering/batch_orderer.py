"""MROrder's ordering engine: the order of the jobs of one round.

Up to `exact_jobs_max` jobs, every order is simulated on an empty cluster (SIM). With more jobs a
rule orders them (ALG): Johnson's rule for the makespan, shortest first for the total completion
time. Source: ordering spec, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sluice.estimate.flow_shop import UNKNOWN_S, johnson_key, slot_work
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.lengths import ConstantLengths
from sluice.model.workload import Workload
from sluice.planning.ordering import rules
from sluice.planning.ordering.enumeration import enumerate_orders
from sluice.planning.ordering.kernel_loading import BlockingLoader
from sluice.planning.ordering.loads import loads_of
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.problem import OrderingProblem, problem_of
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import KernelUse, SearchContext

_UNKNOWN = ConstantLengths(UNKNOWN_S, UNKNOWN_S)
_PLAIN_ORDERS_MAX = (
    10_000  # after this many simulated orders the compiled kernels are worth loading
)


class BatchOrderer:
    """MROrder's ordering engine. objective: "makespan" or "tct".

    A call returns the positions of the jobs in release order.
    """

    def __init__(self, objective: str, exact_jobs_max: int) -> None:
        self._objective = objective
        self._exact_jobs_max = exact_jobs_max
        self._orders = 0  # simulated orders of all rounds

    def __call__(self, jobs: Sequence[Job], map_slots: int, reduce_slots: int) -> Sequence[int]:
        batch = Workload(cluster=None, jobs=tuple(map(_measured, jobs)), source="mrorder")
        try:
            posed = problem_of(batch, map_slots=map_slots, reduce_slots=reduce_slots)
        except InvalidInput:
            return self._by_work(jobs, map_slots, reduce_slots)  # a job has more than two phases
        if len(jobs) <= self._exact_jobs_max:
            return self._simulated(posed)
        return (rules.tct if self._objective == "tct" else rules.mk_jr)(loads_of(posed))

    def _simulated(self, posed: OrderingProblem) -> Sequence[int]:
        context = SearchContext(posed, SearchBudget(lambda: 0.0), loader=BlockingLoader())
        self._orders += math.factorial(context.jobs)
        if self._orders > _PLAIN_ORDERS_MAX:
            context.request_compiled(KernelUse.ENUMERATION)
        return enumerate_orders(context, Objective(self._objective)).best.order

    def _by_work(self, jobs: Sequence[Job], map_slots: int, reduce_slots: int) -> Sequence[int]:
        """Apply the rule to the amounts of work alone, for jobs with any phases."""
        works = [slot_work(job) for job in jobs]
        if self._objective == "tct":
            return sorted(range(len(jobs)), key=lambda i: works[i].span_s(map_slots, reduce_slots))
        return sorted(
            range(len(jobs)), key=lambda i: johnson_key(works[i], map_slots, reduce_slots)
        )


def _measured(job: Job) -> Job:
    """Return the job with a default length for unmeasured tasks.

    A job that waits for its release has done the work of its driver before the first task.
    """
    if all(phase.lengths is not None for phase in job.phases):
        return replace(job, driver_s=0.0) if job.driver_s else job
    phases = (replace(phase, lengths=phase.lengths or _UNKNOWN) for phase in job.phases)
    return replace(job, phases=tuple(phases), driver_s=0.0)
