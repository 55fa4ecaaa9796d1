"""The common part of the schedulers of VM pools: a book of reservations, and who waits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sluice.planning.pools.problem import PoolJob
from sluice.planning.pools.slots import Book, Booking


class PoolScheduler(ABC):
    """The state that a driver reads, and the events that it reports.

    running, tentative: reservations by order of the job.  windows: latest start by pool, None
    without a limit.  deciders: the job whose reservation fixed the window.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.book = Book(sizes)
        self.running: dict[int, Booking] = {}
        self.tentative: dict[int, Booking] = {}
        self.waiting: list[PoolJob] = []
        self.windows: list[float | None] = [None for _ in sizes]
        self.deciders: list[int | None] = [None for _ in sizes]
        self._arrived: list[PoolJob] = []

    def arrive(self, job: PoolJob) -> None:
        """Take a new job; it gets a slot at the next `decide`."""
        self._arrived.append(job)

    def withdraw(self) -> list[PoolJob]:
        """Cancel all that has not started, and take out all jobs that wait; returns them."""
        self.open_windows()
        jobs = [*self._arrived, *self.waiting]
        self._arrived, self.waiting = [], []
        return jobs

    def add_pool(self, vms: int) -> None:
        """One more pool, of that many VMs, behind the others."""
        self.book.add_pool(vms)
        self.windows.append(None)
        self.deciders.append(None)

    def known(self) -> set[int]:
        """Orders of the jobs that wait, have a reservation, or run."""
        return {*self.running, *self.tentative} | {
            job.order for job in (*self._arrived, *self.waiting)
        }

    def saved(self) -> dict[str, Any]:
        """The state as JSON values."""
        return {
            "arrived": [job.saved() for job in self._arrived],
            "book": self.book.saved(),
            "deciders": list(self.deciders),
            "running": [one.saved() for one in self.running.values()],
            "tentative": [one.saved() for one in self.tentative.values()],
            "waiting": [job.saved() for job in self.waiting],
            "windows": list(self.windows),
        }

    def restored(self, saved: Mapping[str, Any]) -> None:
        """Take the state back."""
        self._arrived = [PoolJob.restored(one) for one in saved["arrived"]]
        self.waiting = [PoolJob.restored(one) for one in saved["waiting"]]
        self.book = Book.restored(saved["book"])
        self.deciders, self.windows = list(saved["deciders"]), list(saved["windows"])
        running, tentative = map(Booking.restored, saved["running"]), saved["tentative"]
        self.running = {one.job.order: one for one in running}
        self.tentative = {one.job.order: one for one in map(Booking.restored, tentative)}

    def finish(self, order: int, now_s: float) -> Booking:
        """A running job has ended; what is left of its reservation, which is returned, is free."""
        booking = self.running.pop(order)
        if now_s < booking.slot.end_s:
            self.book.give_back(booking.slot._replace(start_s=now_s))
        return booking

    def overrun(self, order: int, now_s: float, until_s: float) -> None:
        """A running job keeps its VMs to `until_s`; everything behind it is planned again (E10)."""
        job, slot = self.running[order]
        self.open_windows()
        self.book.take(slot._replace(start_s=max(now_s, slot.end_s), end_s=until_s))
        self.running[order] = Booking(job, slot._replace(end_s=until_s))

    @abstractmethod
    def open_windows(self) -> None:
        """Cancel all tentative reservations, and open all windows."""

    @abstractmethod
    def decide(self, now_s: float) -> list[Booking]:
        """Reserve, and return the jobs that start now."""

    @abstractmethod
    def lost(self, now_s: float, tick_s: float) -> list[PoolJob]:
        """Take out the waiting jobs that can no longer meet their deadline, and return them."""
