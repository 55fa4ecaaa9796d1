"""Starts of jobs that may wait only a given time for their VMs after the jobs before them.

Such a job may need the one before it to start later than it could, so that the first free VMs are
not always right. The search keeps a list of rules "this job starts at least so long after that
one" (the time may be negative) and takes the earliest starts that they allow. While these break a
limit, it tries each rule of which every schedule in time must keep one: for jobs that together
exceed their pool, that one ends before another starts; for a job that waits too long, that one of
the jobs before it starts later. Source: De Reyck and Herroelen, "A branch-and-bound procedure for
the resource-constrained project scheduling problem with generalized precedence relations",
European Journal of Operational Research 111 (1998), sections 2 and 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sluice.planning.pools.problem import Option, PoolJob
from sluice.planning.pools.slots import Slot

_ROUNDING = 1e-9  # relative; starts that differ by less are equal
_PAIRS_PER_STEP = 40  # of jobs that are compared


class _Rule(NamedTuple):
    """Job `after` starts at least `least_s` after job `before` starts. Both by order."""

    before: int
    after: int
    least_s: float


def starts_with_bounded_waits(
    chosen: Sequence[tuple[PoolJob, Option]],
    sizes: Sequence[int],
    latest_s: Mapping[int, float],
    take_steps: Callable[[int], None],
) -> dict[int, Slot] | None:
    """The slot of each job by its order, all in time; None if there are none.

    chosen: the jobs, each with its option. Others that they run after are left out of account.
    latest_s: the last start of each, by order.  take_steps: called before each set of rules
    is tried, with the steps of a plain search that take as long.
    """
    starts = _Starts(chosen, sizes, latest_s, take_steps)
    rules = [
        _Rule(before, order, starts.options[before].length_s)
        for order, job in starts.jobs.items()
        for before in job.after
        if before in starts.jobs
    ]
    found = starts.search(rules)
    if found is None:
        return None
    return {
        order: Slot(option, found[order], found[order] + option.length_s)
        for order, option in starts.options.items()
    }


class _Starts:
    """The jobs and their limits."""

    def __init__(
        self,
        chosen: Sequence[tuple[PoolJob, Option]],
        sizes: Sequence[int],
        latest_s: Mapping[int, float],
        take_steps: Callable[[int], None],
    ) -> None:
        self.jobs = {job.order: job for job, _ in chosen}
        self.options = {job.order: option for job, option in chosen}
        self._sizes = sizes
        self._latest_s = latest_s
        self._take_steps = take_steps

    def search(self, rules: list[_Rule]) -> dict[int, float] | None:
        """The starts under these rules, and under more where they need more."""
        left = [rules]
        steps = 1 + len(self.jobs) ** 2 // _PAIRS_PER_STEP
        while left:
            self._take_steps(steps)
            tried = left.pop()
            starts = self._earliest(tried)
            if starts is None:
                continue
            choice = self._too_late(starts) or self._too_many(starts)
            if choice is None:
                return starts
            left += [[*tried, rule] for rule in reversed(choice)]
        return None

    def _earliest(self, rules: Sequence[_Rule]) -> dict[int, float] | None:
        """The earliest start of each job; None if one is too late, or the rules contradict."""
        starts = {order: job.arrives_at_s for order, job in self.jobs.items()}
        for _ in range(len(starts) + 1):
            is_settled = True
            for before, after, least_s in rules:
                start_s = starts[before] + least_s
                if _is_above(start_s, starts[after]):
                    starts[after] = start_s
                    is_settled = False
            if any(starts[order] > latest_s for order, latest_s in self._latest_s.items()):
                return None
            if is_settled:
                return starts
        return None  # each round puts some job off: a circle of rules

    def _too_late(self, starts: Mapping[int, float]) -> list[_Rule] | None:
        """Rules for the first job that starts too long after those before it."""
        for order, job in self.jobs.items():
            if job.start_within_s == math.inf or not self.jobs.keys() >= set(job.after):
                continue
            last_s = max(job.arrives_at_s, *map(self._end_s(starts), job.after))
            if _is_above(starts[order], last_s + job.start_within_s):
                return [
                    _Rule(order, before, -self.options[before].length_s - job.start_within_s)
                    for before in job.after
                ]
        return None

    def _too_many(self, starts: Mapping[int, float]) -> list[_Rule] | None:
        """Rules for the first jobs that together hold more VMs than their pool has."""
        end_s = self._end_s(starts)
        for order in sorted(starts, key=lambda order: (starts[order], order)):
            at_s, pool = starts[order], self.options[order].pool
            running = [
                other
                for other, option in self.options.items()
                if option.pool == pool
                and not _is_above(starts[other], at_s)
                and _is_above(end_s(other), at_s)
            ]
            few = list(self._fewest_above(running, self._sizes[pool]))
            if few:
                return [
                    _Rule(first, second, self.options[first].length_s)
                    for first, second in itertools.permutations(few, 2)
                ]
        return None

    def _fewest_above(self, running: Sequence[int], vms: int) -> Iterator[int]:
        """The largest jobs that together need more than `vms`; nothing if all need no more."""
        if sum(self.options[order].vms for order in running) <= vms:
            return
        for order in sorted(running, key=lambda order: (-self.options[order].vms, order)):
            yield order
            vms -= self.options[order].vms
            if vms < 0:
                return

    def _end_s(self, starts: Mapping[int, float]) -> Callable[[int], float]:
        return lambda order: starts[order] + self.options[order].length_s


def _is_above(at_s: float, limit_s: float) -> bool:
    return at_s > limit_s + _ROUNDING * max(1.0, abs(limit_s))
