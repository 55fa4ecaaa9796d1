"""Overhead of a run: start, commit, and gaps between tasks and phases.

It is the elapsed time minus the simulated schedule of the run's own measured tasks. If phases
overlap it is below 0, and is fitted as such. Four models are tried: none, constant, growing with
the waves, growing with the tasks. The model with the least error on left-out settings is taken.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from sluice.estimate.fits import ModelFit, kept_by_fold
from sluice.estimate.run_setting import RunSetting

if TYPE_CHECKING:  # NumPy is imported where a fit is made, as in `fits`
    from sluice.estimate.least_squares import FloatArray

FEW_SETTINGS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Overhead in seconds: fixed_s + per_s * (waves, or tasks, or 0)."""

    name: str
    fixed_s: float
    per_s: float = 0.0

    def at_s(self, setting: RunSetting) -> float:
        """Seconds at a setting; below 0 if phases overlap."""
        return self.fixed_s + self.per_s * _COUNTS[self.name](setting)


_COUNTS: Mapping[str, Callable[[RunSetting], int]] = {
    "none": lambda _: 0,
    "constant": lambda _: 0,
    "by wave": lambda setting: setting.waves,
    "by task": lambda setting: setting.tasks,
}


class UnexplainedTime(NamedTuple):
    """Time of a run that its tasks do not explain, and its elapsed time, in seconds."""

    setting: RunSetting
    left_s: float
    elapsed_s: float


def fitted_overhead(found: Iterable[UnexplainedTime]) -> ModelFit[Overhead]:
    """Return the overhead model with the least error on left-out settings. found: one per run."""
    rest = _medians(found)
    if len(rest) < FEW_SETTINGS:
        only_s = median(one.left_s for one in rest)
        return ModelFit(Overhead(name="constant", fixed_s=only_s), None, "few settings", {})
    kept = kept_by_fold(len(rest))
    models = {name: _fitted(name, rest, kept) for name in _COUNTS}
    errors = {name: _left_out_error(by_fold[:-1], rest) for name, by_fold in models.items()}
    best = min(errors, key=lambda name: errors[name])
    why = f"least error of {len(errors)} models over {len(rest)} settings left out in turn"
    return ModelFit(models[best][-1], errors[best], why, errors)


def _medians(found: Iterable[UnexplainedTime]) -> list[UnexplainedTime]:
    by_setting: dict[RunSetting, list[UnexplainedTime]] = defaultdict(list)
    for one in found:
        by_setting[one.setting].append(one)
    return [
        UnexplainedTime(
            setting,
            median(one.left_s for one in repetitions),
            median(one.elapsed_s for one in repetitions),
        )
        for setting, repetitions in by_setting.items()
    ]


def _left_out_error(by_fold: Sequence[Overhead], rest: Sequence[UnexplainedTime]) -> float:
    """Mean absolute error over left-out settings, as a share of the elapsed time."""
    misses = [
        abs(model.at_s(one.setting) - one.left_s) / one.elapsed_s
        for fold, model in enumerate(by_fold)
        for one in rest[fold :: len(by_fold)]
    ]
    return math.fsum(misses) / len(misses)


def _fitted(name: str, rest: Sequence[UnexplainedTime], kept: FloatArray) -> list[Overhead]:
    """Weighted least squares with errors relative to the elapsed time, for each row of `kept`.

    The slope is at least 0.
    """
    if name == "none":
        return [Overhead(name=name, fixed_s=0.0)] * len(kept)
    import numpy as np

    counts = np.array([float(_COUNTS[name](one.setting)) for one in rest])
    left_s = np.array([one.left_s for one in rest])
    weights = kept * np.array([one.elapsed_s for one in rest]) ** -2.0
    total = weights.sum(-1)
    mean_count, mean_s = (weights * counts).sum(-1) / total, (weights * left_s).sum(-1) / total
    far = counts - mean_count[:, None]
    variance = (weights * far**2).sum(-1)
    joint = (weights * far * (left_s - mean_s[:, None])).sum(-1)
    # Equal counts have no slope; their mean can differ from them by rounding.
    is_sound = variance > 1e-18 * total * np.maximum(1.0, mean_count**2)
    per_s = np.where(is_sound, np.maximum(0.0, joint / np.where(is_sound, variance, 1.0)), 0.0)
    fixed_s = mean_s - per_s * mean_count
    return [
        Overhead(name=name, fixed_s=fixed, per_s=slope)
        for fixed, slope in zip(fixed_s.tolist(), per_s.tolist(), strict=True)
    ]
