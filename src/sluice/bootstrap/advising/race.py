"""Which of many combinations is best, without simulating all of them often.

In each round all that are left see one drawn day more, the same for all of them; then the worse
half drops out, until few are left, and these see the remaining days. Of those that cost at most 5 %
more than the best, with a standard error on top, the one with the fewest parts is chosen. Source:
loop spec, section 5, steps 3 and 4; successive halving is that of Z. Karnin, T. Koren, O. Somekh,
"Almost Optimal Exploration in Multi-Armed Bandits", 2013. Days that vary must not speak for fewer
parts, as they would within a standard error: a test of non-inferiority adds it to the difference,
see S. Wellek, "Testing Statistical Hypotheses of Equivalence and Noninferiority", 2010, chapter 1.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.bootstrap.advising.candidates import Candidate
from sluice.bootstrap.advising.day_runs import DayRuns
from sluice.bootstrap.advising.measures import MEASURES, over_common_jobs
from sluice.estimate.paired_difference import PairedDifference
from sluice.model.errors import InvalidInput

DAYS_MIN, DAYS_MAX = 4, 12
_LEFT_MIN = 4  # so many see all days
TASKS_PER_S = 16_000.0  # that a simulation starts and ends, about
_ROUNDS = 2  # simulations of a day for each candidate, until half of them is left at a time
_SIMPLER_MAX = 0.05  # of a cost, or of a share where more is better
_FLOOR = 0.02  # of the mean of *fair*
_PER_DAY = 7  # simulations of a day: of the last four, and of the choice without each part
OBJECTIVES: Mapping[str, str] = {
    "bill": "bill_usd",
    "deadlines": "deadlines_met",
    "response": "response_s",
    "slowdown": "slowdown_p95",
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

    def regret(self, best: Racer) -> tuple[float, float]:
        """Return the cost of a choice over the best finalist of each day, as a share of its cost.

        The mean, and the value that 19 of 20 days stay below.
        """
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much a race simulates. candidates: that start.  days: that the last four see.

    tasks_max: of each day.
    """

    candidates: int
    days: int
    tasks_max: float

    @classmethod
    def of(
        cls,
        tasks: float,
        candidates: int,
        seconds: float,
        *,
        shortest: float = 1.0,
        pace: float = 1.0,
    ) -> Budget:
        """For days of `tasks` tasks and simulations of about `seconds` on one core of today.

        More time gives more days, up to 12. With too little for 4 days, days are shorter, but not
        below the share `shortest`; with still too little, fewer candidates start.
        pace: how many times longer than others these simulations take.

        >>> Budget.of(tasks=2000, candidates=20, seconds=60)
        Budget(candidates=20, days=12, tasks_max=2000)
        """
        budget = seconds * TASKS_PER_S / pace
        fixed = _PER_DAY * DAYS_MIN
        tasks = max(1.0, tasks)
        days = int((budget / tasks - _ROUNDS * candidates) / _PER_DAY)
        if days >= DAYS_MIN:
            return cls(candidates=candidates, days=min(DAYS_MAX, days), tasks_max=tasks)
        least = max(shortest * tasks, budget / (_ROUNDS * candidates + fixed))
        fit = int((budget / least - fixed) / _ROUNDS)
        return cls(candidates=max(1, min(candidates, fit)), days=DAYS_MIN, tasks_max=least)


def raced(
    runs: DayRuns,
    candidates: Sequence[Candidate],
    objective: str,
    bounds: Sequence[Bound] = (),
    *,
    days: int = DAYS_MIN,
    on_fraction: Callable[[float], None] = lambda _: None,
) -> Race:
    """Race the candidates, of which the first is *fair*, on drawn days of a history.

    Raises InvalidInput if *fair* cannot run the history; others that cannot drop out.
    """
    everyone = [Racer(candidate=one) for one in candidates]
    left = list(everyone)
    done, total = 0, _simulations(len(left), days)
    on_fraction(0.0)

    def on_run() -> None:
        nonlocal done
        done += 1
        on_fraction(min(1.0, done / total))

    for day in range(days):
        runs.prepare([(racer.candidate.text, day) for racer in left], on_run)
        left = [racer for racer in left if _can_run(runs, racer, day, is_fair=racer is left[0])]
        _measure(left, runs, day)
        if len(left) > _LEFT_MIN:
            left = _better_half(left, objective, bounds)
    chosen = _chosen(left, objective, bounds)
    return Race(chosen=chosen, finalists=tuple(left), tried=tuple(everyone), objective=objective)


def _can_run(runs: DayRuns, racer: Racer, day: int, *, is_fair: bool) -> bool:
    try:
        runs.of(racer.candidate.text, day)
    except InvalidInput:
        if is_fair:
            raise
        return False
    return True


