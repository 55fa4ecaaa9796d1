"""The cheapest reservation of a job in the present pools, and what booking one costs another.

P(x, y) is the least total cost of two jobs when x is reserved first (spec 5.2). A sum of pair costs
is used only in differences, and there it shrinks to losses: P(j, i) - P(i, j) = loss(i, j) -
loss(j, i), where loss(y, x) is how much dearer y gets when x is booked first. A loss is 0 unless
both want the same VMs at the same time, so that nearly all pairs cost one comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from sluice.planning.pools.free_vms import FreeVms
from sluice.planning.pools.problem import Option, PoolJob

BIG = 1e9  # in place of the cost of a job that meets no deadline; above any sum of real costs

Windows = Sequence[float | None]  # latest start by pool; None for an open window, without a limit


class Slot(NamedTuple):
    """A place for a job: an option and its start."""

    option: Option
    start_s: float
    end_s: float


class Booking(NamedTuple):
    """A job with its slot: tentative until the slot's start, then running."""

    job: PoolJob
    slot: Slot

    def saved(self) -> list[Any]:
        """The booking as JSON values."""
        option, start_s, end_s = self.slot
        return [self.job.saved(), list(option), start_s, end_s]

    @classmethod
    def restored(cls, saved: Sequence[Any]) -> Booking:
        """The booking of which `saved` gave the values."""
        job, option, start_s, end_s = saved
        return cls(PoolJob.restored(job), Slot(Option(*option), start_s, end_s))


class Book:
    """The free VMs of all pools, with running and tentative reservations taken out."""

    __slots__ = ("pools", "sizes")

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)
        self.pools = [FreeVms(size) for size in sizes]

    def copy(self) -> Book:
        """A book of its own with the same reservations."""
        made = Book(self.sizes)
        for mine, pool in zip(made.pools, self.pools, strict=True):
            mine.times, mine.free = list(pool.times), list(pool.free)
        return made

    def saved(self) -> list[dict[str, Any]]:
        """The pools as JSON values; a step without a beginning begins at None."""
        return [
            {
                "free": list(pool.free),
                "size": size,
                "times": [None if at_s == -math.inf else at_s for at_s in pool.times],
            }
            for size, pool in zip(self.sizes, self.pools, strict=True)
        ]

    @classmethod
    def restored(cls, saved: Sequence[Mapping[str, Any]]) -> Book:
        """The book of which `saved` gave the pools."""
        made = cls([one["size"] for one in saved])
        for pool, one in zip(made.pools, saved, strict=True):
            pool.times = [-math.inf if at_s is None else at_s for at_s in one["times"]]
            pool.free = list(one["free"])
        return made

    def add_pool(self, vms: int) -> None:
        """One more pool, of that many VMs, behind the others."""
        self.sizes.append(vms)
        self.pools.append(FreeVms(vms))

    def resize(self, pool: int, at_s: float, vms: int) -> None:
        """`vms` more VMs of a pool from an instant on, or fewer if negative."""
        self.sizes[pool] += vms
        self.pools[pool].add(at_s, math.inf, vms)

    def earliest_end_s(self, job: PoolJob, now_s: float) -> float | None:
        """The earliest end of the job if its deadline is no limit; None if it fits nowhere.

        What is booked stays as it is, so a job with this deadline is in time.
        """
        from_s = max(now_s, job.arrives_at_s)
        ends = [
            start_s + one.length_s
            for one in job.options
            if (start_s := self.pools[one.pool].earliest(one.vms, one.length_s, from_s, math.inf))
            is not None
        ]
        return min(ends, default=None)

    def take(self, slot: Slot) -> None:
        """Book a slot."""
        option, start_s, end_s = slot
        self.pools[option.pool].add(start_s, end_s, -option.vms)

    def give_back(self, slot: Slot) -> None:
        """Cancel a slot, or what is left of it."""
        option, start_s, end_s = slot
        self.pools[option.pool].add(start_s, end_s, option.vms)

    def best(
        self, job: PoolJob, now_s: float, windows: Windows | None = None, first: int = 0
    ) -> Slot | None:
        """The cheapest slot that meets the deadline; ties: earlier, fewer VMs, type order.

        windows: starts must be inside.  first: place of the first option that can be free; those
        before were found to be taken.
        """
        found: Slot | None = None
        from_s = max(now_s, job.arrives_at_s)
        pools, sizes = self.pools, self.sizes
        options, latest_starts = job.options, job.latest_starts_s
        for place in range(first, len(options)):
            option = options[place]
            latest_s = latest_starts[place]
            if latest_s < from_s or option.vms > sizes[option.pool]:
                continue
            if found is not None and option.level > found.option.level:
                break
            if windows is not None:
                window = windows[option.pool]
                if window is not None and window < latest_s:
                    latest_s = window
            start_s = pools[option.pool].earliest(option.vms, option.length_s, from_s, latest_s)
            if start_s is None:
                continue
            if found is None or (start_s, option.vms, option.pool) < (
                found.start_s,
                found.option.vms,
                found.option.pool,
            ):
                found = Slot(option, start_s, start_s + option.length_s)
        return found

    def holds(self, slot: Slot) -> bool:
        """Whether the slot is still free."""
        option, start_s, end_s = slot
        return self.pools[option.pool].least(start_s, end_s) >= option.vms

    def conflict(self, slot: Slot, taken: Slot) -> bool:
        """Whether a free slot would no longer be free after `taken` is booked."""
        option, start_s, end_s = slot
        other, taken_from_s, taken_to_s = taken
        if option.pool != other.pool or end_s <= taken_from_s or taken_to_s <= start_s:
            return False
        pool = self.pools[option.pool]
        both_from_s, both_to_s = max(start_s, taken_from_s), min(end_s, taken_to_s)
        return pool.least(both_from_s, both_to_s) < option.vms + other.vms

    def best_after(
        self, job: PoolJob, slot: Slot, taken: Slot, now_s: float, windows: Windows | None = None
    ) -> Slot | None:
        """The job's best slot once `taken` is booked. slot: its best slot now."""
        if not self.conflict(slot, taken):
            return slot
        pool = self.pools[taken.option.pool]
        times, free = list(pool.times), list(pool.free)
        self.take(taken)
        # One booking more makes no cheaper option free: the search goes on where it ended.
        after = self.best(job, now_s, windows, job.first_of_level[slot.option.level])
        if after is None and windows is not None:
            after = self.best(job, now_s)
        pool.times, pool.free = times, free
        return after


