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
from typing import NamedTuple

from sluice.estimate.fits import ModelFit, folds
from sluice.estimate.run_setting import RunSetting

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
    errors = {name: _left_out_error(name, rest) for name in _COUNTS}
    best = min(errors, key=lambda name: errors[name])
    why = f"least error of {len(errors)} models over {len(rest)} settings left out in turn"
    return ModelFit(_fitted(best, rest), errors[best], why, errors)


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


def _left_out_error(name: str, rest: Sequence[UnexplainedTime]) -> float:
    """Mean absolute error over left-out settings, as a share of the elapsed time."""
    misses = []
    for left_out, kept in folds(rest):
        model = _fitted(name, kept)
        misses += [abs(model.at_s(one.setting) - one.left_s) / one.elapsed_s for one in left_out]
    return math.fsum(misses) / len(misses)


def _fitted(name: str, rest: Sequence[UnexplainedTime]) -> Overhead:
    """Weighted least squares with errors relative to the elapsed time; the slope is at least 0."""
    if name == "none":
        return Overhead(name=name, fixed_s=0.0)
    points = [(one.elapsed_s**-2, float(_COUNTS[name](one.setting)), one.left_s) for one in rest]
    total = math.fsum(weight for weight, _, _ in points)
    mean_count = math.fsum(weight * count for weight, count, _ in points) / total
    mean_s = math.fsum(weight * left_s for weight, _, left_s in points) / total
    variance = math.fsum(weight * (count - mean_count) ** 2 for weight, count, _ in points)
    if variance <= 0:
        return Overhead(name=name, fixed_s=mean_s)
    joint = math.fsum(w * (count - mean_count) * (left - mean_s) for w, count, left in points)
    per_s = max(0.0, joint / variance)
    return Overhead(name=name, fixed_s=mean_s - per_s * mean_count, per_s=per_s)
