"""The effect of each part: the half fraction in all worlds, and one change at a time.

Source: loop spec, sections 4 and 5.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sluice.bootstrap.advising.measures import MEASURES, composition_of_text, over_common_jobs
from sluice.estimate.paired_difference import LEVEL, PairedDifference, t_quantile
from sluice.reproductions.loop.cells import (
    ADMISSIONS,
    EXPECTATIONS,
    EXPECTING,
    FACTORS,
    MACHINES,
    NONE,
    ONE_BY_ONE,
    PLANNED,
    Cell,
    design,
)
from sluice.reproductions.loop.effects import Effect, effects_on
from sluice.reproductions.loop.runs import Task, all_carried_out
from sluice.reproductions.loop.worlds import WORLDS

OnFraction = Callable[[float], None]
Measures = Mapping[str, float | None]
_SHOWN = ("bill_usd", "deadlines_met", "response_s", "adhoc_wait_s_p95", "fairness_worst")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """A combination in a world. by_seed: its measures.  name: short.  text: as for `compare`."""

    name: str
    text: str
    by_seed: tuple[Measures, ...]

    def mean(self, measure: str) -> float | None:
        """Over the seeds; None if a seed lacks it."""
        known = [one[measure] for one in self.by_seed]
        values = [one for one in known if one is not None]
        return math.fsum(values) / len(values) if len(values) == len(known) else None

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "name": self.name,
            "scheduler": self.text,
            "composition": composition_of_text(self.text),
            "measures": {name: self._interval(name) for name in MEASURES},
        }

    def _interval(self, measure: str) -> dict[str, float | None]:
        values = [one for one in (row[measure] for row in self.by_seed) if one is not None]
        if len(values) < len(self.by_seed):
            return {"mean": None, "low": None, "high": None}
        mean = math.fsum(values) / len(values)
        if len(values) == 1:
            return {"mean": mean, "low": None, "high": None}
        error = statistics.stdev(values) / math.sqrt(len(values))
        reach = t_quantile(len(values) - 1, LEVEL) * error
        return {"mean": mean, "low": mean - reach, "high": mean + reach}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldResult:
    """All combinations in a world. effects: of the factors; none for one change at a time.

    bases: with what a combination is compared, by its name; *none* without an entry.
    """

    world: str
    cells: tuple[CellResult, ...]
    effects: tuple[Effect, ...] = ()
    bases: Mapping[str, str] = field(default_factory=dict)

    def cell(self, name: str) -> CellResult:
        """The combination of that name."""
        return next(one for one in self.cells if one.name == name)

    def best(self, count: int) -> list[CellResult]:
        """The combinations with the lowest bills, the lowest first."""
        known = [one for one in self.cells if one.mean("bill_usd") is not None]
        return sorted(known, key=lambda one: (one.mean("bill_usd") or 0.0, one.name))[:count]

    def effect(self, factor: str, measure: str) -> Effect | None:
        """The effect of a factor on a measure; None if it is not known."""
        for one in self.effects:
            if one.factor == factor and one.measure == measure:
                return one
        return None

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "cells": [one.document() for one in self.cells],
            "effects": [
                {
                    "factor": one.factor, "measure": one.measure, "mean": one.mean,
                    "low": one.low, "high": one.high, "share_of_none": one.share,
                    "p": one.p, "starred": one.starred,
                }
                for one in self.effects
            ],
            "sentences": list(sentences(self)) if self.effects else [],
        }  # fmt: skip


def factorial(
    seeds: int, *, worlds: Sequence[str] | None = None, on_fraction: OnFraction = lambda _: None
) -> list[WorldResult]:
    """All cells of the design in these worlds (None: all), and the effects of the factors."""
    all_cells = design()
    named = {cell.name: cell.text for cell in all_cells}
    found = _measured(named, worlds, seeds, on_fraction)
    return [
        WorldResult(world=world, cells=tuple(each), effects=tuple(_effects(all_cells, each)))
        for world, each in found.items()
    ]


def expectations(
    seeds: int, *, worlds: Sequence[str] | None = None, on_fraction: OnFraction = lambda _: None
) -> list[WorldResult]:
    """Combinations that depend on profiles, with true, learned and wrong ones (factor H)."""
    return _varied(EXPECTING, EXPECTATIONS, seeds, worlds, on_fraction)


def plans(
    seeds: int, *, worlds: Sequence[str] | None = None, on_fraction: OnFraction = lambda _: None
) -> list[WorldResult]:
    """Combinations with and without the caps of a plan for the jobs of one tenant (factor P)."""
    return _varied(PLANNED, ("planned",), seeds, worlds, on_fraction)


def _varied(
    cells: Sequence[str],
    variants: Sequence[str],
    seeds: int,
    worlds: Sequence[str] | None,
    on_fraction: OnFraction,
) -> list[WorldResult]:
    """Combinations, by their letters, in the worlds as they are and in variants of them."""
    named, of_world, bases = {}, {}, {}
    for letters in cells:
        cell = Cell(on=frozenset(letters))
        for variant in ("", *variants):
            name = f"{cell.name}, {variant}" if variant else cell.name
            named[name], of_world[name], bases[name] = cell.text, variant, cell.name
    found = _measured(named, worlds, seeds, on_fraction, of_world)
    return [
        WorldResult(world=world, cells=tuple(each), bases=bases) for world, each in found.items()
    ]


def admissions(
    seeds: int, *, worlds: Sequence[str] | None = None, on_fraction: OnFraction = lambda _: None
) -> list[WorldResult]:
    """The bounds of admission, each against admitting every job."""
    found = _measured(ADMISSIONS, worlds, seeds, on_fraction)
    bases = dict.fromkeys(ADMISSIONS, next(iter(ADMISSIONS)))
    return [
        WorldResult(world=world, cells=tuple(each), bases=bases) for world, each in found.items()
    ]


def machines(
    seeds: int, *, worlds: Sequence[str] | None = None, on_fraction: OnFraction = lambda _: None
) -> list[WorldResult]:
    """Tasks placed by what nodes have left (RAS), and VMs for each job (factor M)."""
    named = {"none": NONE, **{name: text for name, (text, _) in MACHINES.items()}}
    variants = {name: variant for name, (_, variant) in MACHINES.items()}
    found = _measured(named, worlds, seeds, on_fraction, variants)
    return [WorldResult(world=world, cells=tuple(each)) for world, each in found.items()]


def one_by_one(
    seeds: int, *, worlds: Sequence[str] | None = None, on_fraction: OnFraction = lambda _: None
) -> list[WorldResult]:
    """One change of *none*, and each factor taken out of *full*."""
    letters = frozenset(one.letter for one in FACTORS)
    named = {"none": NONE, "full": Cell(on=letters).text}
    for name, text in ONE_BY_ONE.items():
        named[name] = text if "order=" in text or "slots=containers" in text else f"{NONE}+{text}"
    for letter in sorted(letters):
        # Typed slots cannot keep a promise of containers, so that admission comes with lent ones.
        added = frozenset("AL") if letter == "A" else frozenset(letter)
        left = letters - (frozenset("AL") if letter == "L" else frozenset(letter))
        named[f"none with {''.join(sorted(added))}"] = Cell(on=added).text
        named[f"full without {''.join(sorted(letters - left))}"] = Cell(on=left).text
    found = _measured(named, worlds, seeds, on_fraction)
    return [WorldResult(world=world, cells=tuple(each)) for world, each in found.items()]


def _measured(
    named: Mapping[str, str],
    worlds: Sequence[str] | None,
    seeds: int,
    on_fraction: OnFraction,
    variants: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, list[CellResult]]:
    """Combinations by world. named: their texts.  variants: of the worlds, for some of them."""
    worlds = tuple(WORLDS) if worlds is None else worlds
    tasks = [
        Task(world, seed, text, variants.get(name, ""))
        for world in worlds
        for seed in range(seeds)
        for name, text in named.items()
    ]
    runs = iter(all_carried_out(tasks, on_fraction))
    found: dict[str, list[CellResult]] = {}
    for world in worlds:
        by_seed = [over_common_jobs([next(runs) for _ in named]) for _ in range(seeds)]
        found[world] = [
            CellResult(name=name, text=text, by_seed=tuple(seed[index] for seed in by_seed))
            for index, (name, text) in enumerate(named.items())
        ]
    return found


def _effects(all_cells: Sequence[Cell], found: Sequence[CellResult]) -> Iterator[Effect]:
    seeds = len(found[0].by_seed)
    by_seed = [[cell.by_seed[seed] for cell in found] for seed in range(seeds)]
    for measure in MEASURES:
        yield from effects_on(measure, all_cells, by_seed)


# --- sentences ------------------------------------------------------------------------------------

_COUNTERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "A": (("refused", "{:.0f} jobs a seed are refused more"),
          ("refused_feasible", "{:.0f} of them are done in time where they are admitted")),
    "O": (("idle_share", "slots are idle {:+.0%} of the time"),
          ("adhoc_wait_s_p95", "small questions wait {:+.0f} s (p95)")),
    "L": (("response_s", "a response takes {:+.0f} s"),
          ("idle_share", "slots are idle {:+.0%} of the time")),
    "F": (("adhoc_wait_s_p95", "small questions wait {:+.0f} s (p95)"),),
    "S": (("wasted_share", "{:+.1%} of all work is thrown away"),),
    "G": (("adhoc_wait_s_p95", "small questions wait {:+.0f} s (p95)"),
          ("fairness_worst", "the worst tenant gets {:+.2f} of its share")),
}  # fmt: skip


def sentences(result: WorldResult) -> Iterator[str]:
    """Yield what helps and what hurts in a world, with the counters behind it."""
    names = {one.letter: one.name for one in FACTORS}
    for letter, name in names.items():
        for measure, less_is_better in (("bill_usd", True), ("deadlines_met", False)):
            effect = result.effect(letter, measure)
            if effect is None or not effect.starred:
                continue
            is_worse = (effect.mean > 0) == less_is_better
            verb = "hurts" if is_worse else "helps"
            facts = "; ".join(_facts(result, letter))
            yield f"{result.world}: {letter} ({name}) {verb}: {_shown(measure, effect)}; {facts}."
    for effect in result.effects:
        if len(effect.factor) > 1 and effect.measure == "bill_usd" and effect.starred:
            first, second = (names[letter] for letter in effect.factor)
            relation = "cost more" if effect.mean > 0 else "save more"
            yield (
                f"{result.world}: {first} and {second} together {relation} than each by itself:"
                f" {_shown('bill_usd', effect)}."
            )


def _facts(result: WorldResult, letter: str) -> Iterator[str]:
    for measure, text in _COUNTERS[letter]:
        effect = result.effect(letter, measure)
        if effect is not None:
            yield text.format(effect.mean)


def _shown(measure: str, effect: Effect) -> str:
    if measure == "bill_usd":
        share = "" if effect.share is None else f" ({effect.share:+.0%} of none)"
        sign = "+" if effect.mean >= 0 else "-"
        return f"bill {sign}${abs(effect.mean):.2f}{share}"
    return f"deadlines met {effect.mean:+.0%}"


def differences(
    result: WorldResult, counters: Sequence[str] = ()
) -> Iterator[dict[str, str | float | None]]:
    """Each combination against the one that it is a change of: a row for each.

    counters: measures that are shown as they are, after the differences.
    """
    for cell in result.cells:
        first = result.cell(result.bases.get(cell.name, "none"))
        row: dict[str, str | float | None] = {"world": result.world, "scheduler": cell.name}
        for measure in _SHOWN:
            before, after = ([one[measure] for one in each.by_seed] for each in (first, cell))
            found = PairedDifference.of(before, after)
            if found is None:
                row[measure] = None
                continue
            star = " *" if found.is_clear else ""
            row[measure] = f"{found.mean:+.2f}{star}"
        for measure in counters:
            mean = cell.mean(measure)
            row[measure] = None if mean is None else round(mean, 1)
        yield row
