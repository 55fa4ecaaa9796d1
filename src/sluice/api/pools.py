"""Which VMs each job gets from the pools, and when, so that all deadlines are met.

Every question here is about one `PoolProblem`: the jobs of a workload with their options, a VM type
and a number of VMs each, of which stored runs or the file say how long they take. `_problem` makes
it from the workload that the pipeline has prepared; each function hands it to another planner:
online, one that looks for the least servers, or an exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.planning import PoolsOptions, Tick
from sluice.api.sources import read_workload
from sluice.bootstrap.planners.cp_sat_process import cp_sat_apart
from sluice.bootstrap.preparation.facts import GRIDS, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Facts, Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.estimate.workflow_deadlines import shared_deadlines
from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.vm_pools import UNKNOWN_S, VmPools
from sluice.model.workload import Workload
from sluice.planning.pools import baselines, cp_sat, online, slots
from sluice.planning.pools import least_servers as search
from sluice.planning.pools.deadline_prices import EarlierDeadline, earlier_deadlines, prices_of
from sluice.planning.pools.offline_optimum import branch_and_bound, places_of, with_latest_deadlines
from sluice.planning.pools.problem import PoolJob, PoolProblem, problem_of
from sluice.planning.pools.schedule import PoolSchedule
from sluice.reporting.pools.choice import VmChoiceResult
from sluice.reporting.pools.deadlines import DeadlinePricesResult
from sluice.reporting.pools.grid import PoolsGrid
from sluice.reporting.pools.optimum import OptimumResult
from sluice.reporting.pools.result import LeastServersResult, PoolsResult

PAIRS_JOBS_MAX = 1000  # a million pair costs
OPTIMUM_JOBS_MAX = 200  # far beyond what either method proves
TOTALS_JOBS_MAX = 2000  # a replay for each deadline, a tenth of a second or more for 1,000 jobs
SERVICES = ("delayed", "immediate")
TASKS = "vm-pools"  # the task policy with the same schedulers
VM_AWARE = "vm-aware"

_OTHERS: Mapping[str, Callable[[PoolProblem], PoolSchedule]] = {
    "instant-opt": online.instant_opt,
    "per-job": baselines.per_job,
    "dedicated": baselines.dedicated,
}
POLICIES = (VM_AWARE, *_OTHERS)
_WITHOUT_POOLS = ("per-job", "dedicated")


@dataclass(frozen=True)
class PoolsCall(Tick, PoolsOptions):
    """Arguments of `pools`."""

    source: Source


@called_with(PoolsCall)
def pools(given: PoolsCall) -> PoolsResult:
    """The schedule of a workload's jobs on its VM pools.

    policy: vm-aware, instant-opt, per-job or dedicated.  reconfigure: also change the pool sizes.
    service: delayed (a job may wait), or immediate (it starts at its arrival or not at all).
    tick_s: runs last a whole number of ticks; 0 for exact times.
    Raises InvalidInput naming job, type and field.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     '''{version: 1, server_units: 12, vm_types: [{id: VM-1, units: 2, vms: 40}],
    ...     jobs: [{id: a, deadline_s: 270, predictions: {VM-1: {"10": 250, "20": 131.58}}}]}'''
    ... )
    >>> round(pools(workload).total_cost_server_s, 2)
    416.67
    """
    _check(given.policy, reconfigure=given.reconfigure, service=given.service)
    facts = _ready(read_workload(given.source))
    is_booted = given.policy == "per-job"
    problem = _problem_of(facts[WORKLOAD], given.tick_s, is_booted=is_booted)
    if given.reconfigure and problem.pools.power is not None:
        raise InvalidInput(
            "servers cannot be shut down while pools change their sizes",
            where="--reconfigure",
            hint="leave it out, or take power out of the file",
        )
    if given.service == "immediate" and given.policy not in _WITHOUT_POOLS:
        problem = online.starting_at_once(problem)
    earlier: Sequence[EarlierDeadline] = ()
    if given.policy == VM_AWARE:
        schedule = online.vm_aware(problem, reconfigures=given.reconfigure)
        if not given.reconfigure:
            earlier = earlier_deadlines(schedule)
    else:
        schedule = _OTHERS[given.policy](problem)
    forecasts = {str(job_id): cells for job_id, cells in facts[GRIDS].items()}
    return PoolsResult(schedule, forecasts, earlier)


@checked_arguments
def deadline_prices(source: Source, job_id: str, *, tick_s: float = 1.0) -> DeadlinePricesResult:
    """The price of a job of a workload by its deadline: it never rises with a later one.

    The price is how much dearer all jobs get by this one. Where a later deadline would make all
    jobs dearer, the job is planned for an earlier one. Raises InvalidInput as `pools` does, and for
    an unknown job.

    >>> import sluice
    >>> [
    ...     round(one.price_server_s)
    ...     for one in deadline_prices(
    ...         sluice.parse_workload(
    ...             '''{version: 1, server_units: 12, vm_types: [{id: VM-1, units: 2, vms: 40}],
    ...     jobs: [{id: a, deadline_s: 270, predictions: {VM-1: {"10": 250, "20": 131.58}}}]}'''
    ...         ),
    ...         "a",
    ...     ).prices
    ... ]
    [439, 417, 417]
    """
    problem = _problem(source, tick_s)
    job = _job(problem, job_id)
    return DeadlinePricesResult(job, prices_of(problem, job), problem.types)


@checked_arguments
def pools_quote(source: Source, pools: Source, *, tick_s: float = 1.0) -> DeadlinePricesResult:
    """The price of one more job on VM pools by its deadline, next to the jobs that they have.

    source: a workload with this job alone.  pools: the workload with the pools and their jobs.
    Raises InvalidInput as `pools` does.
    """
    asked, given = read_workload(source), read_workload(pools)
    if len(asked.jobs) != 1:
        raise InvalidInput(
            f"it has {len(asked.jobs)} jobs", where=asked.source, hint="give one job"
        )
    (one,) = asked.jobs
    if any(job.job_id == one.job_id for job in given.jobs):
        raise InvalidInput(
            f"the pools have a job {one.job_id!r}",
            where=asked.source,
            hint="give the job another id, or ask `sluice pools --prices`",
        )
    together = _ready(replace(given, jobs=(*given.jobs, one)))[WORKLOAD]
    problem = _problem_of(together, tick_s)
    job = problem.jobs[-1]
    return DeadlinePricesResult(job, prices_of(problem, job), problem.types)


@checked_arguments
def least_servers(
    source: Source, *, tick_s: float = 1.0, on_progress: Callable[[str], None] = lambda _: None
) -> LeastServersResult:
    """The least number of servers on which the VM-aware scheduler meets all deadlines.

    The pools keep their shares. For each smaller number either no schedule can do the work in time,
    or it is replayed to its first miss, which proves the answer.  on_progress: called with a short
    text before each number is tried. Raises InvalidInput as `pools` does.
    """
    problem = _problem(source, tick_s)
    return LeastServersResult(search.least_servers(problem, on_progress=on_progress), problem)


@checked_arguments
def vm_choice(source: Source, job_id: str, *, tick_s: float = 1.0) -> VmChoiceResult:
    """Why the VM-aware scheduler gives a job its VMs, and what each other cluster would have cost.

    Raises InvalidInput as `pools` does, and for an unknown job.
    """
    problem = _problem(source, tick_s)
    job = _job(problem, job_id)
    choice, outcome = online.vm_choice(problem, job)
    totals = {}
    if len(problem.jobs) <= TOTALS_JOBS_MAX:
        totals = {one.deadline_at_s: one.own_total_server_s for one in prices_of(problem, job)}
    return VmChoiceResult(choice, outcome, problem.types, problem.server_units, totals=totals)


@checked_arguments
def offline_optimum(source: Source, *, tick_s: float = 1.0) -> OptimumResult:
    """The least cost with all arrivals known beforehand, next to that of the VM-aware scheduler.

    By CP-SAT where OR-Tools is installed (the extra `optimum`) and times are ticks, else by a
    branch and bound, which proves the optimum of small problems. Raises InvalidInput as `pools`
    does.
    """
    workload = _ready(read_workload(source))[WORKLOAD]
    problem = _problem_of(workload, tick_s)
    if len(problem.jobs) > OPTIMUM_JOBS_MAX:
        raise InvalidInput(
            f"{len(problem.jobs)} jobs are too many to find an optimum for",
            where="--optimum",
            hint=f"give at most {OPTIMUM_JOBS_MAX} jobs",
        )
    for job in problem.jobs:
        if job.deadline_at_s == math.inf:
            raise InvalidInput(
                "deadline_at_s is missing, and the optimum needs it",
                where=f"job {job.job_id!r}",
                hint="give deadline_at_s or deadline_s",
            )
    online_schedule = online.vm_aware(problem)
    own_at_s = [job.deadline_at_s for job in workload.jobs]
    known = with_latest_deadlines(problem, [math.inf if one is None else one for one in own_at_s])
    method = cp_sat_apart if tick_s and cp_sat.is_available() else branch_and_bound
    return OptimumResult(method(known, places_of(online_schedule)), online_schedule)


@checked_arguments
def pool_grid(source: Source, *, tick_s: float = 1.0) -> PoolsGrid:
    """Run time, margin and cost of each job on every cluster that the pools can give it.

    A job without predictions gets them from the stored runs of its profile, or from its own task
    lengths. Raises InvalidInput as `pools` does.
    """
    return PoolsGrid(_problem(source, tick_s))


def is_about_pools(workload: Workload) -> bool:
    """Whether a workload has VM pools, and no cluster to simulate."""
    return workload.cluster is None and bool(workload.vm_pools and workload.vm_pools.vm_types)


@checked_arguments
def pair_costs(source: Source, *, tick_s: float = 1.0) -> dict[str, dict[str, float]]:
    """Least total cost of each two jobs on idle pools, by the job reserved first, then the other.

    Raises InvalidInput as `pools` does, and for more than 1,000 jobs.
    """
    problem = _problem(source, tick_s)
    if len(problem.jobs) > PAIRS_JOBS_MAX:
        raise InvalidInput(
            f"{len(problem.jobs)} jobs have too many pairs to print",
            where="--pair-costs",
            hint=f"give at most {PAIRS_JOBS_MAX} jobs",
        )
    # A job that runs after others arrives when they would have ended on idle pools.
    alone = baselines.alone(problem, sizes=problem.sizes)
    jobs = [one.job if one.option else replace(one.job, options=()) for one in alone]
    return slots.pair_costs(problem.sizes, jobs, 0.0)


def _job(problem: PoolProblem, job_id: str) -> PoolJob:
    jobs = {job.job_id: job for job in problem.jobs}
    if job_id not in jobs:
        near = suggestion(job_id, jobs)
        hint = near if near.startswith("did you mean") else "give the id of a job of the file"
        raise InvalidInput(f"unknown job {job_id!r}", where="JOB", hint=hint)
    return jobs[job_id]


def _ready(workload: Workload) -> Facts:
    return prepared(Goal.POOLS, {WORKLOAD: workload})


def _problem(source: Source, tick_s: float) -> PoolProblem:
    return _problem_of(_ready(read_workload(source))[WORKLOAD], tick_s)


def _problem_of(workload: Workload, tick_s: float, *, is_booted: bool = False) -> PoolProblem:
    """is_booted: each job waits for a cluster of its own."""
    settings = workload.vm_pools or VmPools()
    setup_s = settings.boot_s if is_booted else settings.power.up_s if settings.power else 0.0
    jobs = shared_deadlines(workload.jobs, lambda jobs: _least_s(jobs, setup_s))
    problem = problem_of(jobs, settings, tick_s=tick_s, source=workload.source)
    return online.waiting_for_servers(problem)


def _least_s(jobs: Sequence[Job], setup_s: float) -> list[float]:
    """The fastest prediction of each job after its setup; 1 for all where one is not known."""
    fastest = [min((one.time_s for one in job.predictions), default=0.0) for job in jobs]
    is_known = all(0 < each < UNKNOWN_S for each in fastest)
    return [each + setup_s for each in fastest] if is_known else [1.0] * len(jobs)


def _check(policy: str, *, reconfigure: bool, service: str) -> None:
    for where, given, known in (
        ("--policy", policy, POLICIES), ("--service", service, SERVICES),
    ):  # fmt: skip
        if given not in known:
            near = suggestion(given, known)
            hint = near if near.startswith("did you mean") else f"give {', '.join(known)}"
            raise InvalidInput(f"unknown value {given!r}", where=where, hint=hint)
    if reconfigure and policy != VM_AWARE:
        raise InvalidInput(
            f"it has no effect with --policy {policy}", where="--reconfigure", hint="leave it out"
        )
    if service != "delayed" and policy in _WITHOUT_POOLS:
        raise InvalidInput(
            f"it has no effect with --policy {policy}", where="--service", hint="leave it out"
        )
