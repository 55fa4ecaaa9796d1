"""Reservations of VMs while real or simulated tasks run: the schedulers of pools, event by event.

`online` plays a whole problem through, with run times that it knows. Here jobs arrive, end early or
late, and VMs come and go, whenever a caller reports it; the caller holds the VMs. A job that can no
longer meet its deadline is not dropped, since its work still has to be done: it gets VMs without a
deadline, and is counted as late. Source: Cura, spec section 5.3; E10 for jobs that end early or
late.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.vm_pools import Prediction, VmGrant, VmType
from sluice.planning.pools.instant_opt import InstantOptScheduler
from sluice.planning.pools.pool_scheduler import PoolScheduler
from sluice.planning.pools.problem import PoolJob, options_of, ticks_up
from sluice.planning.pools.slots import Booking
from sluice.planning.pools.vm_aware import VmAwareScheduler

# Of its planned time, for a job that overruns: little at first, because most overruns are a matter
# of rounding or of a late report, and each one makes all reservations behind it wait.
_SLIGHTLY, _MORE = 0.001, 0.1
_ROUNDING = 1e-9  # relative; an end that is this little before the planned one is not early


class OnlineReservations:
    """Which jobs get which VMs, from when on.

    rule: "vm-aware" or "instant-opt".  boot_s: seconds that VMs boot before a job can use them.
    tick_s: planned times are whole ticks; 0 for exact times.  bound_s: longest window.
    """

    def __init__(
        self, rule: str, *, boot_s: float = 0.0, tick_s: float = 0.0, bound_s: float = math.inf
    ) -> None:
        self._scheduler: PoolScheduler = (
            VmAwareScheduler((), bound_s=bound_s) if rule == "vm-aware" else InstantOptScheduler(())
        )
        self._boot_s = boot_s
        self._tick_s = tick_s
        self._types: list[VmType] = []
        self._jobs: list[Job] = []
        self._order: dict[JobId, int] = {}
        self._arrived_s: list[float] = []
        self._overran: set[int] = set()
        self._late: set[int] = set()
        self._without_pool: dict[int, PoolJob] = {}  # late jobs that fit into no pool now

    def set_pool(self, vm_type: str, units: float, vms: int, now_s: float) -> None:
        """A pool has this many VMs from now on; all that has not started is planned again."""
        scheduler = self._scheduler
        index = next((i for i, one in enumerate(self._types) if one.type_id == vm_type), None)
        waiting = scheduler.withdraw()
        if index is None:
            self._types.append(VmType(type_id=vm_type, units=units, vms=vms))
            scheduler.add_pool(vms)
        else:
            scheduler.book.resize(index, now_s, vms - scheduler.book.sizes[index])
        orders = sorted({*(job.order for job in waiting), *self._without_pool})
        self._without_pool = {}
        for order in orders:
            self._enter(order)

    def arrive(self, job: Job, now_s: float) -> None:
        """A job wants VMs. A job that lost all its VMs may arrive again."""
        order = self._order.get(job.job_id)
        if order is None:
            order = self._order[job.job_id] = len(self._jobs)
            self._jobs.append(job)
            self._arrived_s.append(ticks_up(now_s, self._tick_s))
        self._enter(order)

    def finish(self, job_id: JobId, now_s: float) -> None:
        """A job with VMs has given them back."""
        order = self._order[job_id]
        self._overran.discard(order)
        planned_s = self._scheduler.running[order].slot.end_s
        self._scheduler.finish(order, now_s)
        if now_s < planned_s - _ROUNDING * max(1.0, planned_s):
            self._scheduler.open_windows()  # what is behind it may start earlier

    def leave(self, job_id: JobId) -> None:
        """A job without VMs wants none any more."""
        order = self._order[job_id]
        self._without_pool.pop(order, None)
        for job in self._scheduler.withdraw():
            if job.order != order:
                self._scheduler.arrive(job)

    def decide(self, now_s: float) -> list[VmGrant]:
        """The jobs that get VMs now."""
        scheduler = self._scheduler
        for order, booking in list(scheduler.running.items()):
            if booking.slot.end_s <= now_s:
                self._extend(order, booking, now_s)
        started = scheduler.decide(now_s)
        while lost := scheduler.lost(now_s, 0.0):
            for job in lost:
                self._enter_late(job)
            started += scheduler.decide(now_s)
        return [self._grant(one) for one in started]

    def next_at_s(self, now_s: float) -> float | None:
        """When `decide` should be asked again if nothing else happens; None for never."""
        return min((at_s for at_s in self._instants() if now_s < at_s < math.inf), default=None)

    def reservation(self, job_id: JobId) -> VmGrant | None:
        """The tentative reservation of a job; None if it has none."""
        booking = self._scheduler.tentative.get(self._order.get(job_id, -1))
        return None if booking is None else self._grant(booking)

    def is_late(self, job_id: JobId) -> bool:
        """Whether the job can no longer meet its deadline."""
        return self._order.get(job_id, -1) in self._late

    # --- one job ----------------------------------------------------------------------------------

    def _enter(self, order: int) -> None:
        job = self._pool_job(order)
        if job.deadline_at_s < math.inf and job.best_alone(sizes=self._scheduler.book.sizes):
            self._scheduler.arrive(job)
        else:
            self._enter_late(job)

    def _enter_late(self, job: PoolJob) -> None:
        """Without a deadline the job waits for VMs as long as it takes."""
        if job.deadline_at_s < math.inf:
            self._late.add(job.order)
        job = replace(job, deadline_at_s=math.inf)
        if job.best_alone(sizes=self._scheduler.book.sizes) is None:
            self._without_pool[job.order] = job
        else:
            self._scheduler.arrive(job)

    def _pool_job(self, order: int) -> PoolJob:
        job = self._jobs[order]
        deadline_s = math.inf if job.deadline_at_s is None else job.deadline_at_s
        options = options_of(
            [_booted(one, self._boot_s) for one in job.predictions],
            self._types, 1.0, tick_s=self._tick_s,
        )  # fmt: skip
        return PoolJob(
            job_id=str(job.job_id),
            order=order,
            submitted_at_s=job.submitted_at_s,
            arrives_at_s=self._arrived_s[order],
            deadline_at_s=math.inf if order in self._late else deadline_s,
            options=options,
        )

    def _extend(self, order: int, booking: Booking, now_s: float) -> None:
        part = _MORE if order in self._overran else _SLIGHTLY
        self._overran.add(order)
        more_s = max(ticks_up(booking.slot.option.length_s * part, self._tick_s), self._tick_s)
        self._scheduler.overrun(order, now_s, now_s + more_s)

    def _grant(self, booking: Booking) -> VmGrant:
        option, start_s, end_s = booking.slot
        job = self._jobs[booking.job.order]
        return VmGrant(job.job_id, self._types[option.pool].type_id, option.vms, start_s, end_s)

    def _instants(self) -> Iterator[float]:
        scheduler = self._scheduler
        if not (scheduler.tentative or scheduler.waiting):
            return
        for one in scheduler.tentative.values():
            yield one.slot.start_s
        for running in scheduler.running.values():
            yield running.slot.end_s
        for window in scheduler.windows:
            if window is not None:
                yield window
        for job in scheduler.waiting:
            yield job.latest_start_s


def _booted(one: Prediction, boot_s: float) -> Prediction:
    """The prediction with the time to boot; the margin is that of the run alone."""
    time_s = one.time_s + boot_s
    return replace(one, time_s=time_s, error=(one.error or 0.0) * one.time_s / time_s)
