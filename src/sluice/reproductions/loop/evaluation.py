"""`sluice reproduce loop`: the experiments of the ablation, as tables and as one document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.bootstrap.advising.measures import MEASURES
from sluice.reproductions.loop.factorial import (
    WorldResult,
    differences,
    factorial,
    one_by_one,
    sentences,
)
from sluice.reproductions.runner import Cell, Evaluation, Experiment, OnProgress, Reproduction

OnFraction = Callable[[float], None]
_SHOWN = ("bill_usd", "deadlines_met", "response_s", "adhoc_wait_s_p95", "fairness_worst")
_BEST = 5
_SETUP = (
    "Four tenants on 8 nodes for an hour; each seed draws jobs and lengths, and all combinations of"
    " a seed see the same tasks."
)
_NAMES = (
    "A admission=capacity, O release=on-demand, L slots=lent, F order=ltrf, S copies=late, G"
    " goals=guarded"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LoopReproduction(Reproduction):
    """The ablation. worlds: by name, all combinations and effects."""

    worlds: Mapping[str, WorldResult] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        found = {name: world.document() for name, world in self.worlds.items()}
        return {
            "reproduction": self.name,
            "title": self.title,
            "worlds": found,
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
        on_progress: OnProgress,
        on_fraction: OnFraction = lambda _: None,
    ) -> Reproduction:
        """The named experiments (by default the factorial one)."""
        chosen = names or (next(iter(self.timed)),)
        made: list[Experiment] = []
        worlds: dict[str, WorldResult] = {}
        for number, name in enumerate(chosen):
            on_progress(name)

            def on_part(share: float, done: int = number) -> None:
                on_fraction((done + share) / len(chosen))

            measure = {"factorial": factorial, "one-by-one": one_by_one}[name]
            results = measure(seeds or self.seeds, on_fraction=on_part)
            show = {"factorial": factorial_views, "one-by-one": one_by_one_views}[name]
            made += show(results, seeds or self.seeds)
            for result in results:
                known = worlds.get(result.world)
                worlds[result.world] = result if known is None or result.effects else known
        return LoopReproduction(
            name=self.name,
            title=self.title,
            experiments=tuple(made),
            left_out=self.left_out,
            worlds=worlds,
        )


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


def one_by_one_views(results: Sequence[WorldResult], seeds: int) -> list[Experiment]:
    """One change at a time: against none, and each part taken out of all."""
    rows = [row for result in results for row in differences(result, "none")]
    return [
        Experiment(
            name="one-by-one",
            title="One change at a time, against none of the parts",
            setup=f"{_SETUP} {seeds} seeds. {_NAMES}. * excludes 0 before any correction.",
            rows=tuple(rows),
            why="`full without X` shows what X adds to all the others.",
        )
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _factorial(seeds: int, on_progress: OnProgress) -> Experiment:
    """Every combination of six parts, in four worlds"""
    on_progress("factorial")
    return factorial_views(factorial(seeds), seeds)[0]


def _one_by_one(seeds: int, on_progress: OnProgress) -> Experiment:
    """One change of none or of all of the parts at a time"""
    on_progress("one-by-one")
    return one_by_one_views(one_by_one(seeds), seeds)[0]


EVALUATION = LoopEvaluation(
    name="loop",
    title="What each part of a scheduler adds",
    timed={"factorial": (_factorial, 4.0), "one-by-one": (_one_by_one, None)},
    left_out={"live": "The live part runs real processes for half an hour; see docs/loop.md."},
)

assert set(_SHOWN) <= set(MEASURES)
