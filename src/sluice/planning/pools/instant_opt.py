"""Cura's pools without its scheduler: each job waits for its own optimal configuration.

A job is reserved at its arrival, at the earliest instant at which its configuration is free.
Nothing is planned again. Source: Cura, spec section 5.5, "instant-opt".
"""

from __future__ import annotations

from dataclasses import replace

from sluice.planning.pools.pool_scheduler import PoolScheduler
from sluice.planning.pools.problem import PoolJob
from sluice.planning.pools.slots import Booking


class InstantOptScheduler(PoolScheduler):
    """The scheduler's state. It has no windows."""

    def open_windows(self) -> None:
        """Cancel all tentative reservations; they are made again."""
        for one in self.tentative.values():
            self.book.give_back(one.slot)
        self._arrived = [*(one.job for one in self.tentative.values()), *self._arrived]
        self.tentative = {}

    def decide(self, now_s: float) -> list[Booking]:
        """Reserve, and return the jobs that start now."""
        for pool in self.book.pools:
            pool.forget_before(now_s)
        for job in sorted(self._arrived, key=lambda one: one.order):
            option = job.best_alone(sizes=self.book.sizes)
            own = replace(job, options=() if option is None else (option,))
            slot = self.book.best(own, now_s)
            if slot is None:
                self.waiting.append(job)
            else:
                self.book.take(slot)
                self.tentative[job.order] = Booking(job, slot)
        self._arrived = []
        due = [one for one in self.tentative.values() if one.slot.start_s <= now_s]
        for one in due:
            del self.tentative[one.job.order]
            self.running[one.job.order] = one
        return due

    def lost(self, now_s: float, tick_s: float) -> list[PoolJob]:
        """Take out the jobs that found no slot, and return them: nothing gets free later."""
        lost, self.waiting = self.waiting, []
        return lost
