"""Advice judged on worlds that it was not made on.

In each held-out world, advice sees the first 1, 3 or 7 days and is judged on a later one. Its cost
there is compared with that of the best of all combinations that it knows, which is only known
afterwards. The same is done for choices that need no history: none of the parts, all of them, one
at random, and the one preset that was best in the training worlds. Where a refused job does not
count, as in a slowdown, combinations that refuse jobs are not compared: those that they take then
have the room of those that they refuse. Source: loop spec, section 5;
B. Bischl et al., "ASlib: A Benchmark Library for Algorithm Selection", Artificial Intelligence 237,
2016 (the single best, the best of each instance, and the share of the gap that is closed).
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from sluice.bootstrap.advising.candidates import COUNT_REFUSED, everyone
from sluice.bootstrap.advising.choice import Choice, Question, choose
from sluice.bootstrap.advising.day_runs import simulated
from sluice.bootstrap.advising.days import moved
from sluice.bootstrap.advising.measures import MEASURES, CellRun, over_common_jobs
from sluice.bootstrap.settings import declarations
from sluice.ingest.workload import parse_workload
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.reproductions.loop.advice_worlds import WORLDS_EACH, advice_world
from sluice.reproductions.loop.cells import FACTORS, Cell
from sluice.reproductions.loop.runs import on_cores
from sluice.reproductions.runner import Cell as TableCell
from sluice.reproductions.runner import Experiment

# Days that advice sees, by objective.
HISTORIES: Final[Mapping[str, Sequence[int]]] = MappingProxyType(
    {"bill_usd": (1, 3, 7), "slowdown_p95": (3,)}
)
OBJECTIVES: Final = tuple(HISTORIES)
_JUDGED_DAY: Final = 7  # its number: the first that no history has
_SECONDS: Final = 6.0  # of simulations for each advice
_CHEAP_USD: Final = 0.5  # bills below it are as good as each other
_ADMISSION: Final = "A"
_ALL: Final = frozenset(one.letter for one in FACTORS)
# The best of all combinations over the twelve training worlds, two seeds each.
SINGLE_BEST: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bill_usd": "goals=first+copies=late+order=fair",
        "slowdown_p95": "release=on-demand+copies=late+order=fair[on-demand.objective=tct]",
    }
)
OnFraction = Callable[[float], None]


class JudgeTask(NamedTuple):
    """One held-out world. seed: of all its days."""

    world: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One choice, and what it costs on the day after. history: days that it saw; 0 for none.

    rule: who chooses: fair, full, single best, random, or advise.  regret: its cost over that of
    the best of all, at least 1.  abstained: whether advice kept to *fair*.
    why: of a choice of advice that is not the best of all, why it was made.
    """

    world: int
    seed: int
    objective: str
    history: int
    rule: str
    scheduler: str
    regret: float
    abstained: bool = False
    why: str = ""

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "world": self.world, "seed": self.seed, "objective": self.objective,
            "history_days": self.history, "rule": self.rule, "scheduler": self.scheduler,
            "regret": self.regret, "abstained": self.abstained, "why": self.why,
        }  # fmt: skip


def judgements(seeds: int, on_fraction: OnFraction = lambda _: None) -> list[Judged]:
    """All choices in all held-out worlds, with this many seeds of each."""
    tasks = [JudgeTask(world, seed) for seed in range(seeds) for world in range(WORLDS_EACH)]
    found: list[Judged] = []
    for number, made in enumerate(on_cores(judged, tasks, worthwhile=2, chunk=1)):
        found += made
        on_fraction((number + 1) / len(tasks))
    return found