def reserved_vms(bookings: Iterable[Booking]) -> dict[int, int]:
    """VMs of these bookings together, by pool."""
    found: dict[int, int] = {}
    for one in bookings:
        option = one.slot.option
        found[option.pool] = found.get(option.pool, 0) + option.vms
    return found


def cost_server_s(slot: Slot | None) -> float:
    """Return what a slot costs, BIG for none."""
    return BIG if slot is None else slot.option.cost_server_s


def pair_cost(book: Book, first: PoolJob, second: PoolJob, now_s: float) -> float:
    """P(x, y): least total cost of two jobs when the first is reserved first. Source: spec (7)."""
    taken = book.best(first, now_s)
    slot = book.best(second, now_s)
    if taken is not None and slot is not None:
        slot = book.best_after(second, slot, taken, now_s)
    return cost_server_s(taken) + cost_server_s(slot)


def pair_costs(
    sizes: Sequence[int], jobs: Iterable[PoolJob], now_s: float
) -> dict[str, dict[str, float]]:
    """P(x, y) for ordered pairs of jobs, on idle pools: {x: {y: cost}}.

    There is none of two jobs of which one runs after the other: they never compete for VMs.
    """
    book = Book(sizes)
    listed = list(jobs)
    before = {job.order: job.after for job in listed}
    waits: dict[int, set[int]] = {}  # the job itself, and all that it runs after
    for order in TopologicalSorter(before).static_order():
        waits[order] = {order}.union(*(waits[one] for one in before.get(order, ())))
    return {
        one.job_id: {
            other.job_id: pair_cost(book, one, other, now_s)
            for other in listed
            if one.order not in waits[other.order] and other.order not in waits[one.order]
        }
        for one in listed
    }
