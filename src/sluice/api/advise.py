"""Which combination of parts to run, from one's own history, and what each part adds on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from sluice.api.options.advice import AdviseOptions
from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.sources import workload_of
from sluice.bootstrap.advising.choice import Choice, Question, choose
from sluice.bootstrap.advising.measures import MEASURES
from sluice.bootstrap.advising.race import OBJECTIVES, Bound, Racer
from sluice.bootstrap.advising.recorded_history import recorded_history
from sluice.bootstrap.presets import row_in
from sluice.estimate.paired_difference import PairedDifference
from sluice.ingest.suggestions import known_word
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.workload import Workload
from sluice.reporting.advise.result import Advice, PartGain, Running, Tried
from sluice.reporting.advise.tables import advice_sentence, measure_words
from sluice.store.advice import keep_advice

_BOUND = re.compile(r"\s*(\w+)\s*(>=|<=)\s*(-?\d+(?:\.\d+)?)\s*")
_ALIASES = {"fair_worst": "fairness_worst", "bill": "bill_usd", "deadlines": "deadlines_met"}
_SECONDS_MAX = 86_400.0
_NO_WAIT_S = 0.5
_LIGHT_LOAD = 0.6  # below it, admission refuses jobs that would have been in time


@dataclass(frozen=True)
class AdviseCall(AdviseOptions):
    """Arguments of `advise`."""

    source: Source | None = None
    _: KW_ONLY
    stores: bool = False
    on_message: Callable[[str], None] = lambda _: None
    on_fraction: Callable[[float], None] = lambda _: None


@called_with(AdviseCall)
def advise(given: AdviseCall) -> Advice:
    """The combination of parts that is best for a history, on days that are drawn from it.

    source: a workload with its cluster, such as one made of logs.
    all_runs: the history is all recorded runs in place of a source.
    objective: bill, deadlines, response, makespan or fairness; by default the bill where there are
    prices or penalties, else deadlines where there are any, else the response.
    keep: bounds that the choice must keep to, such as "fairness_worst>=0.5".
    seconds: that the simulations take, about, on one core.  stores: keep it for `--preset auto`.
    on_message: called for each recorded run that is left out.
    Raises InvalidInput.
    """
    if not 0 < given.seconds <= _SECONDS_MAX:
        raise wrong_value("seconds", given.seconds, "--seconds", f"give up to {_SECONDS_MAX:g}")
    workload, running = _history(given.source, given.on_message, all_runs=given.all_runs)
    workload.required_cluster()
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="give a history of jobs")
    question = Question(
        objective=_measure_of(given.objective, workload),
        bounds=[_bound(text) for text in given.keep],
        seconds=given.seconds,
        running=running,
    )
    found = choose(workload, question, given.on_fraction)
    made = _advice(found, question)
    if given.stores:
        keep_advice(made.preset, f"{advice_sentence(made)} History: {workload.source}.")
    return made


def _history(
    source: Source | None, on_message: Callable[[str], None], *, all_runs: bool
) -> tuple[Workload, str | None]:
    """The history, and the scheduler that runs at present if it is known."""
    if all_runs:
        if source is not None:
            raise InvalidInput(
                "it is given together with a file", where="--all-runs", hint="give one of the two"
            )
        recorded = recorded_history(on_message)
        return recorded.workload, recorded.running
    if source is None:
        raise InvalidInput(
            "there is no history", where="advise", hint="give a workload file, logs or --all-runs"
        )
    workload = workload_of(source)
    return workload, row_in(workload)


def _advice(found: Choice, question: Question) -> Advice:
    best, race = found.best, found.race
    return Advice(
        preset=best.candidate.document(),
        scheduler=best.candidate.text,
        features=found.features.document(),
        objective=question.objective,
        days=len(best.days),
        day_hours=found.days.hours,
        known_days=found.days.known,
        means={name: best.mean(name) for name in MEASURES},
        base={name: race.fair.mean(name) for name in MEASURES},
        difference=found.to_fair,
        running=None
        if question.running is None
        else Running(scheduler=question.running, difference=found.to_running),
        parts=tuple(PartGain(part=part, adds=adds) for part, adds in found.parts.items()),
        regret=race.regret(best),
        tried=tuple(
            Tried(
                scheduler=one.candidate.text, days=len(one.days), mean=one.mean(question.objective)
            )
            for one in race.tried
        ),
        left_out=found.field.left_out,
        notes=tuple(_notes(found, question)),
        abstained=race.chosen is None or found.kept is not None,
        keeps_running=found.kept is not None,
    )


def _measure_of(objective: str | None, workload: Workload) -> str:
    if objective is not None:
        known_word("--objective", objective, OBJECTIVES)
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


def _notes(found: Choice, question: Question) -> Iterator[str]:
    """Yield what would change the choice, and which other objective pays for it."""
    best, race = found.best, found.race
    waits_s = race.fair.mean("wait_s_p95")
    if race.chosen is None and waits_s is not None and waits_s < _NO_WAIT_S:
        yield "Under fair, hardly a job waits on these days: there is little to gain by any choice."
    gain = found.to_fair.get(race.objective)
    is_new = race.chosen is not None and found.kept is None
    if is_new and (gain is None or not gain.is_clear):
        yield (
            "These days alone leave the gain open. It is recommended because days are compared by"
            " their ratios, and combinations like it gained on the days that advise was made with."
        )
    against_today = found.to_running.get(race.objective)
    if against_today is not None and not against_today.is_clear:
        yield f"Whether it is better than today's {question.running} is not clear on these days."
    rivals = [one for one in race.finalists if one is not best]
    if is_new and rivals:
        second = min(rivals, key=lambda one: _signed(one, race.objective))
        gap = PairedDifference.of(
            [day[race.objective] for day in best.days], [day[race.objective] for day in second.days]
        )
        near = "" if gap is None or gap.is_clear else ", and is not clearly worse"
        yield f"The next best is {second.candidate.text}{near}."
    for other, differences in (("fair", found.to_fair), ("today's", found.to_running)):
        prices = [
            f"{measure_words(name)} {one.mean:+.3g}"
            for name, one in differences.items()
            if name != race.objective and one.is_clear and (one.mean > 0) == MEASURES[name]
        ]
        if prices:
            yield f"The price, against {other}: {', '.join(prices)}."
    if "admission=capacity" in best.candidate.parts and found.features.load < _LIGHT_LOAD:
        yield (
            f"The load is {found.features.load:.2f}: admission also refuses jobs that would have"
            " been in time. Leave it out if refusing costs more than the penalties say."
        )
    bounds = question.bounds
    if bounds and not all(one.holds(best.mean(one.measure)) for one in bounds):
        yield "No combination keeps to all bounds."


def _signed(racer: Racer, measure: str) -> float:
    mean = racer.mean(measure)
    if mean is None:
        return float("inf")
    return mean if MEASURES[measure] else -mean
