"""The costs that advice expects of each combination, from the training worlds, against *fair*.

The figures in `sluice.bootstrap.advising.candidates` come from here. In each world, a combination
and *fair* see the same days, and their costs are compared as in a race, by ratios. Source: loop
spec, section 5 (twelve training worlds).
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.bootstrap.advising.candidates import OBJECTIVES_KNOWN, Candidate, portfolio
from sluice.bootstrap.advising.day_runs import simulated
from sluice.bootstrap.advising.measures import over_common_jobs
from sluice.bootstrap.advising.race import Racer, cost_differences
from sluice.bootstrap.settings import declarations
from sluice.ingest.workload import parse_workload
from sluice.model.workload import Workload
from sluice.reproductions.loop.advice_worlds import WORLDS_EACH, advice_world

_FIRST_SEED = 5000  # of the days of training; held-out days have smaller ones
_FAIR = "fair"
OnFraction = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The cost of a combination against *fair*, as mean logarithms, over worlds of one kind.

    name: its letters.  worlds: of each world, the differences of its days.
    """

    is_contended: bool
    name: str
    measure: str
    worlds: Sequence[Sequence[float]]

    @property
    def mean(self) -> float:
        """Over the means of the worlds."""
        return statistics.fmean(self._means)

    @property
    def between(self) -> float:
        """The standard deviation of the means of the worlds; 0 with one world."""
        return statistics.stdev(self._means) if len(self._means) > 1 else 0.0

    @property
    def within(self) -> float:
        """That of the days of a world from its mean, pooled over the worlds; 0 with one day."""
        freedom = sum(len(days) - 1 for days in self.worlds)
        squares = math.fsum(
            (day - mean) ** 2
            for days, mean in zip(self.worlds, self._means, strict=True)
            for day in days
        )
        return math.sqrt(squares / freedom) if freedom else 0.0

    @property
    def _means(self) -> list[float]:
        return [statistics.fmean(days) for days in self.worlds]


def trained(
    days: int,
    *,
    worlds: Sequence[int] = range(WORLDS_EACH),
    on_fraction: OnFraction = lambda _: None,
) -> list[Trained]:
    """All members of the portfolios over the training worlds, with so many days of each."""
    found: dict[tuple[bool, str, str], list[list[float]]] = {}
    for number, world in enumerate(worlds):
        is_contended = advice_world("training", world).contention == "shared"
        for (name, measure), differences in _of_world(
            world, days, is_contended=is_contended
        ).items():
            found.setdefault((is_contended, name, measure), []).append(differences)
        on_fraction((number + 1) / len(worlds))
    return [
        Trained(is_contended=kind, name=name, measure=measure, worlds=means)
        for (kind, name, measure), means in found.items()
    ]


def _of_world(
    world: int, days: int, *, is_contended: bool
) -> Mapping[tuple[str, str], list[float]]:
    """The differences of the days of one world, by combination and measure."""
    members = {_FAIR: Candidate(parts=()), **portfolio(is_contended=is_contended)}
    racers = {name: Racer(candidate=one) for name, one in members.items()}
    for number in range(days):
        day = _day(world, number)
        runs = [simulated(day, one.candidate.text, number) for one in racers.values()]
        for racer, measures in zip(racers.values(), over_common_jobs(runs), strict=True):
            racer.days.append(measures)
    fair = racers.pop(_FAIR)
    return {
        (name, measure): found
        for name, racer in racers.items()
        for measure in OBJECTIVES_KNOWN
        if (found := cost_differences(fair, racer, measure))
    }


def _day(world: int, number: int) -> Workload:
    day = replace(advice_world("training", world), seed=_FIRST_SEED + number)
    source = f"training world {world}, day {number}"
    return parse_workload(json.dumps(day.document()), source=source, declarations=declarations())


def table(found: Sequence[Trained]) -> Iterator[Mapping[str, str | float]]:
    """Yield a row for each combination: its mean by measure, the cheapest bill first."""
    keyed = {(one.is_contended, one.name, one.measure): one for one in found}
    names = dict.fromkeys((one.is_contended, one.name) for one in found)
    bill = OBJECTIVES_KNOWN[0]
    for kind, name in sorted(names, key=lambda key: (key[0], keyed[(*key, bill)].mean, key[1])):
        means = {measure: round(keyed[kind, name, measure].mean, 2) for measure in OBJECTIVES_KNOWN}
        yield {"nodes": "contended" if kind else "free", "parts": name, **means}


def spreads(found: Sequence[Trained]) -> Iterator[Mapping[str, str | float]]:
    """Yield a row for each measure: the median spread of a combination, between worlds and days."""
    ordered = sorted(found, key=lambda one: OBJECTIVES_KNOWN.index(one.measure))
    for measure, group in itertools.groupby(ordered, key=lambda one: one.measure):
        alike = list(group)
        yield {
            "measure": measure,
            "between worlds": round(statistics.median(one.between for one in alike), 2),
            "between days": round(statistics.median(one.within for one in alike), 2),
        }
