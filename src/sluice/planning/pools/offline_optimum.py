"""The least cost with all arrivals known beforehand: the referee of the online schedulers.

Two exact methods give the same answer. CP-SAT takes tens of jobs, where OR-Tools is installed.
Without it, a branch and bound takes small problems: it goes through the jobs, each in its cheapest
options first, and drops a branch when its cost with the cheapest options of the jobs left is no
less than the best schedule found, or when the jobs of a pool cannot all meet their deadlines.
Source: Cura, spec section 4 (1) to (6).

Whether jobs with given options fit into a pool is decided by a search as well. A schedule in which
no job can start earlier has its jobs in the order of their starts, each at the earliest instant at
which its VMs are free and the jobs that it runs after have ended. So it is enough to try orders
with starts that do not decrease. Where jobs run after others, all pools are searched together.
Where such a job may wait only a given time for its VMs, the search of `bounded_waits` is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.planning.pools.bounded_waits import starts_with_bounded_waits
from sluice.planning.pools.free_vms import FreeVms
from sluice.planning.pools.problem import Option, PoolJob, PoolProblem
from sluice.planning.pools.schedule import PoolSchedule
from sluice.planning.pools.slots import Slot

NODES_MAX = 300_000  # steps of both searches: some seconds
_TIES = 1e-9  # relative; a schedule must be cheaper by more than rounding

Places = dict[int, Slot]  # by order of the job


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineOptimum:
    """The cheapest schedule, or what is known of it.

    cost_server_s: of the best schedule found; None if none was found.
    bound_server_s: no schedule costs less.  is_proven: whether the search was complete: the cost
    is then the optimum, or no schedule meets all deadlines.
    slots: of each job, by id.  method: "cp-sat" or "branch and bound".
    """

    cost_server_s: float | None
    bound_server_s: float
    is_proven: bool
    slots: dict[str, Slot]
    method: str


def branch_and_bound(
    problem: PoolProblem, start: Places | None = None, *, nodes_max: int = NODES_MAX
) -> OfflineOptimum:
    """The optimum of a small problem.

    start: a schedule that meets all deadlines, by order of job, to begin with; None for none.
    nodes_max: steps of both searches after which it ends without a proof.
    """
    search = _Search(problem, nodes_max)
    if start is not None:
        search.best = start
        search.best_cost = _cost(start)
    search.run()
    best = search.best
    bound = search.root_bound
    if search.is_complete:
        bound = math.inf if best is None else search.best_cost
    return OfflineOptimum(
        cost_server_s=None if best is None else search.best_cost,
        bound_server_s=bound,
        is_proven=search.is_complete,
        slots={} if best is None else {
            job.job_id: best[job.order] for job in problem.jobs
        },
        method="branch and bound",
    )  # fmt: skip


def with_latest_deadlines(problem: PoolProblem, own_at_s: Sequence[float]) -> PoolProblem:
    """The problem with each job due as late as the jobs that run after it allow.

    own_at_s: the deadline that each job has of its own; infinite for none. A scheduler that does
    not know the future needs a share of the time for each job of a workflow; an optimum does not.
    The latest start of a job that runs after others counts from their end, wherever that comes.
    """
    due_s = {job.order: at_s for job, at_s in zip(problem.jobs, own_at_s, strict=True)}
    for job in reversed(problem.in_order):
        for before in job.after:
            due_s[before] = min(due_s[before], due_s[job.order] - job.shortest_s)
    jobs = tuple(
        replace(_starting_within(job), deadline_at_s=due_s[job.order]) for job in problem.jobs
    )
    return replace(problem, jobs=jobs)


def _starting_within(job: PoolJob) -> PoolJob:
    """The job with its latest start counted from the end of the last one before it."""
    if not job.after:
        return job
    return replace(job, start_within_s=job.start_by_s - job.arrives_at_s, start_by_s=math.inf)


def places_of(schedule: PoolSchedule) -> Places | None:
    """The slots of a schedule that meets all deadlines, as planned.

    None if a job misses its deadline, or starts before one that it runs after was planned to end.
    """
    places: Places = {}
    for one in schedule.outcomes:
        if one.option is None or one.started_at_s is None or not one.met:
            return None
        end_s = one.started_at_s + one.option.length_s
        places[one.job.order] = Slot(one.option, one.started_at_s, end_s)
    is_in_order = all(
        places[order].end_s <= places[one.job.order].start_s
        for one in schedule.outcomes
        for order in one.job.after
    )
    return places if is_in_order else None


def usable_options(job: PoolJob, problem: PoolProblem) -> list[Option]:
    """The options of a job that idle pools can end in time, cheapest first.

    An option is left out if the same pool offers one that is no dearer, larger or longer, unless a
    job of the problem must start soon after others: a longer run of these can then be of use.
    """
    kept: list[Option] = []
    for one, latest_s in zip(job.options, job.latest_starts_s, strict=True):
        if latest_s < job.arrives_at_s or one.vms > problem.sizes[one.pool]:
            continue
        if problem.has_bounded_waits or not any(
            other.pool == one.pool and other.vms <= one.vms and other.length_s <= one.length_s
            for other in kept
        ):
            kept.append(one)
    return kept


def _cost(places: Places) -> float:
    return math.fsum(slot.option.cost_server_s for slot in places.values())


class _StepsUsedUpError(Exception):
    """The search has taken all steps that it may take."""


class _Steps:
    """How many steps are left of both searches."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, steps: int = 1) -> None:
        """Take some. Raises _StepsUsedUpError if none is left."""
        if self._left <= 0:
            raise _StepsUsedUpError
        self._left -= steps


