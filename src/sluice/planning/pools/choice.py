"""Why a job gets its VMs: every cluster that it could run on, at the moment it was placed.

The moment is that of its last reservation, or of its refusal. All other reservations are taken as
they were then, and those of the job itself are left out. So an answer says what the job would have
cost elsewhere, not what another order of all jobs would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from sluice.planning.pools.pool_scheduler import PoolScheduler
from sluice.planning.pools.problem import Option, PoolJob
from sluice.planning.pools.slots import Book, Booking, Slot, Windows

_INFINITE = float("inf")


class Verdict(Enum):
    """A reason for or against a cluster."""

    CHOSEN = "chosen"
    DEARER = "dearer"
    NO_BETTER = "no cheaper, and not earlier or smaller"
    AFTER_WINDOW = "starts after the reservation window"
    TOO_LATE = "VMs are free too late for the deadline"
    TOO_SLOW = "too slow for the deadline"
    AFTER_START = "VMs are free after its latest start"
    TOO_LARGE = "larger than the pool"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One cluster. start_s, end_s: the earliest that its VMs allow; None if the pool is smaller."""

    option: Option
    start_s: float | None
    end_s: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class VmChoice:
    """The clusters of a job, cheapest first, and what decided its start.

    placed_at_s: when its reservation was made, or when it was given up.
    slot: its reservation; None if it has none.  freed_by: jobs whose end frees its VMs.
    window_s: the latest start allowed in its pool then; None without a limit.
    decider: the job whose end is the end of that window.
    """

    job: PoolJob
    placed_at_s: float
    slot: Slot | None
    alternatives: tuple[Alternative, ...]
    freed_by: tuple[str, ...] = ()
    window_s: float | None = None
    decider: str | None = None


class ChoiceWatch:
    """Follows one job through a replay. choice: its last placement; None before the first.

    order: of the job.  name_of: the id of each job by its order.
    """

    def __init__(self, order: int, name_of: Callable[[int], str]) -> None:
        self.order = order
        self._name_of = name_of
        self.choice: VmChoice | None = None

    def note(self, scheduler: PoolScheduler, now_s: float) -> None:
        """Look at the scheduler after it has decided."""
        order = self.order
        booking = scheduler.tentative.get(order) or scheduler.running.get(order)
        if booking is None or self._is_known(booking.slot):
            return
        job, slot = booking
        pool = slot.option.pool
        book = scheduler.book.copy()
        book.give_back(slot)
        decider = scheduler.deciders[pool]
        self.choice = VmChoice(
            job=job,
            placed_at_s=now_s,
            slot=slot,
            alternatives=alternatives(book, job, now_s, slot, scheduler.windows),
            freed_by=tuple(_freed_by(scheduler, booking)),
            window_s=scheduler.windows[pool],
            decider=None if decider is None else self._name_of(decider),
        )

    def note_lost(self, job: PoolJob, book: Book, now_s: float) -> None:
        """A job was refused, or has lost its last chance; it may be another one."""
        if job.order == self.order:
            found = alternatives(book, job, now_s, None, [None for _ in book.sizes])
            self.choice = VmChoice(job=job, placed_at_s=now_s, slot=None, alternatives=found)

    def _is_known(self, slot: Slot) -> bool:
        """Whether it is the reservation of the present choice; a running job only gets longer."""
        old = None if self.choice is None else self.choice.slot
        return old is not None and (old.option, old.start_s) == (slot.option, slot.start_s)


class ChoiceWatches:
    """Follows several jobs through one replay."""

    def __init__(self, watches: Sequence[ChoiceWatch]) -> None:
        self._by_order = {one.order: one for one in watches}

    def note(self, scheduler: PoolScheduler, now_s: float) -> None:
        """Look at the scheduler after it has decided."""
        for order in [*scheduler.tentative, *scheduler.running]:
            if order in self._by_order:
                self._by_order[order].note(scheduler, now_s)

    def note_lost(self, job: PoolJob, book: Book, now_s: float) -> None:
        """A job was refused, or has lost its last chance."""
        if job.order in self._by_order:
            self._by_order[job.order].note_lost(job, book, now_s)

    @property
    def choices(self) -> dict[int, VmChoice]:
        """The last placement of each job, by its order."""
        return {
            order: one.choice for order, one in self._by_order.items() if one.choice is not None
        }


def _freed_by(scheduler: PoolScheduler, booking: Booking) -> Iterator[str]:
    job, slot = booking
    if slot.start_s <= job.arrives_at_s:
        return
    bookings: list[Booking] = [*scheduler.running.values(), *scheduler.tentative.values()]
    for one in sorted(bookings, key=lambda it: it.job.order):
        if one.slot.option.pool == slot.option.pool and one.slot.end_s == slot.start_s:
            yield one.job.job_id


def alternatives(
    book: Book, job: PoolJob, now_s: float, chosen: Slot | None, windows: Windows
) -> tuple[Alternative, ...]:
    """Every cluster of a job, with the earliest start in the book and a verdict."""
    from_s = max(now_s, job.arrives_at_s)
    found = []
    for option, latest_s in zip(job.options, job.latest_starts_s, strict=True):
        pool = book.pools[option.pool]
        start_s = pool.earliest(option.vms, option.length_s, from_s, _INFINITE)
        end_s = None if start_s is None else start_s + option.length_s
        window = windows[option.pool]
        limit_s = _INFINITE if window is None else window
        verdict = _verdict(option, start_s, latest_s, from_s, limit_s, chosen)
        is_lost = verdict is Verdict.TOO_LATE or verdict is Verdict.TOO_SLOW
        if is_lost and end_s is not None and end_s <= job.deadline_at_s:
            verdict = Verdict.AFTER_START  # the job had to start by an instant of its own
        found.append(Alternative(option, start_s, end_s, verdict))
    return tuple(found)


def _verdict(
    option: Option,
    start_s: float | None,
    latest_s: float,
    from_s: float,
    window_s: float,
    chosen: Slot | None,
) -> Verdict:
    if start_s is None:
        return Verdict.TOO_LARGE
    if latest_s < from_s:
        return Verdict.TOO_SLOW
    if start_s > latest_s:
        return Verdict.TOO_LATE
    if chosen is not None and option == chosen.option:
        return Verdict.CHOSEN
    if chosen is not None and option.level > chosen.option.level:
        return Verdict.DEARER
    return Verdict.AFTER_WINDOW if start_s > window_s else Verdict.NO_BETTER
