"""Which combination of parts to run, from one's own history, and what each part adds on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from sluice.api.sources import Source, workload_of
from sluice.bootstrap.advising.candidates import Candidate, field_for
from sluice.bootstrap.advising.history import Features, drawn_day, features_of
from sluice.bootstrap.advising.measures import MEASURES, over_common_jobs, simulated
from sluice.bootstrap.advising.race import OBJECTIVES, Bound, Measures, Race, Racer, days_for, raced
from sluice.estimate.paired_difference import PairedDifference
from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.workload import Workload
from sluice.reporting.advise.result import Advice, Differences, PartGain, Tried
from sluice.store.advice import keep_advice

_BOUND = re.compile(r"\s*(\w+)\s*(>=|<=)\s*(-?\d+(?:\.\d+)?)\s*")
_ALIASES = {"fair_worst": "fairness_worst", "bill": "bill_usd", "deadlines": "deadlines_met"}
_SECONDS_MAX = 86_400.0
_LIGHT_LOAD = 0.6  # below it, admission refuses jobs that would have been in time


@checked_arguments
def advise(
    source: Source,
    *,
    objective: str | None = None,
    keep: Sequence[str] = (),
    seconds: float = 60.0,
    stores: bool = False,
    on_fraction: Callable[[float], None] = lambda _: None,
) -> Advice:
    """The combination of parts that is best for a history, on days that are drawn from it.

    source: a workload with its cluster, such as one made of logs.
    objective: bill, deadlines, response, makespan or fairness; by default the bill where there are
    prices or penalties, else deadlines where there are any, else the response.
    keep: bounds that the choice must keep to, such as "fairness_worst>=0.5".
    seconds: that the simulations take, about.  stores: keep it for `--preset auto`.
    Raises InvalidInput.
    """
    if not 0 < seconds <= _SECONDS_MAX:
        raise wrong_value("seconds", seconds, "--seconds", f"give up to {_SECONDS_MAX:g}")
    workload = workload_of(source)
    workload.required_cluster()
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="give a history of jobs")
    measure = _measure_of(objective, workload)
    bounds = [_bound(text) for text in keep]
    features = features_of(workload)
    field = field_for(features)
    days = days_for(features.tasks, len(field.candidates), seconds)
    race = raced(workload, field.candidates, measure, bounds, days=days, on_fraction=on_fraction)
    best = race.chosen or race.fair
    made = Advice(
        preset=best.candidate.document(),
        scheduler=best.candidate.text,
        features=features.document(),
        objective=measure,
        days=len(best.days),
        means={name: best.mean(name) for name in MEASURES},
        difference={} if race.chosen is None else _between(race.fair.days, best.days),
        parts=tuple(_parts(workload, best, race)),
        regret=race.regret(),
        tried=tuple(
            Tried(scheduler=one.candidate.text, days=len(one.days), mean=one.mean(measure))
            for one in race.tried
        ),
        left_out=field.left_out,
        notes=tuple(_notes(features, race, bounds)),
        abstained=race.chosen is None,
    )
    if stores:
        keep_advice(made.preset)
    return made


def _measure_of(objective: str | None, workload: Workload) -> str:
    if objective is not None:
        if objective not in OBJECTIVES:
            raise InvalidInput(
                f"unknown objective {objective!r:.40}",
                where="--objective",
                hint=suggestion(objective, list(OBJECTIVES)),
            )
        if objective == "deadlines" and not _has_deadlines(workload):
            raise InvalidInput(
                "no job has a deadline", where="--objective", hint="use bill or response"
            )
        return OBJECTIVES[objective]
    has_money = workload.prices is not None or any(job.penalty_usd for job in workload.jobs)
    if has_money:
        return "bill_usd"
    return "deadlines_met" if _has_deadlines(workload) else "response_s"


def _has_deadlines(workload: Workload) -> bool:
    return any(job.own_deadline_at_s is not None for job in workload.jobs)


def _bound(text: str) -> Bound:
    found = _BOUND.fullmatch(text)
    name = "" if found is None else _ALIASES.get(found[1], found[1])
    if found is None or name not in MEASURES:
        raise InvalidInput(
            f"{text[:60]!r} is no bound",
            where="--keep",
            hint=f"write MEASURE>=NUMBER or MEASURE<=NUMBER, with one of {', '.join(MEASURES)}",
        )
    return Bound(measure=name, value=float(found[3]), is_least=found[2] == ">=")


def _between(first: Sequence[Measures], other: Sequence[Measures]) -> Differences:
    found = {}
    for name in MEASURES:
        difference = PairedDifference.of([day[name] for day in first], [day[name] for day in other])
        if difference is not None:
            found[name] = difference
    return found


def _parts(workload: Workload, best: Racer, race: Race) -> Iterator[PartGain]:
    """Yield what each part of the chosen combination adds to the others, on the same days."""
    if race.chosen is None:
        return
    days = range(len(best.days))
    for part in best.candidate.parts:
        without = best.candidate.without(part)
        if not _can_be(without):
            continue
        pairs = []
        for day in days:
            of_day = drawn_day(workload, day)
            runs = [simulated(of_day, one.text, day) for one in (without, best.candidate)]
            pairs.append(over_common_jobs(runs))
        yield PartGain(
            part=part, adds=_between([one for one, _ in pairs], [two for _, two in pairs])
        )


def _can_be(candidate: Candidate) -> bool:
    """Whether it is no promise of containers over typed slots."""
    has_room = any(part.startswith("slots=") for part in candidate.parts)
    return has_room or "admission=capacity" not in candidate.parts


def _notes(features: Features, race: Race, bounds: Sequence[Bound]) -> Iterator[str]:
    """Yield what would change the choice, and which other objective pays for it."""
    best = race.chosen or race.fair
    rivals = [one for one in race.finalists if one is not best]
    if race.chosen is not None and rivals:
        second = min(rivals, key=lambda one: _signed(one, race.objective))
        yield f"The next best is {second.candidate.text}."
    for measure, less_is_better in MEASURES.items():
        if race.chosen is None or measure == race.objective:
            continue
        found = PairedDifference.of(
            [day[measure] for day in race.fair.days], [day[measure] for day in best.days]
        )
        if found is not None and found.is_clear and (found.mean > 0) == less_is_better:
            yield f"It pays with {measure}: {found.mean:+.3g} against fair."
    if "admission=capacity" in best.candidate.parts and features.load < _LIGHT_LOAD:
        yield (
            f"The load is {features.load:.2f}: admission also refuses jobs that would have been in"
            " time. Leave it out if refusing costs more than the penalties say."
        )
    if bounds and not all(one.holds(best.mean(one.measure)) for one in bounds):
        yield "No combination keeps to all bounds."


def _signed(racer: Racer, measure: str) -> float:
    mean = racer.mean(measure)
    if mean is None:
        return float("inf")
    return mean if MEASURES[measure] else -mean
