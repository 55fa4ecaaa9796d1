"""The gain that a member could have by reporting other demands than its own.

All reports are tried where there are few enough: each step's report is one of some candidates.
Otherwise the search changes one step at a time, and then two neighbouring steps, for as long as
that gains something: a lower bound of the best gain. Source: ltyarn spec, section 8.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sluice.planning.sharing.fluid import allocations
from sluice.planning.sharing.problem import Number, SharingProblem

RUNS_MAX = 4_000  # simulations for each member


@dataclass(frozen=True, slots=True)
class Misreport:
    """The best report that was found for a member whose rivals are honest.

    honest, best: useful units with its own demands, and with `reports`.
    is_exhaustive: whether all candidates were tried.
    """

    name: str
    honest: Number
    best: Number
    reports: tuple[Number, ...]
    is_exhaustive: bool

    @property
    def gain(self) -> Number:
        """Useful units that the report gains."""
        return self.best - self.honest


def useful_units(
    problem: SharingProblem, member: int, reports: Sequence[Number]
) -> tuple[Number, ...]:
    """Useful units of each step for a member that reports these demands, the others honest.

    Units are useful as far as the member has real work for them; with leftovers kept, work that
    was not done stays.
    """
    reported = tuple(
        (*row[:member], report, *row[member + 1 :])
        for row, report in zip(problem.demands, reports, strict=True)
    )
    left = problem.capacity * 0
    useful = []
    for given, row in zip(
        allocations(replace(problem, demands=reported)), problem.demands, strict=True
    ):
        work = left + row[member]
        useful.append(min(given[member], work))
        left = work - useful[-1] if problem.options.keeps_leftovers else left
    return tuple(useful)


def best_misreport(problem: SharingProblem, member: int, runs_max: int = RUNS_MAX) -> Misreport:
    """The member's best report. runs_max: simulations at most.

    >>> from sluice.model.members import Member
    >>> from sluice.planning.sharing.problem import SharingOptions, sharing_problem
    >>> rows = [(2, 3, 2), (3, 1, 2), (0, 3, 1)]
    >>> members = [Member(member_id=f"u{n}", demands=row) for n, row in enumerate(rows, 1)]
    >>> options = SharingOptions(policy="ltrf", keeps_leftovers=False)
    >>> found = best_misreport(sharing_problem(3, members, options), 0)
    >>> str(found.honest), found.gain > 0
    ('3', True)
    """
    honest = tuple(row[member] for row in problem.demands)
    choices = _candidates(problem, member)
    runs = math.prod(map(len, choices))
    reports = itertools.product(*choices) if runs <= runs_max else None
    if reports is not None:
        score, best = max(
            ((sum(useful_units(problem, member, each)), each) for each in reports),
            key=lambda pair: pair[0],
        )
    else:
        score, best = _climb(problem, member, honest, choices, runs_max)
    fair = sum(useful_units(problem, member, honest))
    if score <= fair:
        score, best = fair, honest
    return Misreport(problem.names[member], fair, score, best, reports is not None)


def _candidates(problem: SharingProblem, member: int) -> list[list[Number]]:
    """Reports to try in each step: nothing, the truth, whole units up to the capacity or parts."""
    capacity = problem.capacity
    few = 8
    grid: list[Number] = [capacity * k / few for k in range(few + 1)]
    if capacity <= few:
        grid = [capacity * 0 + k for k in range(int(capacity) + 1)]
    if len(grid) ** len(problem.demands) > RUNS_MAX:
        grid = [capacity * 0, problem.shares[member], capacity]
    return [sorted({*grid, row[member], row[member] / 2}) for row in problem.demands]


def _climb(
    problem: SharingProblem,
    member: int,
    honest: tuple[Number, ...],
    choices: Sequence[Sequence[Number]],
    runs_max: int,
) -> tuple[Number, tuple[Number, ...]]:
    best, score, runs = honest, sum(useful_units(problem, member, honest)), 1
    is_better = True
    while is_better and runs < runs_max:
        is_better = False
        for changed in _neighbours(best, choices):
            runs += 1
            found = sum(useful_units(problem, member, changed))
            if found > score:
                best, score, is_better = changed, found, True
                break
            if runs >= runs_max:
                break
    return score, best


def _neighbours(
    reports: tuple[Number, ...], choices: Sequence[Sequence[Number]]
) -> Iterator[tuple[Number, ...]]:
    """Reports that differ in one step, then in two neighbouring ones."""
    for width in (1, 2):
        for step in range(len(reports) - width + 1):
            for change in itertools.product(*choices[step : step + width]):
                if change != reports[step : step + width]:
                    yield (*reports[:step], *change, *reports[step + width :])
