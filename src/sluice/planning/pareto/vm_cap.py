"""The exact frontier of plans under a cap on the VMs of all jobs together.

For each makespan T at which some job gets a new entry, the cheapest entries with time at most T
that fit the cap are found by dynamic programming over jobs and VMs. This is a multiple-choice
knapsack; it costs O(entries * cap) for each T.

Most T need no dynamic program. A price on every VM above the cap gives a lower bound on the budget
(Lagrangian relaxation). If this bound is not below the budget of a faster plan, then no plan at T
can be on the frontier. The bound only skips work, so the result stays exact.
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
    """Return the exact frontier with at most `vms_max` VMs in use; empty if no plan fits."""
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
    """Entries of one job up to some time, by rising VMs and falling cost."""

    def __init__(self) -> None:
        self.vms: list[int] = []
        self.usd: list[float] = []
        self.entries: list[PlanEntry] = []

    def offer(self, entry: PlanEntry) -> bool:
        """Add the entry unless one with at most its VMs costs no more. Returns whether added."""
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
        """Least cost if every VM costs `vm_usd` more."""
        return min(usd + vm_usd * vms for usd, vms in zip(self.usd, self.vms, strict=True))

    def priced_vms(self, vm_usd: float) -> int:
        """VMs of the cheapest entry if every VM costs `vm_usd` more; of equals the fewest."""
        priced = zip(self.usd, self.vms, strict=True)
        return min((usd + vm_usd * vms, vms) for usd, vms in priced)[1]


def staircase_in_vms(entries: Iterator[PlanEntry]) -> Staircase:
    """The entries that are undominated in time, cost and VMs together, by rising time."""
    options = JobChoices()
    in_time = sorted(entries, key=lambda entry: (entry.time_s, entry.cost_usd, entry.vms))
    return tuple(entry for entry in in_time if options.offer(entry))


def _cheapest_at_each_time(staircases: Sequence[Staircase], vms_max: int) -> Iterator[PlanEntries]:
    """Yield, for each time with a new entry that can matter, the cheapest entries that fit."""
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
            # An entry that a cheaper and smaller one replaces leaves the bound as it is.
            if options[job].offer(entry):
                bound.add_choice(job, entry)
        if not bound.is_open or not is_below(bound.usd(), lowest_usd):
            continue
        if not bound.is_slack:
            bound.sharpen()
            if not is_below(bound.usd(), lowest_usd):
                continue
        # Only here the dynamic program runs: a plan at this time may be on the frontier.
        best = cheapest(options, vms_max)
        lowest_usd = math.fsum(entry.cost_usd for entry in best)
        yield best


class _Bound:
    """Lagrangian lower bound on the budget of entries that fit the cap.

    For any VM price >= 0, the least priced cost of all jobs minus price * cap is such a bound: a
    choice that fits pays at most price * cap for its VMs.
    """

    def __init__(self, options: Sequence[JobChoices], vms_max: int) -> None:
        self._options = options
        self._vms_max = vms_max
        self._vm_usd = 0.0
        self._priced_usd = [math.inf] * len(options)
        self._least = [vms_max + 1] * len(options)

    @property
    def is_open(self) -> bool:
        """Whether every job has an entry, and the smallest entries fit together."""
        return sum(self._least) <= self._vms_max

    @property
    def is_slack(self) -> bool:
        """Whether the cheapest entries of all jobs fit, so that the cap has no effect."""
        return sum(choices.vms[-1] for choices in self._options) <= self._vms_max

    def add_choice(self, job: int, entry: PlanEntry) -> None:
        """Update for a new entry of a job. The entries it replaced were no better at any price."""
        priced_usd = entry.cost_usd + self._vm_usd * entry.vms
        self._priced_usd[job] = min(self._priced_usd[job], priced_usd)
        self._least[job] = min(self._least[job], entry.vms)

    def reprice(self, job: int) -> None:
        """Recompute the values of a job after the VM price changed."""
        self._priced_usd[job] = self._options[job].priced_usd(self._vm_usd)
        self._least[job] = self._options[job].vms[0]

    def usd(self) -> float:
        """The bound, lowered slightly to allow for rounding of sums in another order."""
        total_usd = math.fsum(self._priced_usd) - self._vm_usd * self._vms_max
        return total_usd - 1e-9 * abs(total_usd)

    def sharpen(self) -> None:
        """Find the VM price with the highest bound, by bisection.

        The bound is concave in the price. Its slope is the VMs taken minus the cap, so the maximum
        is at the price at which the taken VMs just fit.
        """
        low, high = 0.0, 1.0
        # Entries of few VMs are taken at some price, because their smallest ones fit (`is_open`).
        while self._taken(high) > self._vms_max:
            high *= 4.0
        # Free VMs already fit, so the bound is highest at price 0.
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
            self.reprice(job)

    def _taken(self, vm_usd: float) -> int:
        return sum(choices.priced_vms(vm_usd) for choices in self._options)


def cheapest(options: Sequence[JobChoices], vms_max: int) -> PlanEntries:
    """Return one entry per job: the cheapest set that fits. The smallest entries must fit."""
    if sum(choices.vms[-1] for choices in options) <= vms_max:
        return tuple(choices.entries[-1] for choices in options)
    spare = vms_max - sum(choices.vms[0] for choices in options)
    taken: list[PlanEntry] = []
    positions = _best_positions(options, spare)
    # From the last job back: what it does not take of the spare VMs is left for those before it.
    for choices, by_spare in zip(reversed(options), reversed(positions), strict=True):
        number = int(by_spare[spare])
        taken.append(choices.entries[number])
        spare -= choices.vms[number] - choices.vms[0]
    return tuple(reversed(taken))


def _best_positions(options: Sequence[JobChoices], spare: int) -> list[NDArray[int32]]:
    """Dynamic program over the spare VMs, those above the smallest entries of all jobs.

    Returns for each job the position of its entry, by the spare VMs that it and the jobs before
    it may use.
    """
    import numpy as np

    best: NDArray[float64] = np.zeros(spare + 1)
    positions = []
    for choices in options:
        least = best + choices.usd[0]
        by_spare = np.zeros(spare + 1, dtype=np.int32)
        for number in range(1, len(choices.vms)):
            extra = choices.vms[number] - choices.vms[0]
            if extra > spare:
                break
            usd = best[: spare + 1 - extra] + choices.usd[number]
            # Strictly, so that of equal costs the entry with fewer VMs stays.
            is_better = usd < least[extra:]
            np.copyto(least[extra:], usd, where=is_better)
            np.copyto(by_spare[extra:], number, where=is_better)
        positions.append(by_spare)
        best = least
    return positions
