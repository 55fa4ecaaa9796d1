"""Reservations of VMs while real or simulated tasks run: the schedulers of pools, event by event.

`online` plays a whole problem through, with run times that it knows. Here jobs arrive, end early or
late, and VMs come and go, whenever a caller reports it; the caller holds the VMs. A job that can no
longer meet its deadline is not dropped, since its work still has to be done: it gets VMs without a
deadline, and is counted as late, with the least deadline that would have been accepted. Only a
caller that asks first learns which jobs to refuse. Source: Cura, spec section 5.3; E10 for jobs
that end early or late, E11 for those that cannot be in time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluice.model.ids import JobId
from sluice.model.job import Job, Prediction
from sluice.model.vm_pools import (
    UNKNOWN_S,
    LateOffer,
    PoolChange,
    PowerRule,
    ReconfigureRule,
    VmGrant,
    VmType,
)
from sluice.planning.pools.choice import ChoiceWatch, VmChoice
from sluice.planning.pools.instant_opt import InstantOptScheduler
from sluice.planning.pools.pool_change import PoolResizer, Servers
from sluice.planning.pools.pool_scheduler import PoolScheduler
from sluice.planning.pools.problem import PoolJob, options_of, start_by_s, ticks_up
from sluice.planning.pools.server_power import ServerPower
from sluice.planning.pools.slots import Booking, reserved_vms
from sluice.planning.pools.vm_aware import VmAwareScheduler

# Of its planned time, for a job that overruns: little at first, because most overruns are a matter
# of rounding or of a late report, and each one makes all reservations behind it wait.
_SLIGHTLY, _MORE = 0.001, 0.1
_ROUNDING = 1e-9  # relative; an end that is this little before the planned one is not early


class OnlineReservations:
    """Which jobs get which VMs, from when on.

    rule: "vm-aware" or "instant-opt".  boot_s: seconds that VMs boot before a job can use them.
    tick_s: planned times are whole ticks; 0 for exact times.  bound_s: longest window.
    server_units: resource units of a server, for costs in server-seconds.
    servers, resize_rule: also change the pool sizes where that saves enough, on these servers;
    None for pools that keep theirs. Only "vm-aware" changes them.
    power: when servers are shut down; None for never. Not for pools that change their sizes.
    """

    def __init__(
        self,
        rule: str,
        *,
        boot_s: float = 0.0,
        tick_s: float = 0.0,
        bound_s: float = math.inf,
        server_units: float = 1.0,
        servers: Servers | None = None,
        resize_rule: ReconfigureRule | None = None,
        power: PowerRule | None = None,
    ) -> None:
        self._scheduler: PoolScheduler = (
            VmAwareScheduler((), bound_s=bound_s) if rule == "vm-aware" else InstantOptScheduler(())
        )
        self._boot_s = boot_s + (0.0 if power is None else power.up_s)
        self._power = None if power is None else ServerPower(power, server_units, 0.0)
        self._tick_s = tick_s
        self._types: list[VmType] = []
        self._server_units = server_units
        self._resizer: PoolResizer | None = None
        if servers is not None:
            self._resizer = PoolResizer(self._types, servers, resize_rule)
        self._jobs: dict[int, Job] = {}  # by order
        self._count = 0
        self._order: dict[JobId, int] = {}
        self._arrived_s: dict[int, float] = {}
        self._overran: set[int] = set()
        self._late: set[int] = set()
        self._asked: set[int] = set()  # that can still be refused
        self._refused: set[int] = set()
        self._at_once: set[int] = set()  # that start at their arrival or are refused
        self._started: set[int] = set()  # that had VMs before
        self._offers: dict[int, LateOffer] = {}
        self._without_pool: dict[int, PoolJob] = {}  # late jobs that fit into no pool now
        self._followed: JobId | None = None
        self._watch: ChoiceWatch | None = None

    # --- why --------------------------------------------------------------------------------------

    def follow(self, job_id: JobId) -> None:
        """Note why this job gets its VMs; asked before it arrives."""
        self._followed = job_id

    def choice(self) -> VmChoice | None:
        """Why the followed job got its VMs when it was last placed; None before that."""
        return None if self._watch is None else self._watch.choice

    def types(self) -> Sequence[VmType]:
        """The VM types by place of their pool."""
        return tuple(self._types)

    # --- pools ------------------------------------------------------------------------------------

    def set_pool(self, vm_type: str, units: float, vms: int, now_s: float) -> None:
        """A pool has this many VMs from now on; all that has not started is planned again."""
        scheduler = self._scheduler
        index = self._pool(vm_type)
        waiting = scheduler.withdraw()
        if self._power is not None:
            self._power.grow(len(self._types) if index is None else index, units, vms, now_s)
        if index is None:
            self._types.append(VmType(type_id=vm_type, units=units, vms=vms))
            scheduler.add_pool(vms)
        else:
            scheduler.book.resize(index, now_s, vms - self._up(index, now_s))
        orders = sorted({*(job.order for job in waiting), *self._without_pool})
        self._without_pool = {}
        for order in orders:
            self._enter(order, now_s)

    def sizes(self, now_s: float) -> Mapping[str, int]:
        """VMs that each pool is to have now, of jobs and free; a change of the pools may begin.

        Jobs may hold more for a while: what they give back is then too much.
        """
        resizer, scheduler = self._resizer, self._scheduler
        if resizer is not None and isinstance(scheduler, VmAwareScheduler):
            self._scheduler = resizer.checked(scheduler, now_s)
        return {one.type_id: self._up(index, now_s) for index, one in enumerate(self._types)}

    def changes(self) -> Sequence[PoolChange]:
        """The checks of the pool sizes so far."""
        return () if self._resizer is None else self._resizer.changes

    def _up(self, index: int, now_s: float) -> int:
        """VMs of a pool without those that were ordered and are not there yet."""
        coming = () if self._resizer is None else self._resizer.coming
        to_come = sum(one.vms for one in coming if one.pool == index and one.at_s > now_s)
        return max(0, self._scheduler.book.sizes[index] - to_come)

    def _pool(self, vm_type: str) -> int | None:
        return next((i for i, one in enumerate(self._types) if one.type_id == vm_type), None)

    # --- servers ----------------------------------------------------------------------------------

    def occupy(self, vm_type: str, places: Sequence[int], now_s: float) -> float:
        """A job has these VMs of a pool. Returns the seconds until their servers are up."""
        pool = self._pool(vm_type)
        if self._power is None or pool is None:
            return 0.0
        return self._power.take(pool, places, now_s)

    def vacate(self, vm_type: str, places: Sequence[int], now_s: float) -> None:
        """A job has these VMs no more."""
        pool = self._pool(vm_type)
        if self._power is not None and pool is not None:
            self._power.give_back(pool, places, now_s)

    def power(self, now_s: float) -> Mapping[str, float] | None:
        """Return what shutting down servers has saved; None for servers that stay on."""
        return None if self._power is None else self._power.use(now_s)._asdict()

    # --- jobs -------------------------------------------------------------------------------------

    def arrive(self, job: Job, now_s: float) -> None:
        """A job wants VMs. A job that lost all its VMs may arrive again."""
        order = self._order.get(job.job_id)
        if order is None:
            order = self._add(job, now_s)
        self._enter(order, now_s)

    def ask(
        self, jobs: Iterable[Job], now_s: float, *, at_once: bool
    ) -> tuple[Mapping[JobId, float | None], list[VmGrant]]:
        """New jobs that want VMs, some of which are refused.

        at_once: a job starts now or is refused; else only those are that idle pools cannot serve
        in time. Returns the least deadline that would be accepted for each refused job, None where
        no pool is large enough; and the jobs that get VMs now.
        """
        orders = {self._add(job, now_s): job.job_id for job in jobs}
        self._asked = set(orders)
        self._at_once = set(orders) if at_once else set()
        for order in orders:
            self._enter(order, now_s)
        grants = self.decide(now_s) if at_once else []
        self._asked, self._at_once = set(), set()
        return {
            job_id: self._offers[order].least_deadline_at_s
            for order, job_id in orders.items()
            if order in self._refused
        }, grants

    def finish(self, job_id: JobId, now_s: float) -> None:
        """A job with VMs has given them back."""
        order = self._order[job_id]
        self._overran.discard(order)
        scheduler = self._scheduler
        planned_s = scheduler.running[order].slot.end_s
        ended = scheduler.finish(order, now_s)
        if self._resizer is not None and isinstance(scheduler, VmAwareScheduler):
            self._resizer.ended(ended, scheduler, now_s)
        if now_s < planned_s - _ROUNDING * max(1.0, planned_s):
            scheduler.open_windows()  # what is behind it may start earlier

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
                self._give_up(job, LateOffer(now_s, scheduler.book.earliest_end_s(job, now_s)))
            started += scheduler.decide(now_s)
        if self._power is not None:
            self._power.update(reserved_vms(scheduler.tentative.values()), now_s)
        if self._watch is not None:
            self._watch.note(scheduler, now_s)
        self._started.update(one.job.order for one in started)
        if self._resizer is not None:
            self._resizer.used.update({one.job.order: one.slot.option for one in started})
        return [self._grant(one) for one in started]

    def next_at_s(self, now_s: float) -> float | None:
        """When `decide` should be asked again if nothing else happens; None for never."""
        return min((at_s for at_s in self._instants() if now_s < at_s < math.inf),
                   default=None)  # fmt: skip

    def next_check_s(self, now_s: float) -> float | None:
        """When the pool sizes are checked next; None for pools that keep theirs."""
        return None if self._resizer is None else self._resizer.next_s(now_s)

    def reservation(self, job_id: JobId) -> VmGrant | None:
        """The tentative reservation of a job; None if it has none."""
        booking = self._scheduler.tentative.get(self._order.get(job_id, -1))
        return None if booking is None else self._grant(booking)

    def late_offer(self, job_id: JobId) -> LateOffer | None:
        """Return the offer to a job that can no longer meet its deadline; None for others."""
        return self._offers.get(self._order.get(job_id, -1))

    # --- memory -----------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """Its memory as JSON values. Of jobs that have ended only the offers are kept."""
        known = self._scheduler.known() | {*self._without_pool}
        orders = sorted(self._order.items(), key=lambda one: one[1])
        return {
            "count": self._count,
            "jobs": [[one, n, self._arrived_s[n]] for one, n in orders if n in known],
            "late": sorted(self._late & known),
            "offers": [[one, n, *self._offers[n]] for one, n in orders if n in self._offers],
            "overran": sorted(self._overran & known),
            **({} if self._power is None else {"power": self._power.saved()}),
            **({} if self._resizer is None else {"resizer": self._resizer.saved(known)}),
            "scheduler": self._scheduler.saved(),
            "started": sorted(self._started & known),
            "types": [[one.type_id, one.units, one.vms] for one in self._types],
            "without_pool": [job.saved() for job in self._without_pool.values()],
        }

    def restored(self, saved: Mapping[str, Any], jobs: Mapping[JobId, Job]) -> None:
        """Take back what was saved. jobs: with all that have not ended."""
        self._count = saved["count"]
        for job_id, order, at_s, least_s in saved["offers"]:
            self._order[job_id], self._offers[order] = order, LateOffer(at_s, least_s)
        for job_id, order, at_s in saved["jobs"]:
            self._order[job_id], self._jobs[order] = order, jobs[job_id]
            self._arrived_s[order] = at_s
        self._late, self._overran = set(saved["late"]), set(saved["overran"])
        self._started = set(saved["started"])
        if self._power is not None:
            self._power.restored(saved["power"])
        if self._resizer is not None:
            self._resizer.restored(saved["resizer"])
        self._scheduler.restored(saved["scheduler"])
        for type_id, units, vms in saved["types"]:  # the resizer reads the same list
            self._types.append(VmType(type_id=type_id, units=units, vms=vms))
        self._without_pool = {one["order"]: PoolJob.restored(one) for one in saved["without_pool"]}

    # --- one job ----------------------------------------------------------------------------------

    def _add(self, job: Job, now_s: float) -> int:
        order = self._order[job.job_id] = self._count
        self._count += 1
        self._jobs[order] = job
        self._arrived_s[order] = ticks_up(now_s, self._tick_s)
        if job.job_id == self._followed:
            self._watch = ChoiceWatch(order, lambda one: str(self._jobs[one].job_id))
        return order

    def _enter(self, order: int, now_s: float) -> None:
        job = self._pool_job(order)
        book = self._scheduler.book
        if job.best_alone(sizes=book.sizes) is None:
            self._give_up(job, LateOffer(now_s, book.earliest_end_s(job, now_s)))
        elif min(job.deadline_at_s, job.start_by_s) < math.inf:
            self._scheduler.arrive(job)
            if self._resizer is not None and job.shortest_s < UNKNOWN_S:
                self._resizer.arrived[order] = job
        else:
            self._enter_late(job)

    def _give_up(self, job: PoolJob, offer: LateOffer) -> None:
        """No VMs are in time for the job: refuse it if it may be refused."""
        if self._watch is not None:
            self._watch.note_lost(job, self._scheduler.book, offer.at_s)
        if min(job.deadline_at_s, job.start_by_s) < math.inf or job.order in self._asked:
            self._offers.setdefault(job.order, offer)
        if job.order in self._asked:
            self._refused.add(job.order)
        else:
            self._enter_late(job)

    def _enter_late(self, job: PoolJob) -> None:
        """Without a deadline the job waits for VMs as long as it takes."""
        if job.deadline_at_s < math.inf:
            self._late.add(job.order)
        start_by_s = job.start_by_s if job.order in self._at_once else math.inf
        job = replace(job, deadline_at_s=math.inf, start_by_s=start_by_s)
        if job.best_alone(sizes=self._scheduler.book.sizes) is None:
            self._without_pool[job.order] = job
        else:
            self._scheduler.arrive(job)

    def _pool_job(self, order: int) -> PoolJob:
        job = self._jobs[order]
        deadline_s = math.inf if job.deadline_at_s is None else job.deadline_at_s
        options = options_of(
            [_booted(one, self._boot_s) for one in job.predictions],
            self._types, self._server_units, tick_s=self._tick_s,
        )  # fmt: skip
        return PoolJob(
            job_id=str(job.job_id),
            order=order,
            submitted_at_s=job.submitted_at_s,
            arrives_at_s=self._arrived_s[order],
            deadline_at_s=math.inf if order in self._late else deadline_s,
            options=options,
            start_by_s=self._start_by_s(order),
            names_cluster=job.vm_request is not None,
        )

    def _start_by_s(self, order: int) -> float:
        arrived_s = self._arrived_s[order]
        if order in self._at_once:
            return arrived_s
        if order in self._started:
            return math.inf  # it had its start, and goes on after it lost its VMs
        return start_by_s(self._jobs[order].vm_request, arrived_s)

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
