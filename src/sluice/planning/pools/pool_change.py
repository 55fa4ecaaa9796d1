"""Changes the pools of a running scheduler where that pays, without stopping a job.

A shrinking pool gives up VMs as they become free; a growing one gets VMs once their units are free
and the change has taken its time. The change is dropped if a job that had a slot would lose it
(E12).
"""

from __future__ import annotations

import math

from sluice.model.vm_pools import ReconfigureRule
from sluice.planning.pools.pool_sizes import Observation, PoolShape, Resize, resize
from sluice.planning.pools.problem import Option, PoolJob, PoolProblem
from sluice.planning.pools.schedule import PoolChange
from sluice.planning.pools.vm_aware import VmAwareScheduler

_ROUNDING = 1e-9


class PoolResizer:
    """Watches arrivals, and checks the pools at the end of each window.

    arrived: jobs of this window.  used: the configuration of each job that was started.
    """

    def __init__(self, problem: PoolProblem) -> None:
        self.arrived: list[PoolJob] = []
        self.used: dict[int, Option] = {}
        self.changes: list[PoolChange] = []
        self._problem = problem
        self._rule = problem.pools.reconfigure or ReconfigureRule()
        self._next_s = self._rule.window_s

    def next_s(self, now_s: float) -> float:
        """When the next check is due."""
        return self._next_s

    def checked(self, scheduler: VmAwareScheduler, now_s: float) -> VmAwareScheduler:
        """The scheduler to go on with: the same, or one with new pools."""
        if now_s < self._next_s:
            return scheduler
        while self._next_s <= now_s:
            self._next_s += self._rule.window_s
        seen = [
            Observation(option, optimal)
            for job in self.arrived
            if (option := self._option(job, scheduler)) is not None
            and (optimal := job.best_alone()) is not None
        ]
        self.arrived = []
        shape = PoolShape(
            tuple(scheduler.book.sizes),
            self._problem.units,
            self._problem.server_units,
            self._problem.servers,
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
        names = [one.type_id for one in self._problem.types]
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
        trial = scheduler.copy()
        had = [one.job for one in trial.tentative.values()]
        trial.open_windows()
        freed: list[tuple[float, float]] = []  # (instant, units)
        units = self._problem.units
        old = list(trial.book.sizes)
        for pool, new in enumerate(answer.sizes):
            surplus = old[pool] - new
            if surplus > 0:
                freed += self._given_up(trial, pool, surplus, now_s)
                trial.book.resize(pool, now_s, -surplus)
        spare = self._problem.spare_units(old)
        instants = _Supply(freed, spare, now_s)
        for pool, new in enumerate(answer.sizes):
            for _ in range(new - old[pool]):
                change_s = self._change_s(units[pool])
                trial.book.resize(pool, instants.take(units[pool]) + change_s, 1)
        preview = trial.copy()
        started = {one.job.order for one in preview.decide(now_s)}
        for job in had:
            has_slot = job.order in started or job.order in preview.tentative
            if not has_slot and preview.book.best(job, now_s) is None:
                return None
        return trial

    def _change_s(self, units: float) -> float:
        """How long a VM is neither of the old type nor of the new: its cost over its part."""
        cost = self._rule.change_server_s(units, self._problem.server_units)
        return cost * self._problem.server_units / units

    def _given_up(
        self, scheduler: VmAwareScheduler, pool: int, surplus: int, now_s: float
    ) -> list[tuple[float, float]]:
        """When the surplus VMs of a pool become free: idle ones now, then those of ending jobs."""
        units = self._problem.units[pool]
        busy = sorted(
            (one.slot.end_s, one.slot.option.vms)
            for one in scheduler.running.values()
            if one.slot.option.pool == pool
        )
        idle = scheduler.book.sizes[pool] - sum(vms for _, vms in busy)
        given: list[tuple[float, float]] = []
        for at_s, vms in [(now_s, max(0, idle)), *busy]:
            part = min(surplus, vms)
            if part:
                given.append((at_s, part * units))
                surplus -= part
        return given


class _Supply:
    """Units that become free over time, handed out in that order."""

    def __init__(self, freed: list[tuple[float, float]], spare: float, now_s: float) -> None:
        self._left = sorted(freed, reverse=True)
        self._at_s = now_s
        self._units = spare

    def take(self, units: float) -> float:
        """The instant at which that many units are free."""
        while self._units + _ROUNDING < units and self._left:
            at_s, more = self._left.pop()
            self._at_s = max(self._at_s, at_s)
            self._units += more
        if self._units + _ROUNDING < units:
            return math.inf
        self._units -= units
        return self._at_s
