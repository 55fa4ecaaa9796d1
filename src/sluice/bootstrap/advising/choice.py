"""The choice of a combination for a history, and what it gains.

From the features of the history to the race, and then what the chosen combination adds to *fair*,
to the one that runs at present, and by each of its parts. Source: loop spec, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.bootstrap.advising.candidates import Candidate, Field, field_for, first_of
from sluice.bootstrap.advising.day_runs import DayRuns
from sluice.bootstrap.advising.days import DAY_S, Days
from sluice.bootstrap.advising.history import Features, features_of
from sluice.bootstrap.advising.measures import MEASURES, over_common_jobs
from sluice.bootstrap.advising.race import (
    Bound,
    Budget,
    Measures,
    Race,
    Racer,
    cost_difference,
    raced,
)
from sluice.estimate.paired_difference import PairedDifference
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload

Differences = Mapping[str, PairedDifference]
OnFraction = Callable[[float], None]
_RACE_SHARE = 0.8  # of all simulations, about
_BLOCKS_LEAST = 6  # of a day: in less time no queue builds up as it did
_CONTENDED_PACE = 8.0  # times as long, because half of the candidates place by resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to a history. objective: a measure.  bounds: that the choice keeps to.

    seconds: that all simulations take, about, on one core.  day_s: length of a day of the history.
    running: the scheduler of today, as `compare` takes it; None if it is not known.
    processes: None for one a core.  has_gains: whether to measure what each part adds.
    """

    objective: str
    bounds: Sequence[Bound] = ()
    seconds: float = 60.0
    day_s: float = DAY_S
    running: str | None = None
    processes: int | None = None
    has_gains: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The end of it. parts: what each part of the choice adds to the others, by part.

    kept: the scheduler of today, where nothing that was tried is better than it.

    to_fair, to_running: the choice against *fair*, and against the scheduler of today; empty
    where it is the same, or that one is not known or cannot run the history.
    """

    features: Features
    field: Field
    days: Days
    race: Race
    to_fair: Differences
    to_running: Differences
    parts: Mapping[str, Differences]
    kept: Racer | None = None

    @property
    def best(self) -> Racer:
        """The scheduler to run: that of today, the chosen combination, or *fair*."""
        return self.kept or self.race.chosen or self.race.fair


def choose(
    workload: Workload, question: Question, on_fraction: OnFraction = lambda _: None
) -> Choice:
    """Choose a combination for a history with jobs and a cluster. Raises InvalidInput."""
    features = features_of(workload)
    field = field_for(features, question.objective)
    days = Days.of(workload, question.day_s)
    budget = Budget.of(
        days.tasks,
        len(field.candidates),
        question.seconds,
        shortest=min(1.0, _BLOCKS_LEAST / days.per_day),
        pace=_CONTENDED_PACE if features.is_contended else 1.0,
    )
    field = replace(field, candidates=first_of(field.candidates, budget.candidates))
    days = days.shortened(budget.tasks_max)
    runs = DayRuns(days, question.processes)
    try:
        race = raced(
            runs,
            field.candidates,
            question.objective,
            question.bounds,
            days=budget.days,
            on_fraction=lambda share: on_fraction(_RACE_SHARE * share),
        )
        found = _with_gains(runs, race, question, features, field)
    finally:
        runs.end()
    on_fraction(1.0)
    return found


def _with_gains(
    runs: DayRuns, race: Race, question: Question, features: Features, field: Field
) -> Choice:
    best = race.chosen or race.fair
    today = _today(runs, best, question)
    kept = None if today is None else _kept(race, question, *today)
    if kept is not None:
        return Choice(
            features=features,
            field=field,
            days=runs.days,
            race=race,
            to_fair=_gain(runs, kept, race.fair.candidate.text),
            to_running={},
            parts={},
            kept=kept,
        )
    parts: dict[str, Differences] = {}
    if race.chosen is not None and question.has_gains:
        for part in best.candidate.parts:
            without = best.candidate.without(part)
            if without.can_be:
                parts[part] = _gain(runs, best, without.text)
    return Choice(
        features=features,
        field=field,
        days=runs.days,
        race=race,
        to_fair={} if race.chosen is None else differences(race.fair.days, best.days),
        to_running={} if today is None else differences(*(each.days for each in today)),
        parts=parts,
    )


def _today(runs: DayRuns, best: Racer, question: Question) -> tuple[Racer, Racer] | None:
    """The scheduler of today and the choice, over the jobs that both complete; None if unknown."""
    if question.running is None:
        return None
    try:
        days = _paired(runs, best, question.running)
    except InvalidInput:
        return None  # it ran other files, and cannot run this history
    candidates = Candidate(parts=(), row=question.running), best.candidate
    first, other = (
        Racer(candidate=one, days=found) for one, found in zip(candidates, days, strict=True)
    )
    return first, other


def _kept(race: Race, question: Question, today: Racer, best: Racer) -> Racer | None:
    """The scheduler of today, unless another one is better; None to replace it.

    A combination that is clearly better than *fair* must cost less on average. *Fair*, which is
    advised where none is, must cost clearly less.
    """
    found = cost_difference(race.fair, today, best, question.objective)
    if found is None or not all(one.holds(today.mean(one.measure)) for one in question.bounds):
        return None
    if race.chosen is not None:
        return today if found.mean > 0 else None
    is_alike = found.mean == found.low == found.high
    return None if is_alike or (found.is_clear and found.mean < 0) else today


def _gain(runs: DayRuns, best: Racer, before: str) -> Differences:
    """Return the gain of the choice over another combination, on the same days."""
    return differences(*_paired(runs, best, before))


def _paired(runs: DayRuns, best: Racer, before: str) -> tuple[list[Measures], list[Measures]]:
    """The measures of another combination and of the choice, over the jobs that both complete."""
    days = range(len(best.days))
    runs.prepare([(before, day) for day in days], lambda: None)
    pairs = [
        over_common_jobs([runs.of(before, day), runs.of(best.candidate.text, day)]) for day in days
    ]
    return [first for first, _ in pairs], [other for _, other in pairs]


def differences(first: Sequence[Measures], other: Sequence[Measures]) -> Differences:
    """The differences by measure, over the same days; without those that some day lacks."""
    found = {}
    for name in MEASURES:
        difference = PairedDifference.of([day[name] for day in first], [day[name] for day in other])
        if difference is not None:
            found[name] = difference
    return found
