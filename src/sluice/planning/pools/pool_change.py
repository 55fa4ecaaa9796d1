"""Changes the pools of a running scheduler where that pays, without stopping a job.

A shrinking pool gives up its idle VMs at once, and those of running jobs as these end. A growing
pool gets VMs once their units are free and the change has taken its time. The change is dropped if
a job that had a slot would lose it (E12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from sluice.model.vm_pools import PoolChange, ReconfigureRule, VmType
from sluice.planning.pools.pool_sizes import Observation, PoolShape, Resize, resize
from sluice.planning.pools.problem import Option, PoolJob
from sluice.planning.pools.slots import Booking, Slot
from sluice.planning.pools.vm_aware import VmAwareScheduler

_ROUNDING = 1e-9


class Servers(NamedTuple):
    """The servers under the pools. server_units: resource units of one.  number: how many."""

    server_units: float
    number: int


class ComingVms(NamedTuple):
    """VMs that a pool gets at an instant."""

    at_s: float
    pool: int
    vms: int


class PoolResizer:
    """Watches arrivals, and checks the pools at the end of each window.

    types: of the pools; the list may grow.
    arrived: jobs of this window, by order.  used: the configuration of each job that was started.
    coming: VMs that were ordered, in the order of their orders.
    """

    def __init__(
        self, types: Sequence[VmType], servers: Servers, rule: ReconfigureRule | None
    ) -> None:
        self.arrived: dict[int, PoolJob] = {}
        self.used: dict[int, Option] = {}
        self.changes: list[PoolChange] = []
        self.coming: list[ComingVms] = []
        self._types = types
        self._servers = servers
        self._rule = rule or ReconfigureRule()
        self._next_s = self._rule.window_s
        self._change = _Change()

    def saved(self, known: set[int]) -> dict[str, Any]:
        """Return its state as JSON values. known: orders of the jobs that have not ended."""
        known = known | {*self.arrived}
        return {
            "arrived": [job.saved() for job in self.arrived.values()],
            "changes": [asdict(one) for one in self.changes],
            "coming": [list(one) for one in self.coming],
            "next_s": self._next_s,
            "owed": sorted(self._change.owed.items()),
            "used": [[order, list(used)] for order, used in self.used.items() if order in known],
            "wanted": sorted(self._change.wanted.items()),
        }

    def restored(self, saved: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        self.arrived = {one["order"]: PoolJob.restored(one) for one in saved["arrived"]}
        self.changes = [PoolChange(**one) for one in saved["changes"]]
        self.coming = [ComingVms(*one) for one in saved["coming"]]
        self.used = {order: Option(*one) for order, one in saved["used"]}
        self._next_s = saved["next_s"]
        self._change.owed = Counter(dict(saved["owed"]))
        self._change.wanted = Counter(dict(saved["wanted"]))

    def next_s(self, now_s: float) -> float:
        """When the next check is due."""
        return self._next_s

    def ended(self, booking: Booking, scheduler: VmAwareScheduler, now_s: float) -> None:
        """A job has given its VMs back: what they owe is given up, and other pools may grow."""
        self._change.give_back(booking.slot)
        if self._grow(scheduler, now_s):
            scheduler.open_windows()  # more VMs may let reservations start earlier

    def checked(self, scheduler: VmAwareScheduler, now_s: float) -> VmAwareScheduler:
        """The scheduler to go on with: the same, or one with new pools."""
        if now_s < self._next_s:
            return scheduler
        while self._next_s <= now_s:
            self._next_s += self._rule.window_s
        seen = [
            Observation(option, optimal)
            for job in self.arrived.values()
            if (option := self._option(job, scheduler)) is not None
            and (optimal := job.best_alone()) is not None
        ]
        self.arrived = {}
        shape = PoolShape(
            tuple(vms + self._change.wanted[pool] for pool, vms in enumerate(scheduler.book.sizes)),
            [one.units for one in self._types],
            self._servers.server_units,
            self._servers.number,
        )
        answer = resize(seen, shape, self._rule)
        if answer is None:
            return scheduler
        if not answer.pays or answer.sizes == shape.sizes:
            why = "sizes stay" if answer.sizes == shape.sizes else "saving too small"
            self._note(answer, now_s, done=False, why=why)
            return scheduler
        changed = self._changed(scheduler, answer, now_s)
        is_kept = changed is None
        self._note(
            answer,
            now_s,
            done=not is_kept,
            why="a reserved job would lose its slot" if is_kept else "saves more than it costs",
        )
        return scheduler if changed is None else changed

    def _option(self, job: PoolJob, scheduler: VmAwareScheduler) -> Option | None:
        if job.order in self.used:
            return self.used[job.order]
        booking = scheduler.tentative.get(job.order)
        return None if booking is None else booking.slot.option

    def _note(self, answer: Resize, now_s: float, *, done: bool, why: str) -> None:
        names = [one.type_id for one in self._types]
        self.changes.append(
            PoolChange(
                at_s=now_s,
                observed_server_s=answer.observed_server_s,
                estimated_server_s=answer.estimated_server_s,
                benefit_server_s=answer.benefit_server_s,
                change_server_s=answer.change_server_s,
                done=done,
                sizes=dict(zip(names, answer.sizes, strict=True)),
                why=why,
            )
        )

    def _changed(
        self, scheduler: VmAwareScheduler, answer: Resize, now_s: float
    ) -> VmAwareScheduler | None:
        """A scheduler with the new pools; None if a job with a slot would have none then."""
        before, ordered = self._change.copy(), len(self.coming)
        trial = scheduler.copy()
        had = [one.job for one in trial.tentative.values()]
        trial.open_windows()
        self._change.begin(trial, answer.sizes, now_s)
        self._grow(trial, now_s)
        if self._keeps_slots(trial, had, now_s):
            return trial
        self._change = before
        del self.coming[ordered:]
        return None

    def _keeps_slots(self, changed: VmAwareScheduler, had: list[PoolJob], now_s: float) -> bool:
        """Whether all jobs that had a slot have one, if running jobs end as planned."""
        real, ordered = self._change, len(self.coming)
        preview, self._change = changed.copy(), real.copy()
        for one in sorted(preview.running.values(), key=lambda it: (it.slot.end_s, it.job.order)):
            self._change.give_back(one.slot)
            self._grow(preview, one.slot.end_s)
        self._change = real
        del self.coming[ordered:]
        started = {one.job.order for one in preview.decide(now_s)}
        return all(
            job.order in started
            or job.order in preview.tentative
            or preview.book.best(job, now_s) is not None
            for job in had
        )

    def _grow(self, scheduler: VmAwareScheduler, now_s: float) -> bool:
        """Order VMs for the units that are free; returns whether any were ordered."""
        server_units, number = self._servers
        owed, wanted = self._change.owed, self._change.wanted
        if not any(wanted.values()):
            return False
        sizes = scheduler.book.sizes
        left = server_units * number - math.fsum(
            (vms + owed[pool]) * self._types[pool].units for pool, vms in enumerate(sizes)
        )
        has_ordered = False
        for pool, one in enumerate(self._types):
            vms = min(wanted[pool], math.floor(left / one.units + _ROUNDING))
            if vms > 0:
                at_s = now_s + self._change_s(one.units)
                scheduler.book.resize(pool, at_s, vms)
                self.coming.append(ComingVms(at_s, pool, vms))
                wanted[pool] -= vms
                left -= vms * one.units
                has_ordered = True
        return has_ordered

    def _change_s(self, units: float) -> float:
        """How long a VM is neither of the old type nor of the new: its cost over its part."""
        server_units = self._servers.server_units
        return self._rule.change_server_s(units, server_units) * server_units / units


class _Change:
    """The part of a change that is left. By pool:

    owed: VMs that running jobs hold, and the pool has no more.
    wanted: VMs that it gets when units are free.
    """

    def __init__(self) -> None:
        self.owed: Counter[int] = Counter()
        self.wanted: Counter[int] = Counter()

    def copy(self) -> _Change:
        made = _Change()
        made.owed, made.wanted = self.owed.copy(), self.wanted.copy()
        return made

    def give_back(self, slot: Slot) -> None:
        """A job ends: its VMs pay what the pool owes."""
        pool = slot.option.pool
        self.owed[pool] -= min(self.owed[pool], slot.option.vms)

    def begin(self, scheduler: VmAwareScheduler, sizes: Sequence[int], now_s: float) -> None:
        """Aim at new sizes. What an earlier change has not done yet is taken back first."""
        for pool, new in enumerate(sizes):
            more = new - scheduler.book.sizes[pool]
            kept = max(0, min(more, self.owed[pool]))  # they are up, and need not go
            self.wanted[pool] = max(0, more - kept)
            if more < 0:
                running = sum(
                    one.slot.option.vms
                    for one in scheduler.running.values()
                    if one.slot.option.pool == pool
                )
                idle = scheduler.book.sizes[pool] + self.owed[pool] - running
                self.owed[pool] += max(0, -more - max(0, idle))
            self.owed[pool] -= kept
            scheduler.book.resize(pool, now_s, min(more, 0) + kept)
