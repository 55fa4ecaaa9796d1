"""One pass of reservations over the jobs that want VMs now: deciders first, then the others.

The next job is the one whose deferral costs the others most: the largest sum over j of loss(i, j) -
loss(j, i), where loss(y, x) is how much dearer y gets if x is booked first (see `slots`).

Nearly all losses are 0, and most are known to be 0 without looking at the pair. The room of a job
is how many VMs a single booking may take anywhere while its cheapest option still fits somewhere.
It is found by asking for that many VMs more than the option has. A booking of at most `room` VMs
costs the job nothing, and lowers its room by at most the booking's VMs. So a job is looked at again
only when its room falls below the largest booking that is left, and pairs are compared only for the
few jobs that are that tight. The result is that of comparing all pairs, as a test shows. Source:
Cura, spec section 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sluice.planning.pools.free_vms import latest_start_s
from sluice.planning.pools.problem import PoolJob
from sluice.planning.pools.slots import BIG, Book, Booking, Slot, Windows, cost_server_s

_ROOMS = (16, 4, 1)  # times the largest booking: first guesses of a room


class _Contender:
    """A job of the pass. slot: its best slot; stale if only its option is still right.

    is_inside: the slot is inside the windows.  room: see the module; below 0 if not known.
    """

    __slots__ = ("is_inside", "is_stale", "job", "room", "score", "slot")

    def __init__(self, job: PoolJob) -> None:
        self.job = job
        self.slot: Slot | None = None
        self.is_inside = False
        self.is_stale = True
        self.room = -1
        self.score: list[float] = []

    @property
    def pool(self) -> int:
        """The pool of its slot; -1 without one."""
        return -1 if self.slot is None else self.slot.option.pool

    @property
    def vms(self) -> int:
        """VMs of its slot; 0 without one."""
        return 0 if self.slot is None else self.slot.option.vms


class ReservationPass:
    """Books slots for jobs in the book. jobs: in order of the input; `left` are not yet booked."""

    def __init__(self, book: Book, jobs: Sequence[PoolJob], now_s: float) -> None:
        self._book = book
        self._now_s = now_s
        self._contenders = [_Contender(job) for job in jobs]
        self._windows: Windows | None = None
        self._is_set_up = False

    @property
    def left(self) -> list[PoolJob]:
        """The jobs without a booking."""
        return [one.job for one in self._contenders]

    def book_decider(self, pool: int) -> Booking | None:
        """Book the job that decides the window of a pool; None if no job should.

        Only jobs that are best run in this pool come into question (E9), and only those that leave
        every other job a slot.
        """
        self._set_up(None)
        candidates = [one for one in self._contenders if one.pool == pool]
        shut_out = self._compare(pool)
        candidates = [one for one in candidates if id(one) not in shut_out]
        return self._book_first(candidates)

    def book_inside(self, windows: Windows) -> Iterator[Booking]:
        """Book all jobs that can start inside the windows, one after the other."""
        self._is_set_up = False
        while True:
            self._set_up(windows)
            candidates = [one for one in self._contenders if one.is_inside]
            if not candidates:
                return
            for pool in {one.pool for one in candidates}:
                self._compare(pool)
            chosen = _first(candidates)
            self._freshen(chosen)
            assert chosen.slot is not None, "it is inside"
            booking = self._guarded(chosen)
            self._take(booking)
            yield booking

    # --- choosing ---------------------------------------------------------------------------------

    def _book_first(self, candidates: Sequence[_Contender]) -> Booking | None:
        if not candidates:
            return None
        chosen = _first(candidates)
        self._freshen(chosen)
        assert chosen.slot is not None, "it has a slot in this pool"
        booking = Booking(chosen.job, chosen.slot)
        self._take(booking)
        return booking

    def _compare(self, pool: int) -> set[int]:
        """Score the jobs of a pool against each other.

        Returns the (Python) ids of those whose booking leaves another without a slot.
        """
        inside = [one for one in self._contenders if one.pool == pool]
        for one in inside:
            one.score = []
        shut_out: set[int] = set()
        top = max((one.vms for one in inside), default=0)
        for tight in inside:
            if tight.room < top:
                self._find_room(tight, top)
            if tight.room >= top:
                continue
            for other in inside:
                if other is not tight and other.vms > tight.room:
                    loss = self._loss(tight, other)
                    if loss:
                        tight.score.append(loss)
                        other.score.append(-loss)
                    if loss > BIG / 2:
                        shut_out.add(id(other))
        return shut_out

    def _loss(self, one: _Contender, taken: _Contender) -> float:
        """How much dearer a job gets if the other is booked first."""
        self._freshen(one)
        self._freshen(taken)
        assert one.slot is not None, "it is compared in the pool of its slot"
        assert taken.slot is not None, "as above"
        after = self._book.best_after(one.job, one.slot, taken.slot, self._now_s, self._windows)
        return cost_server_s(after) - one.slot.option.cost_server_s

    def _guarded(self, chosen: _Contender) -> Booking:
        """The chosen booking, or that of a job that would lose its last slot to it (E8)."""
        slot = chosen.slot
        assert slot is not None, "it was chosen for its slot"
        pool, vms = slot.option.pool, slot.option.vms
        threatened = [
            one
            for one in self._contenders
            if one is not chosen and one.pool == pool and one.room < vms
        ]
        for one in sorted(threatened, key=lambda it: (it.job.deadline_at_s, it.job.order)):
            theirs = self._book.best(one.job, self._now_s)
            if theirs is None:
                continue
            if self._book.best_after(one.job, theirs, slot, self._now_s) is not None:
                continue
            self._book.take(theirs)
            keeps = self._book.best(chosen.job, self._now_s) is not None
            self._book.give_back(theirs)
            if keeps:
                return Booking(one.job, theirs)
        return Booking(chosen.job, slot)

    # --- keeping slots and rooms ------------------------------------------------------------------

    def _set_up(self, windows: Windows | None) -> None:
        if self._is_set_up:
            return
        self._is_set_up, self._windows = True, windows
        for one in self._contenders:
            self._find_slot(one)

    def _find_slot(self, one: _Contender) -> None:
        book, job = self._book, one.job
        slot = None
        if self._windows is not None:
            slot = book.best(job, self._now_s, self._windows)
        one.is_inside = slot is not None
        one.slot = book.best(job, self._now_s) if slot is None else slot
        one.is_stale = False
        one.room = 0 if one.slot is not None else -1

    def _freshen(self, one: _Contender) -> None:
        """Give a stale slot its start again: the option still fits, perhaps later."""
        if one.is_stale:
            room = one.room
            self._find_slot(one)
            one.room = room

    def _find_room(self, one: _Contender, top: int) -> None:
        """The largest room that was asked for and found, at least 0."""
        self._freshen(one)
        assert one.slot is not None, "it is asked of jobs with a slot"
        option = one.slot.option
        latest_s = min(latest_start_s(one.job.deadline_at_s, option.length_s), one.job.start_by_s)
        window = self._windows[option.pool] if self._windows is not None else None
        if one.is_inside and window is not None:
            latest_s = min(latest_s, window)
        from_s = max(self._now_s, one.job.arrives_at_s)
        pool = self._book.pools[option.pool]
        low = 0
        for times in _ROOMS:
            vms = option.vms + times * top
            if pool.earliest(vms, option.length_s, from_s, latest_s) is not None:
                one.room = times * top
                return
        high = top - 1  # not found for top
        while low < high:
            middle = (low + high + 1) // 2
            vms = option.vms + middle
            if pool.earliest(vms, option.length_s, from_s, latest_s) is not None:
                low = middle
            else:
                high = middle - 1
        one.room = low

    def _take(self, booking: Booking) -> None:
        self._book.take(booking.slot)
        self._contenders = [one for one in self._contenders if one.job is not booking.job]
        pool, vms = booking.slot.option.pool, booking.slot.option.vms
        for one in self._contenders:
            if one.pool != pool:
                continue
            if one.room >= vms:
                one.room -= vms
                one.is_stale = True
            else:
                self._find_slot(one)


def _first(candidates: Sequence[_Contender]) -> _Contender:
    """The job with the highest score; ties: the first of the input."""
    best, found = -math.inf, candidates[0]
    for one in candidates:
        score = math.fsum(one.score)
        if score > best:
            best, found = score, one
    return found