def judged(task: JudgeTask) -> list[Judged]:
    """All choices in one world, judged on the day after the longest history."""
    choices = {
        (objective, days): _choice(task, objective, days)
        for objective in OBJECTIVES
        for days in HISTORIES[objective]
    }
    runs = _runs(task, [one.best.candidate.text for one in choices.values()])
    found: list[Judged] = []
    for objective in OBJECTIVES:
        by_text = _costs(runs, objective)
        known = {text: cost for text, cost in by_text.items() if cost is not None}
        best = min(known, key=lambda text: (known[text], text))
        for rule, text in (("fair", "order=fair"), ("full", _full(objective)),
                           ("single best", SINGLE_BEST[objective])):  # fmt: skip
            found.append(_judged(task, objective, rule, text, known))
        found.append(_random(task, objective, known))
        for days in HISTORIES[objective]:
            choice = choices[objective, days]
            one = _judged(task, objective, "advise", choice.best.candidate.text, known)
            found.append(
                replace(
                    one,
                    history=days,
                    abstained=choice.race.chosen is None,
                    why="" if one.regret == 1 else _why(choice, best),
                )
            )
    return found


def _choice(task: JudgeTask, objective: str, days: int) -> Choice:
    """The choice that advice makes from the first days."""
    question = Question(
        objective=objective,
        seconds=_SECONDS,
        day_s=advice_world("held-out", task.world).span_s,
        processes=1,
        has_gains=False,
    )
    return choose(_history(task, days), question)


def _day(task: JudgeTask, number: int) -> Workload:
    """A day of a world; all its days have the same tenants, and jobs of their own."""
    day = replace(advice_world("held-out", task.world), seed=1000 * task.seed + number)
    source = f"held-out world {task.world}, day {number}"
    return parse_workload(json.dumps(day.document()), source=source, declarations=declarations())


def _history(task: JudgeTask, days: int) -> Workload:
    """The first days, one after the other."""
    span_s = advice_world("held-out", task.world).span_s
    known = [_day(task, number) for number in range(days)]
    jobs = [
        job
        for number, day in enumerate(known)
        for job in moved(day.jobs, number * span_s, f"{number + 1}.")
    ]
    return replace(known[0], jobs=tuple(jobs))


def _full(objective: str) -> str:
    """All parts, without admission where a refused job does not count."""
    on = _ALL if objective in COUNT_REFUSED else _ALL - {_ADMISSION}
    return Cell(on=on).text


def _runs(task: JudgeTask, chosen: Sequence[str]) -> dict[str, CellRun]:
    """The runs of all combinations on the judged day."""
    day = _day(task, _JUDGED_DAY)
    is_contended = advice_world("held-out", task.world).contention == "shared"
    texts = [
        *(one.text for one in everyone(is_contended=is_contended)),
        *(_full(objective) for objective in OBJECTIVES),
        *SINGLE_BEST.values(),
        *chosen,
    ]
    found = {}
    for text in dict.fromkeys(texts):
        try:
            found[text] = simulated(day, text, _JUDGED_DAY)
        except InvalidInput:
            continue  # it cannot run this day, so that no rule chooses it
    return found


def _costs(runs: Mapping[str, CellRun], objective: str) -> dict[str, float | None]:
    """A measure of each combination that may be compared, over the jobs that all completed."""
    may_refuse = objective in COUNT_REFUSED
    compared = {text: run for text, run in runs.items() if may_refuse or "admission=" not in text}
    measures = over_common_jobs(list(compared.values()))
    return {text: one[objective] for text, one in zip(compared, measures, strict=True)}


def _judged(
    task: JudgeTask, objective: str, rule: str, text: str, known: Mapping[str, float]
) -> Judged:
    return Judged(
        world=task.world, seed=task.seed, objective=objective, history=0, rule=rule,
        scheduler=text, regret=_regret(objective, known[text], min(known.values())),
    )  # fmt: skip


def _regret(objective: str, cost: float, least: float) -> float:
    """Cost over the least cost; bills have half a dollar added, so that cents do not count."""
    floor = _CHEAP_USD if objective == "bill_usd" else 0.0
    assert MEASURES[objective], "less is better"
    return (cost + floor) / (least + floor)