class _Search:
    """Depth first over the jobs, the ones with the fewest options first."""

    def __init__(self, problem: PoolProblem, nodes_max: int) -> None:
        self._problem = problem
        self._steps = _Steps(nodes_max)
        options = {job.order: usable_options(job, problem) for job in problem.jobs}
        self._options = options
        self._jobs = sorted(
            problem.jobs, key=lambda job: (len(options[job.order]), -job.shortest_s, job.order)
        )
        least = [min((o.cost_server_s for o in options[job.order]), default=math.inf)
                 for job in self._jobs]  # fmt: skip
        # What the jobs from each place on cost at least.
        self._rest = [math.fsum(least[place:]) for place in range(len(least) + 1)]
        # By pool; all together where jobs run after others, maybe of another pool.
        self._is_apart = not any(job.after for job in problem.jobs)
        groups = len(problem.sizes) if self._is_apart else 1
        self._chosen: list[list[tuple[PoolJob, Option]]] = [[] for _ in range(groups)]
        self._fits: dict[tuple[int, ...], Places | None] = {}
        self.root_bound = self._rest[0]
        self.best: Places | None = None
        self.best_cost = math.inf
        self.is_complete = True

    def run(self) -> None:
        """Search until all is seen or the steps are used up."""
        if self.root_bound == math.inf:
            return
        try:
            self._choose(0, 0.0)
        except _StepsUsedUpError:
            self.is_complete = False

    def _choose(self, place: int, cost: float) -> None:
        if place == len(self._jobs):
            self._keep(cost)
            return
        job = self._jobs[place]
        for option in self._options[job.order]:
            after = cost + option.cost_server_s
            if after + self._rest[place + 1] >= self.best_cost * (1 - _TIES):
                break  # the other options cost no less
            self._steps.take()
            group = option.pool if self._is_apart else 0
            here = self._chosen[group]
            here.append((job, option))
            if self._in_time(group) is not None:
                self._choose(place + 1, after)
            here.pop()

    def _in_time(self, group: int) -> Places | None:
        """Starts of the jobs of a group that meet all their deadlines; None if there are none."""
        chosen = self._chosen[group]
        key = tuple(number for job, one in chosen for number in (job.order, one.pool, one.vms))
        if key not in self._fits:
            self._fits[key] = self._places(chosen)
        return self._fits[key]

    def _places(self, chosen: Sequence[tuple[PoolJob, Option]]) -> Places | None:
        sizes = self._problem.sizes
        if not self._problem.has_bounded_waits:
            return in_pools(chosen, sizes, self._steps)
        latest_s = {job.order: _latest_s(job, option) for job, option in chosen}
        return starts_with_bounded_waits(chosen, sizes, latest_s, self._steps.take)

    def _keep(self, cost: float) -> None:
        made: Places = {}
        for group in range(len(self._chosen)):
            places = self._in_time(group)
            assert places is not None, "each group was found feasible"
            made |= places
        self.best, self.best_cost = made, cost


def in_pools(
    chosen: Sequence[tuple[PoolJob, Option]], sizes: Sequence[int], steps: _Steps
) -> Places | None:
    """A start for each job, so that all meet their deadlines; None if there is none.

    chosen: the jobs, each with its option. Others that they run after are left out of account.
    """
    left = sorted(chosen, key=lambda pair: (_latest_s(*pair), pair[0].order))
    free = {option.pool: FreeVms(sizes[option.pool]) for _, option in chosen}
    placed: Places = {}
    return placed if _place(left, free, -math.inf, placed, steps) else None


def _place(
    left: Sequence[tuple[PoolJob, Option]],
    free: Mapping[int, FreeVms],
    from_s: float,
    placed: Places,
    steps: _Steps,
) -> bool:
    """Place the jobs that are left, none before `from_s`."""
    steps.take()
    if not left:
        return True
    starts: list[tuple[float, int]] = []
    orders = {job.order for job, _ in left}
    for index, (job, option) in enumerate(left):
        if not orders.isdisjoint(job.after):
            continue  # one that it runs after starts before it
        latest_s = _latest_s(job, option)
        ends = (placed[order].end_s for order in job.after if order in placed)
        first_s = max(job.arrives_at_s, from_s, *ends)
        start_s = free[option.pool].earliest(option.vms, option.length_s, first_s, latest_s)
        if start_s is None:
            return False  # more reservations make no room
        starts.append((start_s, index))
    # A job that would end before every other can start must be next: no later one is missed.
    soonest_end_s = min(start_s + left[index][1].length_s for start_s, index in starts)
    for start_s, index in starts:
        if start_s >= soonest_end_s:
            continue  # the job that ends by then could go first without harm
        job, option = left[index]
        slot = Slot(option, start_s, start_s + option.length_s)
        free[option.pool].add(slot.start_s, slot.end_s, -option.vms)
        placed[job.order] = slot
        others = [*left[:index], *left[index + 1 :]]
        if _place(others, free, start_s, placed, steps):
            return True
        del placed[job.order]
        free[option.pool].add(slot.start_s, slot.end_s, option.vms)
    return False


def _latest_s(job: PoolJob, option: Option) -> float:
    """The last start of the option."""
    return job.latest_starts_s[job.options.index(option)]
