"""A pool problem played through at job level: arrivals, starts, ends, changes of pools.

Virtual time jumps from one instant to the next at which something can change. A job runs as long as
it is predicted to, in whole ticks, unless `actual_s` says otherwise: a job that ends early gives
its VMs back at once; one that overruns its planned end keeps them, and is reported (E10). Source:
Cura, spec sections 2, 5.3, 5.4.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace

from sluice.model.errors import Infeasible
from sluice.planning.pools.choice import ChoiceWatch, ChoiceWatches, VmChoice
from sluice.planning.pools.instant_opt import InstantOptScheduler
from sluice.planning.pools.pool_change import PoolResizer, Servers
from sluice.planning.pools.pool_scheduler import PoolScheduler
from sluice.planning.pools.problem import ActualTime, PoolJob, PoolProblem, ticks_up
from sluice.planning.pools.schedule import PoolOutcome, PoolSchedule, why_never
from sluice.planning.pools.server_power import ServerPower, power_of
from sluice.planning.pools.slots import Booking, reserved_vms
from sluice.planning.pools.vm_aware import COMPARED_MAX, VmAwareScheduler

_MORE = 0.1  # of its planned time, for a job that overruns
_LOST = "no VMs were free in time"
_NOT_SOON = "no VMs of the type that it names were free in time for its start"
_NOT_NOW = "no VMs were free at its arrival"


def vm_aware(
    problem: PoolProblem,
    *,
    reconfigures: bool = False,
    actual_s: ActualTime | None = None,
    compared_max: int = COMPARED_MAX,
) -> PoolSchedule:
    """Schedule the jobs online by the VM-aware scheduler.

    reconfigures: change the pools by the problem's rule, at the end of each of its windows.
    """
    scheduler = VmAwareScheduler(
        problem.sizes, bound_s=problem.pools.bound_s, compared_max=compared_max
    )
    resizer = None
    if reconfigures:
        servers = Servers(problem.server_units, problem.servers)
        resizer = PoolResizer(problem.types, servers, problem.pools.reconfigure)
    return _Replay(problem, "vm-aware", scheduler, resizer, actual_s).run()


def first_miss(problem: PoolProblem, *, actual_s: ActualTime | None = None) -> str | None:
    """The first job to miss its deadline under the VM-aware scheduler; None if all meet theirs.

    The replay ends at the miss, so that pools that are far too small are answered quickly.
    """
    scheduler = VmAwareScheduler(problem.sizes, bound_s=problem.pools.bound_s)
    return _Replay(problem, "vm-aware", scheduler, None, actual_s).first_miss()


def vm_choice(problem: PoolProblem, job: PoolJob) -> tuple[VmChoice, PoolOutcome]:
    """Why the VM-aware scheduler gives a job its VMs, and what became of the job.

    Raises Infeasible if a job that it runs after has not run.
    """
    scheduler = VmAwareScheduler(problem.sizes, bound_s=problem.pools.bound_s)
    watch = ChoiceWatch(job.order, lambda order: problem.jobs[order].job_id)
    outcome = _Replay(problem, "vm-aware", scheduler, None, None, watch).run().by_id[job.job_id]
    if watch.choice is None:
        raise Infeasible(f"job {job.job_id!r} gets no VMs: {outcome.why}")
    return watch.choice, outcome


def vm_choices(problem: PoolProblem) -> dict[int, VmChoice]:
    """Why the VM-aware scheduler gives each job its VMs, by order of the job."""
    scheduler = VmAwareScheduler(problem.sizes, bound_s=problem.pools.bound_s)
    names = {job.order: job.job_id for job in problem.jobs}
    watches = ChoiceWatches([ChoiceWatch(order, names.__getitem__) for order in names])
    _Replay(problem, "vm-aware", scheduler, None, None, watches).run()
    return watches.choices


def instant_opt(problem: PoolProblem, *, actual_s: ActualTime | None = None) -> PoolSchedule:
    """Run each job in its own optimal configuration, from the first instant at which it is free."""
    scheduler = InstantOptScheduler(problem.sizes)
    return _Replay(problem, "instant-opt", scheduler, None, actual_s).run()


def waiting_for_servers(problem: PoolProblem) -> PoolProblem:
    """The problem with the seconds until a server is up counted in each planned time."""
    rule = problem.pools.power
    if rule is None:
        return problem
    up_s = ticks_up(rule.up_s, problem.tick_s)
    jobs = tuple(
        replace(
            job, options=tuple(one._replace(length_s=one.length_s + up_s) for one in job.options)
        )
        for job in problem.jobs
    )
    return replace(problem, jobs=jobs)


def starting_at_once(problem: PoolProblem) -> PoolProblem:
    """The problem with immediate service: a job starts at its arrival or is refused."""
    jobs = tuple(replace(job, start_by_s=job.arrives_at_s) for job in problem.jobs)
    return replace(problem, jobs=jobs)


def _why_lost(job: PoolJob) -> str:
    if job.start_by_s == job.arrives_at_s:
        return _NOT_NOW
    return _LOST if job.start_by_s == math.inf else _NOT_SOON


def _arrival(job: PoolJob) -> tuple[float, int]:
    return job.arrives_at_s, job.order


class _Replay:
    def __init__(
        self,
        problem: PoolProblem,
        policy: str,
        scheduler: PoolScheduler,
        resizer: PoolResizer | None,
        actual_s: ActualTime | None,
        watch: ChoiceWatch | ChoiceWatches | None = None,
    ) -> None:
        self._problem = problem
        self._policy = policy
        self._scheduler = scheduler
        self._resizer = resizer
        self._actual_s = actual_s
        self._watch = watch
        self._outcomes: dict[int, PoolOutcome] = {}
        self._jobs = {job.order: job for job in problem.jobs}
        # One that was left out, to see what it costs, is not waited for.
        waits = {order: self._jobs.keys() & set(job.after) for order, job in self._jobs.items()}
        self._blocked = {order: before for order, before in waits.items() if before}
        self._to_come = [job for job in problem.jobs if job.order not in self._blocked]
        self._to_come.sort(key=_arrival, reverse=True)
        self._ends: list[tuple[float, int]] = []
        self._checks: list[tuple[float, int]] = []  # planned ends of jobs that will overrun
        self._windows: list[tuple[int, float, float, str]] = []
        self._missed: list[str] = []
        self._names = {job.order: job.job_id for job in problem.jobs}
        self._places: dict[int, list[int]] = {}  # of the VMs of running jobs
        rule = problem.pools.power
        self._power: ServerPower | None = None
        if rule is not None and problem.jobs:
            first_s = self._to_come[-1].arrives_at_s
            pools = list(zip(problem.units, problem.sizes, strict=True))
            self._power = power_of(rule, problem.server_units, pools, first_s)

    def run(self) -> PoolSchedule:
        """Play to the end."""
        now_s = self._next_s(-math.inf)
        while now_s < math.inf:
            self._step(now_s)
            now_s = self._next_s(now_s)
        problem, power = self._problem, None
        if self._power is not None:
            ends = (one.finished_at_s or 0.0 for one in self._outcomes.values())
            power = self._power.use(max(ends))
        return PoolSchedule(
            policy=self._policy,
            problem=problem,
            outcomes=tuple(self._outcomes[job.order] for job in problem.jobs),
            servers=problem.servers,
            changes=() if self._resizer is None else tuple(self._resizer.changes),
            windows=tuple(self._windows),
            power=power,
        )

    def first_miss(self) -> str | None:
        """Play to the first miss, and return its job."""
        now_s = self._next_s(-math.inf)
        while now_s < math.inf and not self._missed:
            self._step(now_s)
            now_s = self._next_s(now_s)
        return self._missed[0] if self._missed else None

    def _step(self, now_s: float) -> None:
        scheduler = self._scheduler
        while self._ends and self._ends[0][0] <= now_s:
            self._finish(heapq.heappop(self._ends)[1], now_s)
        while self._checks and self._checks[0][0] <= now_s:
            self._extend(heapq.heappop(self._checks)[1], now_s)
        while self._to_come and self._to_come[-1].arrives_at_s <= now_s:
            self._admit(self._to_come.pop(), now_s)
        if self._resizer is not None and isinstance(scheduler, VmAwareScheduler):
            self._scheduler = scheduler = self._resizer.checked(scheduler, now_s)
        before = list(scheduler.deciders)
        for booking in scheduler.decide(now_s):
            self._start(booking, now_s)
        if self._power is not None:
            self._power.update(reserved_vms(scheduler.tentative.values()), now_s)
        self._note_windows(before, now_s)
        if self._watch is not None:
            self._watch.note(scheduler, now_s)
        for job in scheduler.lost(now_s, self._problem.tick_s):
            self._lose(job, now_s)

    def _finish(self, order: int, now_s: float) -> None:
        scheduler = self._scheduler
        ended = scheduler.finish(order, now_s)
        if self._power is not None:
            self._power.give_back(ended.slot.option.pool, self._places.pop(order), now_s)
        if self._resizer is not None and isinstance(scheduler, VmAwareScheduler):
            self._resizer.ended(ended, scheduler, now_s)
        self._unblock(order, now_s)

    def _unblock(self, order: int, now_s: float) -> None:
        """A job has ended: those that run after it arrive, if they wait for no other."""
        for other, waits_for in list(self._blocked.items()):
            waits_for.discard(order)
            if not waits_for:
                del self._blocked[other]
                self._to_come.append(self._jobs[other].arriving(now_s))
                self._to_come.sort(key=_arrival, reverse=True)

    def _drop_after(self, lost: PoolJob, now_s: float) -> None:
        """A job has not run: nor can those that run after it."""
        for order, waits_for in list(self._blocked.items()):
            if lost.order in waits_for and self._blocked.pop(order, None) is not None:
                job = self._jobs[order].arriving(now_s)
                self._missed.append(job.job_id)
                why = why_never(lost.job_id)
                self._outcomes[order] = PoolOutcome(job=job, is_refused=True, why=why)
                self._drop_after(job, now_s)

    def _next_s(self, now_s: float) -> float:
        scheduler = self._scheduler
        instants = [one.slot.start_s for one in scheduler.tentative.values()]
        if self._to_come:
            instants.append(self._to_come[-1].arrives_at_s)
        instants += [heap[0][0] for heap in (self._ends, self._checks) if heap]
        if scheduler.waiting:
            instants += [window for window in scheduler.windows if window is not None]
            instants += [self._last_tick_s(job) for job in scheduler.waiting]
        if self._resizer is not None and instants:
            instants.append(self._resizer.next_s(now_s))
        return min((at_s for at_s in instants if at_s > now_s), default=math.inf)

    def _last_tick_s(self, job: PoolJob) -> float:
        tick_s, latest_s = self._problem.tick_s, job.latest_start_s
        return (
            math.floor(latest_s / tick_s) * tick_s if tick_s and latest_s < math.inf else latest_s
        )

    def _admit(self, job: PoolJob, now_s: float) -> None:
        book = self._scheduler.book
        if job.best_alone(sizes=book.sizes) is not None:
            self._scheduler.arrive(job)
            if self._resizer is not None:
                self._resizer.arrived[job.order] = job
            return
        self._note_lost(job, now_s)
        self._outcomes[job.order] = PoolOutcome(
            job=job,
            is_refused=True,
            why="no configuration can meet the deadline, even on idle pools",
            least_deadline_at_s=book.earliest_end_s(job, now_s),
        )

    def _lose(self, job: PoolJob, now_s: float) -> None:
        self._note_lost(job, now_s)
        self._outcomes[job.order] = PoolOutcome(
            job=job,
            why=_why_lost(job),
            least_deadline_at_s=self._scheduler.book.earliest_end_s(job, now_s),
        )

    def _note_lost(self, job: PoolJob, now_s: float) -> None:
        self._missed.append(job.job_id)
        if self._watch is not None:
            self._watch.note_lost(job, self._scheduler.book, now_s)
        self._drop_after(job, now_s)

    def _start(self, booking: Booking, now_s: float) -> None:
        job, (option, start_s, planned_s) = booking
        problem = self._problem
        exact_s, length_s = problem.actual_length_s(job, option, self._actual_s)
        end_s = start_s + self._server_delay_s(booking, now_s) + length_s
        is_overrun = end_s > planned_s * (1 + 1e-12)
        heapq.heappush(self._ends, (end_s, job.order))
        if is_overrun:
            heapq.heappush(self._checks, (planned_s, job.order))
        if self._resizer is not None:
            self._resizer.used[job.order] = option
        self._outcomes[job.order] = PoolOutcome(
            job=job,
            option=option,
            started_at_s=start_s,
            finished_at_s=end_s,
            cost_server_s=exact_s * option.vms * problem.units[option.pool] / problem.server_units,
            overrun=is_overrun,
            why="it ran longer than planned" if is_overrun else None,
        )

    def _server_delay_s(self, booking: Booking, now_s: float) -> float:
        """Seconds until the servers of a job that starts are up, in whole ticks."""
        if self._power is None:
            return 0.0
        option = booking.slot.option
        places = self._places[booking.job.order] = self._power.first_free(option.pool, option.vms)
        return ticks_up(self._power.take(option.pool, places, now_s), self._problem.tick_s)

    def _extend(self, order: int, now_s: float) -> None:
        """A job runs on after its planned end for an unknown time: a tenth more is planned."""
        running = self._scheduler.running.get(order)
        ends_s = self._outcomes[order].finished_at_s
        if running is None or ends_s is None:
            return
        tick_s = self._problem.tick_s
        more_s = max(ticks_up(running.slot.option.length_s * _MORE, tick_s), tick_s)
        self._scheduler.overrun(order, now_s, now_s + more_s)
        if ends_s > now_s + more_s:
            heapq.heappush(self._checks, (now_s + more_s, order))

    def _note_windows(self, before: list[int | None], now_s: float) -> None:
        for pool, decider in enumerate(self._scheduler.deciders):
            window = self._scheduler.windows[pool]
            if decider is not None and decider != before[pool] and window is not None:
                self._windows.append((pool, now_s, window, self._names[decider]))
