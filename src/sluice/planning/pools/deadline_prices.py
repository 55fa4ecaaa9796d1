"""The price of each deadline of a job, and the jobs that should keep an earlier one.

The online scheduler does not know the future. A later deadline lets it give a job cheaper VMs,
which may be in the way of jobs that come later: the cost of all jobs can rise although the job
itself gets cheaper. But a job that may end late may also end early. So a provider can plan a job
for an earlier deadline than it has, and the least cost of all deadlines up to its own never rises
with a later one. Source: Cura, sections 2.2 and 2.4, which leave the price to the provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from sluice.planning.pools.choice import VmChoice
from sluice.planning.pools.online import vm_aware, vm_choices
from sluice.planning.pools.prices import falling_prices
from sluice.planning.pools.problem import PoolJob, PoolProblem
from sluice.planning.pools.schedule import PoolOutcome, PoolSchedule

_LESS = 1e-9  # relative; a saving below this is rounding
_JOB_REPLAYS = 20_000  # jobs times replays of a search that is not asked for, a second or two
_REPLAYS_MIN = 5  # fewer are not worth the time in which the choices of all jobs are found


class DeadlinePrice(NamedTuple):
    """A deadline of a job, and what it costs.

    outcome: of the job, planned for `planned_at_s`, which is this deadline or an earlier one.
    total_server_s: of all jobs then.  own_total_server_s: if it is planned for this deadline.
    price_server_s: how much dearer all jobs get by this one, at least 0.
    """

    deadline_at_s: float
    planned_at_s: float
    outcome: PoolOutcome
    total_server_s: float
    own_total_server_s: float
    price_server_s: float


class EarlierDeadline(NamedTuple):
    """A job that is better planned for an earlier deadline: fewer deadlines are then missed, or as
    many, and all jobs cost less.

    missed, total_server_s: then.
    """

    job_id: str
    deadline_at_s: float
    planned_at_s: float
    total_server_s: float
    missed: tuple[str, ...]


def prices_of(problem: PoolProblem, job: PoolJob) -> list[DeadlinePrice]:
    """The prices of a job, the earliest deadline first. They never rise.

    A deadline is left out if the job would miss it, or more of the others would miss theirs than
    without the job.
    """
    others = tuple(one for one in problem.jobs if one.order != job.order)
    without = vm_aware(replace(problem, jobs=others))
    missed_max = len(without.missed)
    found: list[DeadlinePrice] = []
    best: tuple[float, float, PoolOutcome] | None = None
    for at_s in _deadlines(problem, job):
        made = _with_deadline(problem, job, at_s)
        outcome, total = made.by_id[job.job_id], made.total_cost_server_s
        if not outcome.met or len(made.missed) > missed_max:
            continue
        if best is None or total < best[0] * (1 - _LESS):
            best = total, at_s, outcome
        price = max(0.0, best[0] - without.total_cost_server_s)
        found.append(DeadlinePrice(at_s, best[1], best[2], best[0], total, price))
    return found


def earlier_deadlines(
    schedule: PoolSchedule,
    *,
    is_thorough: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> list[EarlierDeadline]:
    """Jobs that should keep an earlier deadline, the best first; one deadline each.

    schedule: by the VM-aware scheduler.  is_thorough: try all jobs; else those with the most time
    left after their end, as far as a second or two goes.  on_progress: called with a short text.
    """
    problem = schedule.problem
    left = None if is_thorough else _JOB_REPLAYS // max(1, len(problem.jobs))
    if left is not None and left < _REPLAYS_MIN:
        return []
    jobs = [job for job in problem.jobs if schedule.by_id[job.job_id].met]
    jobs.sort(key=lambda job: (_end_s(schedule, job) - job.deadline_at_s, job.order))
    choices = vm_choices(problem)
    found: list[EarlierDeadline | None] = []
    for job in jobs:
        on_progress(f"earlier deadlines of job {job.job_id}")
        best, best_of_all = None, schedule
        for at_s in _earlier(choices.get(job.order), job):
            if left is not None:
                if not left:
                    return _by_saving([*found, best])
                left -= 1
            made = _with_deadline(problem, job, at_s)
            if made.by_id[job.job_id].met and _is_better(made, best_of_all):
                total, best_of_all = made.total_cost_server_s, made
                best = EarlierDeadline(job.job_id, job.deadline_at_s, at_s, total, made.missed)
        found.append(best)
    return _by_saving(found)


def _is_better(made: PoolSchedule, than: PoolSchedule) -> bool:
    """Whether fewer deadlines are missed, or as many and all jobs cost less.

    A job that misses its deadline may cost nothing, so costs alone would hide it.
    """
    missed, limit = len(made.missed), len(than.missed)
    if missed != limit:
        return missed < limit
    return made.total_cost_server_s < than.total_cost_server_s * (1 - _LESS)


def _by_saving(found: list[EarlierDeadline | None]) -> list[EarlierDeadline]:
    return sorted(
        (one for one in found if one is not None),
        key=lambda one: (len(one.missed), one.total_server_s, one.job_id),
    )


def _end_s(schedule: PoolSchedule, job: PoolJob) -> float:
    ended_s = schedule.by_id[job.job_id].finished_at_s
    assert ended_s is not None, "it is asked of jobs that met their deadline"
    return ended_s


def _with_deadline(problem: PoolProblem, job: PoolJob, at_s: float) -> PoolSchedule:
    changed = replace(job, deadline_at_s=at_s)
    jobs = tuple(changed if one.order == job.order else one for one in problem.jobs)
    return vm_aware(replace(problem, jobs=jobs))


def _ends(choice: VmChoice | None) -> Iterator[tuple[float, float]]:
    """(end, cost) of each cluster with the VMs that were free when the job was placed."""
    for one in () if choice is None else choice.alternatives:
        if one.end_s is not None:
            yield one.end_s, one.option.cost_server_s


def _earlier(choice: VmChoice | None, job: PoolJob) -> list[float]:
    """Deadlines before its own from which on another cluster is possible, the latest first."""
    ends = [price.deadline_s for price in falling_prices(_ends(choice))]
    return [at_s for at_s in reversed(ends) if at_s < job.deadline_at_s]


def _deadlines(problem: PoolProblem, job: PoolJob) -> list[float]:
    """Deadlines at which its price may change: on idle pools, and on the VMs that are free."""
    idle = (
        (job.arrives_at_s + option.length_s, option.cost_server_s)
        for option in job.options
        if option.vms <= problem.sizes[option.pool]
    )
    choice = vm_choices(problem).get(job.order)
    steps = [*falling_prices(idle), *falling_prices(_ends(choice))]
    own = {job.deadline_at_s} - {float("inf")}
    return sorted({one.deadline_s for one in steps} | own)