def _random(task: JudgeTask, objective: str, known: Mapping[str, float]) -> Judged:
    """The mean over all combinations, in logarithms: one of them drawn at random."""
    least = min(known.values())
    logs = [math.log(_regret(objective, cost, least)) for cost in known.values()]
    return Judged(
        world=task.world, seed=task.seed, objective=objective, history=0, rule="random",
        scheduler="any", regret=math.exp(statistics.fmean(logs)),
    )  # fmt: skip


def _why(choice: Choice, best: str) -> str:
    """Why the best of the judged day was not chosen."""
    race = choice.race
    tried = {racer.candidate.text: racer for racer in race.tried}
    if best not in tried:
        return "the best was not tried"
    own, other = choice.best.mean(race.objective), tried[best].mean(race.objective)
    if len(tried[best].days) < len(choice.best.days):
        return "the best dropped out in the race"
    if race.chosen is None:
        return "no gain was clear on the history"
    if own is None or other is None or own <= other:
        return "the best was no better on the history"
    return "the best was better by little on the history, and has more parts"


# --- summary --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSummary:
    """One way to choose over all worlds. regret: geometric mean.  worst: the greatest.

    gap_closed: the share of the way from the single best to the best of all, in logarithms.
    """

    objective: str
    rule: str
    history: int
    regret: float
    worst: float
    gap_closed: float | None
    abstained: int
    choices: int


def summaries(found: Sequence[Judged]) -> Iterator[RuleSummary]:
    """Yield a line for each objective and way to choose."""
    for objective in OBJECTIVES:
        of_measure = [one for one in found if one.objective == objective]
        if not of_measure:
            continue
        base = _log_mean([one for one in of_measure if one.rule == "single best"])
        for rule, history in dict.fromkeys((one.rule, one.history) for one in of_measure):
            rows = [one for one in of_measure if (one.rule, one.history) == (rule, history)]
            own = _log_mean(rows)
            yield RuleSummary(
                objective=objective,
                rule=rule,
                history=history,
                regret=math.exp(own),
                worst=max(one.regret for one in rows),
                gap_closed=1 - own / base if base else None,
                abstained=sum(one.abstained for one in rows),
                choices=len(rows),
            )


def _log_mean(rows: Sequence[Judged]) -> float:
    return statistics.fmean(math.log(one.regret) for one in rows)


def advice_views(found: Sequence[Judged], seeds: int) -> list[Experiment]:
    """The regret of each way to choose, and each choice of advice that was not the best."""
    rows: list[Mapping[str, TableCell]] = [
        {
            "objective": one.objective,
            "choice": one.rule if not one.history else f"advise, {one.history} days",
            "regret": round(one.regret, 3),
            "worst": round(one.worst, 2),
            "gap closed": None if one.gap_closed is None else round(one.gap_closed, 2),
            "abstained": f"{one.abstained} of {one.choices}" if one.rule == "advise" else None,
        }
        for one in summaries(found)
    ]
    advised = [one for one in found if one.rule == "advise"]
    missed: list[Mapping[str, TableCell]] = [
        {
            "world": one.world,
            "seed": one.seed,
            "objective": one.objective,
            "days": one.history,
            "regret": round(one.regret, 3),
            "chosen": "fair" if one.abstained else one.scheduler,
            "why": one.why,
        }
        for one in advised
        if one.why
    ]
    best = len(advised) - len(missed)
    made = [
        Experiment(
            name="advise",
            title="Advice on the next day, against choices that need no history",
            setup=f"Twelve worlds that were not used to make it, {seeds} seeds each: advice sees 1,"
            " 3 or 7 days and is judged on another. Regret: cost over that of the best combination"
            " of that day, as a geometric mean; bills have $0.50 added.",
            rows=tuple(rows),
            why=f"{best} of {len(advised)} choices are the best of all for their day.",
        )
    ]
    if missed:
        made.append(
            Experiment(
                name="missed",
                title="Where advice was not the best, and why",
                setup="A regret of 1.05 is 5 % more than the best combination of that day.",
                rows=tuple(missed),
                why="A day differs from the days before it, which no history shows.",
            )
        )
    return made
