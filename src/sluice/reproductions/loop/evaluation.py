"""`sluice reproduce loop`: the experiments of the ablation, as tables and as one document.

An experiment needs all combinations in a world, and most of them need the same ones. So the
evaluation simulates each world once, keeps the results, and makes the tables of the experiments
that were asked for from them. An experiment by itself is the same with one part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sluice.bootstrap.advising.measures import MEASURES
from sluice.reproductions.loop.factorial import (
    WorldResult,
    admissions,
    differences,
    expectations,
    factorial,
    machines,
    one_by_one,
    plans,
    sentences,
)
from sluice.reproductions.loop.judging import Judged, advice_views, judgements
from sluice.reproductions.loop.live import PLACES, LiveResult, live_results
from sluice.reproductions.loop.other_views import live_views, training_views
from sluice.reproductions.loop.training import trained
from sluice.reproductions.loop.worlds import MORE_WORLDS
from sluice.reproductions.runner import (
    Cell,
    Evaluation,
    Experiment,
    Maker,
    OnProgress,
    Reproduction,
)

OnFraction = Callable[[float], None]
_SHOWN = ("bill_usd", "deadlines_met", "response_s", "adhoc_wait_s_p95", "fairness_worst")
_BEST = 5
_SEEDS_A_WORLD = 10  # seeds of the command for each seed of a held-out world
_LIVE_SEEDS = 3  # at most: a seed takes 8 minutes, on Ray 12
_TRAINING_DAYS = 3  # at most, of each training world
_SETUP = (
    "Four tenants on 8 nodes for an hour; each seed draws jobs and lengths, and all combinations of"
    " a seed see the same tasks."
)
_NAMES = (
    "A admission=capacity, O release=on-demand, L slots=lent, F order=ltrf, S copies=late, G"
    " goals=guarded"
)
_BUSY = ("free-high", "mix-high")


class _Measure(Protocol):
    """An experiment of `factorial` that measures changes."""

    def __call__(
        self, seeds: int, *, worlds: Sequence[str] | None, on_fraction: OnFraction
    ) -> list[WorldResult]:
        """The results by world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """An experiment of changes. of: it has one in so many of the seeds.

    worlds: None for all four.  counters: measures that are shown as they are.
    """

    title: str
    measure: _Measure
    why: str
    of: int = 5
    worlds: Sequence[str] | None = None
    counters: Sequence[str] = ()


