"""All undominated plans of a workload, by merging the staircases of its jobs.

If the makespan is at most T, each job can choose any of its entries with time at most T. The budget
is a sum, so each job takes its cheapest one. Therefore one sweep over the times of all entries
finds every undominated plan, in O(n log n) for n entries; no search is needed.

Budgets are summed exactly, as ratios of integers, and rounded once. A running float sum would
depend on the order of the jobs and on earlier steps of the sweep, and could invent or hide plans.
Source: pareto, section 4.1.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sluice.planning.pareto.exact_budget import ExactBudget
from sluice.planning.pareto.precedence import Precedence
from sluice.planning.pareto.pricing import PlanEntry
from sluice.planning.pareto.rounding import ROUNDING, is_below
from sluice.planning.pareto.staircase import Staircase

PlanEntries = tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One entry for each job, in job order.

    waves: positions of the jobs that run together, if they run in waves.
    precedence: which jobs wait for which, if any does.
    """

    makespan_s: float
    budget_usd: float
    entries: PlanEntries
    waves: tuple[tuple[int, ...], ...] | None = None
    precedence: Precedence | None = None

    @property
    def vms(self) -> int:
        """Most VMs that are rented at once."""
        return max(sum(self.entries[job].vms for job in jobs) for jobs in self.at_once())

    def at_once(self) -> tuple[tuple[int, ...], ...]:
        """Sets of jobs that run at the same time; every such set is in one of them."""
        if self.waves:
            return self.waves
        if self.precedence:
            return tuple(self.precedence.running([entry.time_s for entry in self.entries]))
        return (tuple(range(len(self.entries))),)

    def starts_s(self) -> list[float]:
        """When each job starts, in job order, seconds after the start of the plan."""
        if self.precedence:
            return self.precedence.starts_s([entry.time_s for entry in self.entries])
        starts_s = [0.0] * len(self.entries)
        now_s = 0.0
        for wave in self.waves or ():
            for job in wave:
                starts_s[job] = now_s
            now_s = math.fsum((now_s, max(self.entries[job].time_s for job in wave)))
        return starts_s

    def ends_s(self) -> list[float]:
        """When each job ends, in job order: all start together, in waves, or one after another."""
        starts_s = self.starts_s()
        return [one + entry.time_s for one, entry in zip(starts_s, self.entries, strict=True)]


@dataclass(frozen=True, slots=True)
class Frontier:
    """Undominated plans, the fastest first.

    makespans_s: rising.  budgets_usd: falling.  make: builds the plan at a position on demand,
    because a thousand jobs have ten thousand plans and a user looks at few of them.
    is_sample: whether there may be more undominated plans between these.
    times_s: of each job's entries, rising, if a job takes the last of them within the makespan.
    """

    makespans_s: tuple[float, ...]
    budgets_usd: tuple[float, ...]
    make: Callable[[int], Plan]
    is_sample: bool = False
    times_s: Sequence[Sequence[float]] | None = None

    def __len__(self) -> int:
        return len(self.makespans_s)

    def __reduce__(self) -> tuple[object, ...]:
        """With every plan built: what builds them cannot go to another process."""
        plans = tuple(self.make(number) for number in range(len(self)))
        more = (self.is_sample, self.times_s)
        return Frontier, (self.makespans_s, self.budgets_usd, plans.__getitem__, *more)

    def plan(self, number: int) -> Plan:
        """Return the plan at a position; position 0 is the fastest."""
        return self.make(number)

    def points(self) -> Iterator[tuple[float, float]]:
        """Yield (makespan_s, budget_usd) of each plan."""
        return zip(self.makespans_s, self.budgets_usd, strict=True)

    def at(self, positions: Sequence[int]) -> Frontier:
        """Return a frontier of the plans at these positions, in this order."""
        make = self.make
        return Frontier(
            tuple(self.makespans_s[position] for position in positions),
            tuple(self.budgets_usd[position] for position in positions),
            lambda number: make(positions[number]),
            self.is_sample,
            self.times_s,
        )


def plan_of(entries: PlanEntries, precedence: Precedence | None = None) -> Plan:
    """Return the plan with these entries. Source: pareto (10), (14)."""
    times_s = [entry.time_s for entry in entries]
    ends_s = precedence.ends_s(times_s) if precedence else times_s
    return Plan(max(ends_s), budget_usd(entries), entries, precedence=precedence or None)


def budget_usd(entries: Sequence[PlanEntry]) -> float:
    """Rent and I/O of all jobs, summed exactly and rounded once. Source: pareto (14)."""
    return math.fsum(part for entry in entries for part in (entry.vm_usd, entry.io_usd))


def merge_staircases(staircases: Sequence[Staircase]) -> Frontier:
    """Return the exact frontier; empty if some job has no entry."""
    makespans_s: list[float] = []
    budgets_usd: list[float] = []
    if all(staircases):
        for time_s, usd in _swept(staircases):
            if not budgets_usd or is_below(usd, budgets_usd[-1]):
                makespans_s.append(time_s)
                budgets_usd.append(usd)
    times_s = [[entry.time_s for entry in staircase] for staircase in staircases]

    def make(number: int) -> Plan:
        makespan_s = makespans_s[number]
        return plan_of(
            tuple(
                staircase[bisect_right(own_s, makespan_s) - 1]
                for staircase, own_s in zip(staircases, times_s, strict=True)
            )
        )

    return Frontier(tuple(makespans_s), tuple(budgets_usd), make, times_s=times_s)


def _swept(staircases: Sequence[Staircase]) -> Iterator[tuple[float, float]]:
    """Yield (makespan, least budget) at every time at which some job gets a new entry."""
    events = sorted(
        (entry.time_s, job, step)
        for job, staircase in enumerate(staircases)
        for step, entry in enumerate(staircase)
    )
    budget = ExactBudget()
    waiting = len(staircases)
    for (time_s, job, step), (next_s, _, _) in pairwise([*events, (math.inf, 0, 0)]):
        staircase = staircases[job]
        if step:
            budget.replace(staircase[step - 1], staircase[step])
        else:
            budget.add(staircase[step])
            waiting -= 1
        if not waiting and next_s > time_s * (1 + ROUNDING):
            yield time_s, budget.total_usd
