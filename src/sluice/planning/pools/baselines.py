"""Policies to compare with: a fresh cluster for each job, and a dedicated cluster by customer.

Both give each job its own optimal configuration and no queue, so that a job misses its deadline
only where no configuration can meet it. A job that runs after others arrives when the last of them
has ended. Source: Cura, spec section 5.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from sluice.planning.pools.packing import servers_needed
from sluice.planning.pools.problem import ActualTime, Option, PoolJob, PoolProblem
from sluice.planning.pools.schedule import PoolOutcome, PoolSchedule, peak_servers, why_never


def per_job(problem: PoolProblem, *, actual_s: ActualTime | None = None) -> PoolSchedule:
    """A fresh cluster for each job, booted at its arrival and deleted afterwards.

    Booting counts as use: it is part of a job's cost, and of the servers that are needed.
    actual_s: seconds that a job really runs; None for as long as predicted.
    """
    boot_s = problem.pools.boot_s
    outcomes = alone(problem, boot_s=boot_s, actual_s=actual_s)
    return PoolSchedule(
        policy="per-job",
        problem=problem,
        outcomes=outcomes,
        servers=peak_servers(outcomes, problem, before_s=boot_s),
    )


def per_job_on(problem: PoolProblem, servers: int) -> PoolSchedule:
    """Do what `per_job` does on a number of servers; a job whose cluster does not fit is lost."""
    boot_s, kept, lost = problem.pools.boot_s, per_job(problem), "no server was free at its arrival"
    held: list[tuple[float, int, int]] = []  # (end, pool, VMs)
    outcomes = {one.job.order: one for one in kept.outcomes}
    for one in sorted(kept.outcomes, key=lambda it: (it.job.arrives_at_s, it.job.order)):
        if one.option is None or one.started_at_s is None or one.finished_at_s is None:
            continue
        never = [outcomes[order] for order in one.job.after if order in outcomes]
        never = [before for before in never if before.option is None]
        if never:
            outcomes[one.job.order] = PoolOutcome(job=one.job, why=why_never(never[0].job.job_id))
            continue
        held = [each for each in held if each[0] > one.started_at_s - boot_s]
        counts = [0] * len(problem.types)
        counts[one.option.pool] += one.option.vms
        for _, pool, vms in held:
            counts[pool] += vms
        if servers_needed(counts, problem.units, problem.server_units) > servers:
            outcomes[one.job.order] = PoolOutcome(job=one.job, why=lost)
        else:
            held.append((one.finished_at_s, one.option.pool, one.option.vms))
    listed = tuple(outcomes[job.order] for job in problem.jobs)
    return replace(kept, outcomes=listed, servers=servers)


def dedicated(problem: PoolProblem, *, actual_s: ActualTime | None = None) -> PoolSchedule:
    """A cluster of servers for each customer, sized for the customer's own peak."""
    outcomes = alone(problem, actual_s=actual_s)
    by_customer: dict[str, list[PoolOutcome]] = defaultdict(list)
    for one in outcomes:
        by_customer[one.job.customer].append(one)
    return PoolSchedule(
        policy="dedicated",
        problem=problem,
        outcomes=outcomes,
        servers=sum(peak_servers(own, problem) for own in by_customer.values()),
    )


def alone(
    problem: PoolProblem,
    *,
    boot_s: float = 0.0,
    actual_s: ActualTime | None = None,
    sizes: Sequence[int] | None = None,
) -> tuple[PoolOutcome, ...]:
    """Each job at its arrival in its own optimal configuration, with no other job in its way.

    sizes: VMs of the pools that it must fit into; None for pools of any size.
    """
    found: dict[int, PoolOutcome] = {}
    for job in problem.in_order:
        ends = {order: found[order].finished_at_s for order in job.after if order in found}
        never = [found[order].job for order, end_s in ends.items() if end_s is None]
        arrives_at_s = max((end_s for end_s in ends.values() if end_s is not None), default=None)
        came = job if arrives_at_s is None else job.arriving(arrives_at_s)
        if never:
            why = why_never(never[0].job_id)
            found[job.order] = PoolOutcome(job=came, is_refused=True, why=why)
        else:
            option = came.best_alone(boot_s, sizes)
            found[job.order] = _alone(came, option, problem, boot_s, actual_s)
    return tuple(found[job.order] for job in problem.jobs)


def _alone(
    job: PoolJob,
    option: Option | None,
    problem: PoolProblem,
    boot_s: float,
    actual_s: ActualTime | None,
) -> PoolOutcome:
    if option is None:
        least_s = job.arrives_at_s + boot_s + job.shortest_s
        return PoolOutcome(
            job=job,
            is_refused=True,
            why="no configuration can meet the deadline",
            least_deadline_at_s=least_s,
        )
    started_at_s = job.arrives_at_s + boot_s
    exact_s, length_s = problem.actual_length_s(job, option, actual_s)
    part = option.vms * problem.units[option.pool] / problem.server_units
    return PoolOutcome(
        job=job,
        option=option,
        started_at_s=started_at_s,
        finished_at_s=started_at_s + length_s,
        cost_server_s=(exact_s + boot_s) * part,
    )
