"""Effects of factors as contrasts within a seed, with intervals, and stars after Holm's correction.

The effect of a factor is the mean over the cells where it is on, minus that where it is off, as
`cells.contrasts` weighs them. Each seed gives one value of each, and
its spread over the seeds gives the interval. Source: loop spec, section 4; S. Holm, "A Simple
Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.estimate.paired_difference import LEVEL, t_probability, t_quantile
from sluice.reproductions.loop.cells import Cell, contrasts

Measures = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One effect on one measure, in its unit. factor: one letter, or two of an interaction.

    low, high: of the interval; None with one seed.  share: of the mean of *none*; None if it is 0.
    p: of no effect at all.  starred: whether it is one after Holm's correction.
    """

    factor: str
    measure: str
    mean: float
    low: float | None
    high: float | None
    share: float | None
    p: float
    starred: bool = False


def effects_on(
    measure: str, cells: Sequence[Cell], by_seed: Sequence[Sequence[Measures]]
) -> list[Effect]:
    """Main effects and two-way interactions on one measure, in the order of the factors.

    by_seed: per seed, the measures of each cell of the design. A measure that some cell lacks has
    no effects.
    """
    rows = [
        {
            cell: value
            for cell, one in zip(cells, seed, strict=True)
            if (value := one[measure]) is not None
        }
        for seed in by_seed
    ]
    if any(len(row) < len(cells) for row in rows):
        return []
    none = next(cell for cell in cells if not cell.on)
    base = math.fsum(row[none] for row in rows) / len(rows)
    found = []
    for name, weights in contrasts().items():
        values = [math.fsum(weight * row[cell] for cell, weight in weights.items()) for row in rows]
        found.append(_effect(name, measure, values, base))
    return _starred(found)


def _effect(factor: str, measure: str, values: Sequence[float], base: float) -> Effect:
    mean = math.fsum(values) / len(values)
    share = mean / base if base else None
    if len(values) == 1:
        return Effect(
            factor=factor, measure=measure, mean=mean, low=None, high=None, share=share, p=1.0
        )
    error = statistics.stdev(values) / math.sqrt(len(values))
    reach = t_quantile(len(values) - 1, LEVEL) * error
    return Effect(
        factor=factor, measure=measure, mean=mean, low=mean - reach, high=mean + reach,
        share=share, p=_p(mean, error, len(values) - 1),
    )  # fmt: skip


def _p(mean: float, error: float, freedom: int) -> float:
    """The probability of a mean as far from 0, if there is no effect."""
    if not error:
        return 0.0 if mean else 1.0
    return 1.0 - t_probability(abs(mean) / error, freedom)


def _starred(effects: Sequence[Effect]) -> list[Effect]:
    """Stars in the order of the p-values, until one is too large for those that are left."""
    order = sorted(range(len(effects)), key=lambda index: (effects[index].p, index))
    starred = set()
    for rank, index in enumerate(order):
        if effects[index].p > (1 - LEVEL) / (len(effects) - rank):
            break
        starred.add(index)
    return [replace(effect, starred=index in starred) for index, effect in enumerate(effects)]