_PARTS: Mapping[str, _Part] = {
    "one-by-one": _Part(
        title="One change of none or of all of the parts at a time",
        measure=one_by_one,
        of=1,
        why="`full without X` shows what X adds to all the others.",
    ),
    "admission": _Part(
        title="Which jobs admission refuses, by its bound",
        measure=admissions,
        of=1,
        why="Each is compared with admitting every job, over lent slots with copies. Of the refused"
        " jobs, refused_feasible are in time under some bound that refuses none.",
        counters=("refused", "refused_feasible", "promises_broken"),
    ),
    "expectations": _Part(
        title="Profiles that are learned or wrong, for the parts that go by them",
        measure=expectations,
        worlds=_BUSY,
        why="Each is compared with the same parts and true profiles. Predicted: means of five"
        " earlier days.",
    ),
    "plan": _Part(
        title="Slots by a plan for the jobs of one tenant, as caps",
        measure=plans,
        why="Each is compared with the same parts without a plan. The plan at the knee is made for"
        " the etl jobs of the first hour; each of them then has a pool of its own, which also"
        " counts as a tenant in the worst share.",
    ),
    "machines": _Part(
        title="Tasks by what nodes have left (RAS), and VMs for each job",
        measure=machines,
        worlds=_BUSY,
        why="In a pool, the nodes are VMs, and each job has some of them to itself.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LoopReproduction(Reproduction):
    """The ablation. worlds: by name, all combinations and effects.

    choices: of advice and of others, in held-out worlds.  rounds: of real runs.
    """

    worlds: Mapping[str, WorldResult] = field(default_factory=dict)
    choices: tuple[Judged, ...] = ()
    rounds: tuple[LiveResult, ...] = ()

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        found = {name: world.document() for name, world in self.worlds.items()}
        return {
            "reproduction": self.name,
            "title": self.title,
            "worlds": found,
            "choices": [one.document() for one in self.choices],
            "rounds": [one.document() for one in self.rounds],
            "experiments": [experiment.document() for experiment in self.experiments],
            "left_out": dict(self.left_out),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvaluation(Evaluation):
    """The evaluation whose experiments share the runs that they are made of."""

    def run(
        self,
        names: Sequence[str],
        seeds: int | None,
        on_progress: Callable[[str], None],
        on_fraction: OnFraction = lambda _: None,
    ) -> Reproduction:
        """The named experiments (by default the factorial one)."""
        chosen = names or (next(iter(self.timed)),)
        seeds = seeds or self.seeds
        made = _Made()
        for number, name in enumerate(chosen):
            on_progress(name)

            def on_part(share: float, done: int = number) -> None:
                on_fraction((done + share) / len(chosen))

            made.add(name, seeds, on_part)
        return LoopReproduction(
            name=self.name,
            title=self.title,
            experiments=tuple(made.experiments),
            left_out=self.left_out,
            worlds=made.worlds,
            choices=tuple(made.choices),
            rounds=tuple(made.rounds),
        )


@dataclass(kw_only=True)
class _Made:
    """The experiments so far, and the results that they show."""

    experiments: list[Experiment] = field(default_factory=list)
    worlds: dict[str, WorldResult] = field(default_factory=dict)
    choices: list[Judged] = field(default_factory=list)
    rounds: list[LiveResult] = field(default_factory=list)

    def add(self, name: str, seeds: int, on_fraction: OnFraction) -> None:
        """Run one experiment.

        Advice has a tenth of the seeds: twelve worlds with eight days each. Live runs have three.
        """
        if name == "advise":
            few = max(1, seeds // _SEEDS_A_WORLD)
            self.choices += judgements(few, on_fraction)
            self.experiments += advice_views(self.choices, few)
        elif name == "training":
            few = min(seeds, _TRAINING_DAYS)
            self.experiments += training_views(trained(few, on_fraction=on_fraction), few)
        elif name in PLACES:
            few = min(seeds, _LIVE_SEEDS)
            found = live_results(few, place=name, on_fraction=on_fraction)
            self.rounds += found
            self.experiments += live_views(name, found, few)
        else:
            views, results = simulated_part(name, seeds, on_fraction)
            self.experiments += views
            for result in results:
                known = self.worlds.get(result.world)
                self.worlds[result.world] = result if known is None or result.effects else known


def simulated_part(
    name: str, seeds: int, on_fraction: OnFraction = lambda _: None
) -> tuple[list[Experiment], list[WorldResult]]:
    """The views and the results of an experiment that simulates combinations in worlds.

    The more a simulation takes, the fewer of the seeds it has.
    """
    if name == "factorial":
        results = factorial(seeds, on_fraction=on_fraction)
        return factorial_views(results, seeds), results
    if name == "more-worlds":
        few = max(2, seeds // 3)
        results = factorial(few, worlds=MORE_WORLDS, on_fraction=on_fraction)
        return factorial_views(results, few), results
    part = _PARTS[name]
    few = seeds if part.of == 1 else max(2, seeds // part.of)
    results = part.measure(few, worlds=part.worlds, on_fraction=on_fraction)
    return [_changes(name, results, few, part)], results


def factorial_views(results: Sequence[WorldResult], seeds: int) -> list[Experiment]:
    """The best combinations of each world, and the effects of each part."""
    rows: list[Mapping[str, Cell]] = []
    for result in results:
        best = result.best(_BEST)
        named = [*best, *(one for one in result.cells if one.name in {"none", "full"})]
        for cell in dict.fromkeys(one.name for one in named):
            found = result.cell(cell)
            rows.append(
                {"world": result.world, "parts": cell}
                | {measure: _rounded(found.mean(measure)) for measure in _SHOWN}
            )
    effects: list[Mapping[str, Cell]] = []
    for result in results:
        letters = [one for one in dict.fromkeys(e.factor for e in result.effects) if len(one) == 1]
        for letter in letters:
            row: dict[str, Cell] = {"world": result.world, "part": letter}
            for measure in _SHOWN:
                effect = result.effect(letter, measure)
                star = " *" if effect is not None and effect.starred else ""
                row[measure] = None if effect is None else f"{effect.mean:+.2f}{star}"
            effects.append(row)
    said = [sentence for result in results for sentence in sentences(result)]
    return [
        Experiment(
            name="factorial",
            title="The best combinations of each world, and none and all of the parts",
            setup=f"{_SETUP} {seeds} seeds; 25 combinations, with admission over lent slots only."
            f" {_NAMES}.",
            rows=tuple(rows),
            why="Sorted by the bill: rent until the last job ends, and penalties of missed jobs.",
        ),
        Experiment(
            name="effects",
            title="What each part adds, on average over the others",
            setup="* excludes no effect, after Holm's correction within a measure and world.",
            rows=tuple(effects),
            why=" ".join(said) or "No effect is clear; with one seed, none can be.",
        ),
    ]


def _changes(name: str, results: Sequence[WorldResult], seeds: int, part: _Part) -> Experiment:
    """A row for each combination: its differences to the one that it is a change of."""
    return Experiment(
        name=name,
        title=part.title,
        setup=f"{_SETUP} {seeds} seeds. {_NAMES}. * excludes 0 before any correction.",
        rows=tuple(row for result in results for row in differences(result, part.counters)),
        why=part.why,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _maker(name: str, summary: str) -> Maker:
    """An experiment by itself, as a runner takes it; its summary is what `--help` shows."""

    def experiment(seeds: int, on_progress: OnProgress) -> Experiment:
        on_progress(name)
        made = _Made()
        made.add(name, seeds, lambda _: None)
        return made.experiments[0]

    experiment.__doc__ = summary
    return experiment


_SUMMARIES: Mapping[str, str] = {
    "factorial": "Every combination of six parts, four worlds",
    "more-worlds": "The same with graphs, and at Facebook",
    **{name: part.title for name, part in _PARTS.items()},
    "training": "What advice expects of each combination, by worlds that it is not judged in",
    "advise": "Advice judged in worlds that it was not made in",
    "live": "Real runs, each predicted from the round before",
    "live-ray": "The same on a Ray cluster on this machine",
    "live-pools": "The same on pools of VMs of two types",
}
_MINUTES = {"factorial": 4.0}  # those that were measured

EVALUATION = LoopEvaluation(
    name="loop",
    title="What each part of a scheduler adds",
    timed={
        name: (_maker(name, summary), _MINUTES.get(name)) for name, summary in _SUMMARIES.items()
    },
    left_out={
        "foreign logs": "Held-out worlds made of published logs, which are not in the package."
    },
)

assert set(_SHOWN) <= set(MEASURES)
