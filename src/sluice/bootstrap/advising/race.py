"""Which of many combinations is best, without simulating all of them often.

In each round all that are left see one drawn day more, the same for all of them; then the worse
half drops out, until few are left, and these see the remaining days. Of those within a standard
error of the best, the one with the fewest parts is chosen. Source: loop spec, section 5, steps 3
and 4; successive halving is that of Z. Karnin, T. Koren, O. Somekh, "Almost Optimal Exploration in
Multi-Armed Bandits", 2013.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.bootstrap.advising.candidates import Candidate
from sluice.bootstrap.advising.history import drawn_day
from sluice.bootstrap.advising.measures import MEASURES, CellRun, over_common_jobs, simulated
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload

DAYS_MIN, DAYS_MAX = 4, 12
_LEFT_MIN = 4  # so many see all days
_TASKS_PER_S = 6000.0  # that a simulation starts and ends, about
OBJECTIVES: Mapping[str, str] = {
    "bill": "bill_usd",
    "deadlines": "deadlines_met",
    "response": "response_s",
    "makespan": "makespan_s",
    "fairness": "fairness_worst",
}
Measures = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A measure that must be at least, or at most, a value."""

    measure: str
    value: float
    is_least: bool

    def holds(self, found: float | None) -> bool:
        """Whether a mean keeps to it; one that is not known does not."""
        if found is None:
            return False
        return found >= self.value if self.is_least else found <= self.value


@dataclass(kw_only=True)
class Racer:
    """A combination in the race. days: its measures by day."""

    candidate: Candidate
    days: list[Measures] = field(default_factory=list)

    def mean(self, measure: str) -> float | None:
        """Over its days; None if it is not known of all."""
        values = [one[measure] for one in self.days]
        known = [one for one in values if one is not None]
        return statistics.fmean(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """The end of a race. finalists: those that saw all days, the first one *fair*.

    tried: all, with the days that each has seen.  chosen: None if none is better than *fair*.
    """

    chosen: Racer | None
    finalists: tuple[Racer, ...]
    tried: tuple[Racer, ...]
    objective: str

    @property
    def fair(self) -> Racer:
        return self.finalists[0]

    def regret(self) -> tuple[float, float]:
        """Return the cost of the choice over the best finalist of each day, as a share of its cost.

        The mean, and the value that 19 of 20 days stay below.
        """
        best = self.chosen or self.fair
        sign = 1.0 if MEASURES[self.objective] else -1.0
        shares = []
        for number, day in enumerate(best.days):
            values = [one.days[number][self.objective] for one in self.finalists]
            known = [value for value in values if value is not None]
            own = day[self.objective]
            if known and own is not None:
                least = min(known) if sign > 0 else max(known)
                shares.append(max(0.0, sign * (own - least)) / abs(least) if least else 0.0)
        if not shares:
            return 0.0, 0.0
        return statistics.fmean(shares), sorted(shares)[math.ceil(0.95 * len(shares)) - 1]


def days_for(tasks: int, candidates: int, seconds: float) -> int:
    """So many days that all simulations take about `seconds` on one core of today."""
    budget = seconds * _TASKS_PER_S / max(1, tasks)
    first = 2 * candidates  # the rounds of halving take about twice the first
    return max(DAYS_MIN, min(DAYS_MAX, int((budget - first) / _LEFT_MIN)))


def raced(
    workload: Workload,
    candidates: Sequence[Candidate],
    objective: str,
    bounds: Sequence[Bound] = (),
    *,
    days: int = DAYS_MIN,
    on_fraction: Callable[[float], None] = lambda _: None,
) -> Race:
    """Race the candidates, of which the first is *fair*, on drawn days of a history."""
    everyone = [Racer(candidate=one) for one in candidates]
    left = list(everyone)
    done, total = 0, _simulations(len(left), days)
    runs: dict[tuple[str, ...], list[CellRun]] = {}
    for day in range(days):
        of_day = drawn_day(workload, day)
        for racer in list(left):
            try:
                found = simulated(of_day, racer.candidate.text, day)
            except InvalidInput:
                if racer is everyone[0]:
                    raise
                left.remove(racer)  # it cannot run this history
                continue
            finally:
                done += 1
                on_fraction(min(1.0, done / total))
            runs.setdefault(racer.candidate.parts, []).append(found)
        _measure(left, runs, day)
        if len(left) > _LEFT_MIN:
            left = _better_half(left, objective, bounds)
    chosen = _chosen(left, objective, bounds)
    return Race(chosen=chosen, finalists=tuple(left), tried=tuple(everyone), objective=objective)


def _simulations(candidates: int, days: int) -> int:
    total, left = 0, candidates
    for _ in range(days):
        total += left
        left = max(min(left, _LEFT_MIN), math.ceil(left / 2))
    return total


def _measure(
    left: Sequence[Racer], runs: Mapping[tuple[str, ...], Sequence[CellRun]], days: int
) -> None:
    """The measures of those that are left, over the jobs that all of them completed."""
    for racer in left:
        racer.days.clear()
    for day in range(days + 1):
        of_day = [runs[racer.candidate.parts][day] for racer in left]
        for racer, found in zip(left, over_common_jobs(of_day), strict=True):
            racer.days.append(found)


def _better_half(left: Sequence[Racer], objective: str, bounds: Sequence[Bound]) -> list[Racer]:
    """*Fair*, which all are compared with, and the better half of the others."""
    fair, *others = left
    others.sort(key=lambda racer: _rank(racer, objective, bounds))
    return [fair, *others[: max(_LEFT_MIN - 1, math.ceil(len(others) / 2))]]


def _rank(
    racer: Racer, objective: str, bounds: Sequence[Bound]
) -> tuple[int, float, int, tuple[str, ...]]:
    """Its place: those that keep to the bounds first, and simple ones before others alike."""
    mean = racer.mean(objective)
    sign = 1.0 if MEASURES[objective] else -1.0
    broken = sum(not bound.holds(racer.mean(bound.measure)) for bound in bounds)
    parts = racer.candidate.parts
    return broken, math.inf if mean is None else sign * mean, len(parts), parts


def _chosen(left: Sequence[Racer], objective: str, bounds: Sequence[Bound]) -> Racer | None:
    """The simplest within a standard error of the best; None if *fair* is not clearly worse."""
    from sluice.estimate.paired_difference import PairedDifference

    kept = [one for one in left if all(bound.holds(one.mean(bound.measure)) for bound in bounds)]
    fair = left[0]
    if not kept:
        return None
    best = min(kept, key=lambda racer: _rank(racer, objective, ()))
    sign = 1.0 if MEASURES[objective] else -1.0
    near = []
    for racer in kept:
        pairs = zip(best.days, racer.days, strict=True)
        gaps = [
            sign * (other - first)
            for one, two in pairs
            if (first := one[objective]) is not None and (other := two[objective]) is not None
        ]
        if not gaps:
            continue
        error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
        if statistics.fmean(gaps) <= error:
            near.append(racer)
    found = min(near, key=lambda racer: (len(racer.candidate.parts), _rank(racer, objective, ())))
    if found is fair:
        return None
    difference = PairedDifference.of(
        [one[objective] for one in fair.days], [one[objective] for one in found.days]
    )
    is_better = difference is not None and difference.is_clear and sign * difference.mean < 0
    return found if is_better or fair not in kept else None