def _simulations(candidates: int, days: int) -> int:
    total, left = 0, candidates
    for _ in range(days):
        total += left
        left = max(min(left, _LEFT_MIN), math.ceil(left / 2))
    return total


def _measure(left: Sequence[Racer], runs: DayRuns, days: int) -> None:
    """The measures of those that are left, over the jobs that all of them completed."""
    for racer in left:
        racer.days.clear()
    for day in range(days + 1):
        of_day = [runs.of(racer.candidate.text, day) for racer in left]
        for racer, found in zip(left, over_common_jobs(of_day), strict=True):
            racer.days.append(found)


def _better_half(left: Sequence[Racer], objective: str, bounds: Sequence[Bound]) -> list[Racer]:
    """*Fair*, which all are compared with, and the better half of the others."""
    fair, *others = left
    others.sort(key=lambda racer: _rank(racer, fair, objective, bounds))
    return [fair, *others[: max(_LEFT_MIN - 1, math.ceil(len(others) / 2))]]


def _rank(
    racer: Racer, fair: Racer, objective: str, bounds: Sequence[Bound]
) -> tuple[int, float, int, tuple[str, ...]]:
    """Its place: those that keep to the bounds first, and simple ones before others alike."""
    against = _against(fair, racer, objective)
    broken = sum(not bound.holds(racer.mean(bound.measure)) for bound in bounds)
    parts = racer.candidate.parts
    return broken, math.inf if against is None else against.mean, len(parts), parts


def _against(fair: Racer, racer: Racer, objective: str) -> PairedDifference | None:
    """The extra cost of a combination over *fair*, by its days and by what was expected of it."""
    first, other = (_costs(one, fair, objective) for one in (fair, racer))
    found = PairedDifference.of(first, other)
    expected = racer.candidate.expected
    if found is None or expected is None:
        return found
    return expected.after(cost_differences(fair, racer, objective))


def _chosen(left: Sequence[Racer], objective: str, bounds: Sequence[Bound]) -> Racer | None:
    """The simplest that surely costs at most 5 % more than the best: fewer parts are worth no more.

    None if *fair* is not clearly worse.
    """
    kept = [one for one in left if all(bound.holds(one.mean(bound.measure)) for bound in bounds)]
    fair = left[0]
    if not kept:
        return None
    best = min(kept, key=lambda racer: _rank(racer, fair, objective, ()))
    near = [one for one in kept if _is_near(one, best, fair, objective)] or [best]
    found = min(
        near, key=lambda racer: (len(racer.candidate.parts), _rank(racer, fair, objective, ()))
    )
    if found is fair:
        return None
    against = _against(fair, found, objective)
    is_better = against is not None and against.is_clear and against.mean < 0
    return found if is_better or fair not in kept else None


def _is_near(racer: Racer, best: Racer, fair: Racer, objective: str) -> bool:
    """Whether it costs at most 5 % more than the best, were it dearer by a standard error."""
    found, least = (_against(fair, one, objective) for one in (racer, best))
    both = zip(*(_costs(one, fair, objective) for one in (best, racer)), strict=True)
    gaps = [b - a for a, b in both if a is not None and b is not None]
    if found is None or least is None or not gaps:
        return False
    if not any(gaps):
        return True  # its further parts did nothing here, whatever was expected of them
    error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    return found.mean - least.mean + error <= _SIMPLER_MAX


def cost_difference(
    fair: Racer, first: Racer, other: Racer, objective: str
) -> PairedDifference | None:
    """The extra cost of a racer over another one, day by day, as a race compares them."""
    return PairedDifference.of(_costs(first, fair, objective), _costs(other, fair, objective))


def cost_differences(fair: Racer, racer: Racer, objective: str) -> list[float]:
    """The extra cost of a racer over *fair* on each day on which both are known."""
    first, other = (_costs(one, fair, objective) for one in (fair, racer))
    return [b - a for a, b in zip(first, other, strict=True) if a is not None and b is not None]


def _costs(racer: Racer, fair: Racer, objective: str) -> list[float | None]:
    """The cost of each day, expressed so that less is better and days count alike.

    A bill or a time of a busy day is many times that of a quiet one, so that ratios are compared:
    their logarithms, with a little of the mean of *fair* added because a bill may be 0.
    """
    values = [day[objective] for day in racer.days]
    if not MEASURES[objective]:
        return [None if value is None else -value for value in values]
    floor = _FLOOR * (fair.mean(objective) or 0.0) or 1.0
    return [None if value is None else math.log(value + floor) for value in values]
