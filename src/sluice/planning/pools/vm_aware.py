"""The VM-aware online scheduler: reservations inside windows, ordered by what deferring costs.

At an instant with arrivals, or with waiting jobs and an open window, some reservations are made
again. First each pool with an open window gets a decider: the job whose deferral would cost the
others most. Its end closes the window: no other reservation of this pool may start later. Then all
jobs that can start inside the windows are reserved, in the same order. The others wait. A guard
books a job first that would otherwise lose its last slot (E8). Running jobs are never moved (E7).
Source: Cura, spec section 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sluice.planning.pools.pool_scheduler import PoolScheduler
from sluice.planning.pools.problem import PoolJob
from sluice.planning.pools.reservation_pass import ReservationPass
from sluice.planning.pools.slots import Book, Booking, Slot, cost_server_s

# Jobs that are compared at once; pair costs grow with its square. On 1,000 jobs that are short of
# VMs, 40 save 0.12 % of the cost and take twice the time.
COMPARED_MAX = 20


class VmAwareScheduler(PoolScheduler):
    """The scheduler's state. Call `decide` at each instant at which something happened.

    bound_s: a window ends at most this long after now (t_bound).  compared_max: jobs
    of one pass; more are reserved in groups, the most urgent first.
    """

    def __init__(
        self, sizes: Sequence[int], *, bound_s: float = math.inf, compared_max: int = COMPARED_MAX
    ) -> None:
        super().__init__(sizes)
        self._bound_s = bound_s
        self._compared_max = compared_max

    def open_windows(self) -> None:
        """Cancel all tentative reservations, and open all windows."""
        self._arrived = [*(one.job for one in self._cancel(self.tentative)), *self._arrived]
        self.windows = [None for _ in self.windows]
        self.deciders = [None for _ in self.windows]

    def decide(self, now_s: float) -> list[Booking]:
        """Reserve, and return the jobs that start now."""
        for free_vms in self.book.pools:
            free_vms.forget_before(now_s)
        for pool, window in enumerate(self.windows):
            if window is not None and window <= now_s:
                self._open(pool)
        if self._arrived or (self.waiting and None in self.windows):
            self._plan(now_s)
        return self._start(now_s)

    def lost(self, now_s: float, tick_s: float) -> list[PoolJob]:
        """Take out the waiting jobs that can no longer meet their deadline, and return them.

        A job with its last start before the next tick has had its last chance.
        """
        lost = [
            job
            for job in self.waiting
            if not now_s + tick_s <= job.latest_start_s
            or not (tick_s or now_s < job.latest_start_s)
        ]
        if lost:
            gone = {job.order for job in lost}
            self.waiting = [job for job in self.waiting if job.order not in gone]
        return lost

    def copy(self) -> VmAwareScheduler:
        """A scheduler of its own in the same state."""
        made = VmAwareScheduler(
            self.book.sizes, bound_s=self._bound_s, compared_max=self._compared_max
        )
        made.book = self.book.copy()
        made.running, made.tentative = dict(self.running), dict(self.tentative)
        made.waiting, made._arrived = list(self.waiting), list(self._arrived)
        made.windows, made.deciders = list(self.windows), list(self.deciders)
        return made

    # --- a pass -----------------------------------------------------------------------------------

    def _open(self, pool: int) -> None:
        self.windows[pool] = None
        self.deciders[pool] = None

    def _plan(self, now_s: float) -> None:
        new, self._arrived = self._arrived, []
        again = self._to_cancel(new, now_s)
        for pool, decider in enumerate(self.deciders):
            if decider in again:
                self._open(pool)
        jobs = [one.job for one in self._cancel(again)] + new + self.waiting
        jobs.sort(key=lambda job: job.order)
        left: list[PoolJob] = []
        for group in self._by_urgency(jobs):
            left += self._reserve(group, now_s)
        self.waiting = sorted(left, key=lambda job: job.order)

    def _reserve(self, jobs: Sequence[PoolJob], now_s: float) -> list[PoolJob]:
        """Reserve as many of these jobs as go inside the windows; returns the others."""
        one_pass = ReservationPass(self.book, jobs, now_s)
        for pool, window in enumerate(self.windows):
            if window is None:
                booking = one_pass.book_decider(pool)
                if booking is not None:
                    self.tentative[booking.job.order] = booking
                    self.deciders[pool] = booking.job.order
                    self.windows[pool] = min(booking.slot.end_s, now_s + self._bound_s)
        for booking in one_pass.book_inside(self.windows):
            self.tentative[booking.job.order] = booking
        return one_pass.left

    def _to_cancel(self, new: Iterable[PoolJob], now_s: float) -> dict[int, Booking]:
        """The tentative reservations that are made again: all, those that decide nothing, none."""
        deciding = {order: one for order, one in self.tentative.items() if order in self.deciders}
        others = {order: one for order, one in self.tentative.items() if order not in deciding}
        if None in self.windows and not self.tentative:
            return {}
        precedence = _Precedence(self.book, self.tentative, now_s)
        listed = list(new)
        if any(precedence.gain(one.job, job) > 0 for job in listed for one in deciding.values()):
            return dict(self.tentative)
        if any(
            precedence.gain(one.job, job) >= 0 for job in listed for one in self.tentative.values()
        ):
            return others
        return {}

    def _cancel(self, bookings: dict[int, Booking]) -> list[Booking]:
        cancelled = list(bookings.values())
        for one in cancelled:
            self.book.give_back(one.slot)
            del self.tentative[one.job.order]
        return cancelled

    def _by_urgency(self, jobs: list[PoolJob]) -> list[list[PoolJob]]:
        """The jobs in groups that are compared with each other, most urgent group first."""
        size = self._compared_max
        ranked = sorted(jobs, key=lambda job: (job.latest_start_s, job.order))
        return [
            sorted(ranked[start : start + size], key=lambda job: job.order)
            for start in range(0, len(ranked), size)
        ]

    def _start(self, now_s: float) -> list[Booking]:
        due = [one for one in self.tentative.values() if one.slot.start_s <= now_s]
        due.sort(key=lambda one: one.job.order)
        for one in due:
            del self.tentative[one.job.order]
            self.running[one.job.order] = one
        return due


class _Precedence:
    """Compares a new job with a tentative one, with all tentative reservations set aside."""

    def __init__(self, book: Book, tentative: dict[int, Booking], now_s: float) -> None:
        self._now_s = now_s
        self._book = book.copy()
        for one in tentative.values():
            self._book.give_back(one.slot)
        self._slots: dict[int, Slot | None] = {}

    def gain(self, first: PoolJob, second: PoolJob) -> float:
        """P(first, second) - P(second, first)."""
        one, other = self._slot(first), self._slot(second)
        if one is None or other is None:
            return 0.0
        return self._loss(second, other, one) - self._loss(first, one, other)

    def _slot(self, job: PoolJob) -> Slot | None:
        if job.order not in self._slots:
            self._slots[job.order] = self._book.best(job, self._now_s)
        return self._slots[job.order]

    def _loss(self, job: PoolJob, slot: Slot, taken: Slot) -> float:
        after = self._book.best_after(job, slot, taken, self._now_s)
        return cost_server_s(after) - slot.option.cost_server_s
