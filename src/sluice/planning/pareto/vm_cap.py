"""All undominated plans when all jobs together may use only so many VMs at once.

For each makespan T at which some job gains an entry: the cheapest entries of at most T that fit,
by a dynamic program over jobs and VMs in use (a knapsack with one choice from each group). Most T
are settled without it: a price on every VM beyond the cap gives a bound from below (Lagrange), and
where that is no cheaper than what is faster, nothing is to be found. Exact.
Source: pareto, section 4.5.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sluice.planning.pareto.frontier import Frontier, Plan, PlanEntries, plan_of
from sluice.planning.pareto.pricing import JobPricing, PlanEntry
from sluice.planning.pareto.problem import ParetoProblem
from sluice.planning.pareto.rounding import is_below
from sluice.planning.pareto.staircase import Staircase, job_entries

if TYPE_CHECKING:
    from numpy import float64, int32
    from numpy.typing import NDArray

_HALVINGS = 40


def frontier_under_cap(problem: ParetoProblem, vms_max: int) -> Frontier:
    """The exact frontier with at most `vms_max` VMs in use. Empty where no plan fits."""
    staircases = [
        staircase_in_vms(job_entries(problem, JobPricing(problem, number), vms_max))
        for number in range(len(problem.jobs))
    ]
    plans: list[Plan] = []
    for entries in _cheapest_at_each_time(staircases, vms_max):
        plan = plan_of(entries)
        if not plans or is_below(plan.budget_usd, plans[-1].budget_usd):
            plans.append(plan)
    return Frontier(
        tuple(plan.makespan_s for plan in plans),
        tuple(plan.budget_usd for plan in plans),
        plans.__getitem__,
    )


class JobChoices:
    """What a job may take by some time: entries by rising VMs and falling cost."""

    def __init__(self) -> None:
        self.vms: list[int] = []
        self.usd: list[float] = []
        self.entries: list[PlanEntry] = []

    def offer(self, entry: PlanEntry) -> bool:
        """Take it, unless one of at most as many VMs costs no more; tells whether it did."""
        usd = entry.cost_usd
        place = bisect_right(self.vms, entry.vms)
        if place and not is_below(usd, self.usd[place - 1]):
            return False
        first = end = bisect_left(self.vms, entry.vms)
        while end < len(self.usd) and not is_below(self.usd[end], usd):
            end += 1
        self.vms[first:end] = [entry.vms]
        self.usd[first:end] = [usd]
        self.entries[first:end] = [entry]
        return True

    def priced_usd(self, vm_usd: float) -> float:
        """The least cost if every VM costs so much more."""
        return min(usd + vm_usd * vms for usd, vms in zip(self.usd, self.vms, strict=True))

    def priced_vms(self, vm_usd: float) -> int:
        """How many VMs that takes, the fewest of equals."""
        priced = zip(self.usd, self.vms, strict=True)
        return min((usd + vm_usd * vms, vms) for usd, vms in priced)[1]


def staircase_in_vms(entries: Iterator[PlanEntry]) -> Staircase:
    """The entries that no other beats in time, cost and VMs, all three, by rising time."""
    options = JobChoices()
    in_time = sorted(entries, key=lambda entry: (entry.time_s, entry.cost_usd, entry.vms))
    return tuple(entry for entry in in_time if options.offer(entry))


def _cheapest_at_each_time(staircases: Sequence[Staircase], vms_max: int) -> Iterator[PlanEntries]:
    """For each time at which more is possible than before, the cheapest entries that fit."""
    events = sorted(
        (entry.time_s, job, step)
        for job, staircase in enumerate(staircases)
        for step, entry in enumerate(staircase)
    )
    options = [JobChoices() for _ in staircases]
    bound = _Bound(options, vms_max)
    lowest_usd = math.inf
    for _, group in groupby(events, key=lambda event: event[0]):
        for _, job, step in group:
            entry = staircases[job][step]
            if options[job].offer(entry):
                bound.gained(job, entry)
        if not bound.is_open or not is_below(bound.usd(), lowest_usd):
            continue
        if not bound.is_slack:
            bound.sharpen()
            if not is_below(bound.usd(), lowest_usd):
                continue
        best = cheapest(options, vms_max)
        lowest_usd = math.fsum(entry.cost_usd for entry in best)
        yield best


class _Bound:
    """No choice that fits costs less than the cheapest one with a price on VMs beyond the cap."""

    def __init__(self, options: Sequence[JobChoices], vms_max: int) -> None:
        self._options = options
        self._vms_max = vms_max
        self._vm_usd = 0.0
        self._priced_usd = [math.inf] * len(options)
        self._least = [vms_max + 1] * len(options)

    @property
    def is_open(self) -> bool:
        """Every job has an option, and the least of all fit together."""
        return sum(self._least) <= self._vms_max

    @property
    def is_slack(self) -> bool:
        """The cheapest of all fit together, so that the cap does not count."""
        return sum(own.vms[-1] for own in self._options) <= self._vms_max

    def gained(self, job: int, entry: PlanEntry) -> None:
        """A job has gained an option; what that replaced had been no better at any price."""
        priced_usd = entry.cost_usd + self._vm_usd * entry.vms
        self._priced_usd[job] = min(self._priced_usd[job], priced_usd)
        self._least[job] = min(self._least[job], entry.vms)

    def look_again(self, job: int) -> None:
        """All options of a job have another price."""
        self._priced_usd[job] = self._options[job].priced_usd(self._vm_usd)
        self._least[job] = self._options[job].vms[0]

    def usd(self) -> float:
        """The bound, a little lower for what summing in another order may change."""
        total_usd = math.fsum(self._priced_usd) - self._vm_usd * self._vms_max
        return total_usd - 1e-9 * abs(total_usd)

    def sharpen(self) -> None:
        """Find the price of a VM for which the bound is highest: where as many are taken as fit."""
        low, high = 0.0, 1.0
        while self._taken(high) > self._vms_max:
            high *= 4.0
        if self._taken(low) <= self._vms_max:
            high = low
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._taken(middle) > self._vms_max:
                low = middle
            else:
                high = middle
        self._vm_usd = high
        for job in range(len(self._options)):
            self.look_again(job)

    def _taken(self, vm_usd: float) -> int:
        return sum(own.priced_vms(vm_usd) for own in self._options)


def cheapest(options: Sequence[JobChoices], vms_max: int) -> PlanEntries:
    """One option of each job, the cheapest together that fit; the least of each do."""
    if sum(own.vms[-1] for own in options) <= vms_max:
        return tuple(own.entries[-1] for own in options)
    spare = vms_max - sum(own.vms[0] for own in options)
    taken: list[PlanEntry] = []
    for own, choices in zip(reversed(options), reversed(_choices(options, spare)), strict=True):
        number = int(choices[spare])
        taken.append(own.entries[number])
        spare -= own.vms[number] - own.vms[0]
    return tuple(reversed(taken))


def _choices(options: Sequence[JobChoices], spare: int) -> list[NDArray[int32]]:
    """For each job, by VMs that it and those before it may use beyond their least: its option."""
    import numpy as np

    best: NDArray[float64] = np.zeros(spare + 1)
    told = []
    for own in options:
        least = best + own.usd[0]
        choices = np.zeros(spare + 1, dtype=np.int32)
        for number in range(1, len(own.vms)):
            extra = own.vms[number] - own.vms[0]
            if extra > spare:
                break
            usd = best[: spare + 1 - extra] + own.usd[number]
            is_better = usd < least[extra:]
            np.copyto(least[extra:], usd, where=is_better)
            np.copyto(choices[extra:], number, where=is_better)
        told.append(choices)
        best = least
    return told
