"""Chooses a curve of task lengths, as a function of task count, input size and concurrency.

A curve is a *form* times a *slow-down*. The forms are: constant; work (fixed + work/n for n tasks);
size (fixed + rate * bytes per task); table (a length for each measured task count, linear between).
Concurrent tasks share processors and disks. So above some number of them each task slows down in
proportion to the concurrency.

The form and the slow-down are chosen by leave-one-out error: each setting is predicted by a fit to
the others. The fit to all settings would always prefer the model with most coefficients. The
errors of all models that were tried are kept with the choice.

A fit minimises relative errors, because a job has short and long tasks and both matter. It uses the
median of the repetitions of each setting. No coefficient is below 0: a smaller input never gives a
negative length.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Generic, TypeVar

from sluice.estimate.length_curves import LengthCurve, Sample

# Most commands read the types of fits and make none, so NumPy is imported where a fit is made.
if TYPE_CHECKING:
    from sluice.estimate.least_squares import CurvesByThreshold, CurveSystem, FloatArray

FOLDS_MAX = 12  # more settings than this are left out in groups
ROWS_MIN, ROWS_MAX = 3, 24  # of a table: two rows are a line, and very many follow the noise
FORM_SETTINGS_MIN = 3  # with fewer settings a slope cannot be distinguished from noise
# A later, richer model must be better by this share: by chance one of many models is a bit better.
GAIN_MIN = 0.1
ROUNDING_MAX = 1e-9  # two models that fit exactly differ by rounding only

Model_co = TypeVar("Model_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ModelFit(Generic[Model_co]):
    """A fitted model, its error on left-out settings, and the errors of the other models.

    error: mean absolute log-ratio of predicted to measured over left-out settings, which is about
    the relative error; None if nothing could be left out.
    alternatives: the same error of every model that was tried, by name.
    """

    model: Model_co
    error: float | None
    why: str
    alternatives: Mapping[str, float]


def fitted_curve(samples: Iterable[Sample]) -> ModelFit[LengthCurve]:
    """Return the curve with the least error on left-out settings. Lengths must be above 0."""
    settings = _medians(samples)
    if len(settings) == 1:
        only = settings[0]
        return ModelFit(
            LengthCurve(form="constant", fixed_s=only.length_s), None, "one setting only", {}
        )
    errors: dict[str, float] = {}
    best: LengthCurve | None = None
    for *by_fold, curve in _candidates(settings):
        error = _left_out_error(by_fold, settings)
        if error is None:
            continue
        errors[curve.name] = error
        if best is None or error < errors[best.name] * (1 - GAIN_MIN) - ROUNDING_MAX:
            best = curve
    assert best is not None, "a constant predicts a positive number"
    why = f"least error of {len(errors)} models over {len(settings)} settings left out in turn"
    return ModelFit(best, errors[best.name], why, errors)


def _candidates(settings: Sequence[Sample]) -> Iterator[Sequence[LengthCurve]]:
    """The models that these settings can support, simplest first: for each fold, then for all."""
    from sluice.estimate.least_squares import CurveSystem

    system = CurveSystem.of(settings, _thresholds(settings), kept_by_fold(len(settings)))
    for by_form in zip(*_forms(settings, system), strict=True):
        yield from by_form


def _thresholds(settings: Sequence[Sample]) -> list[float]:
    """Candidate thresholds of the slow-down: none (infinite), 1, 2, 4, ..."""
    concurrencies = {sample.concurrency for sample in settings}
    thresholds = [math.inf]
    if len(concurrencies) > 1 and len(settings) >= FORM_SETTINGS_MIN:
        threshold = 1.0
        while threshold < max(concurrencies):
            thresholds.append(threshold)
            threshold *= 2
    return thresholds


def _forms(settings: Sequence[Sample], system: CurveSystem) -> Iterator[CurvesByThreshold]:
    yield system.affine("constant", None)
    if len(settings) < FORM_SETTINGS_MIN:
        return
    if len({sample.tasks for sample in settings}) > 1:
        yield system.affine("work", _column(1 / sample.tasks for sample in settings))
    if len({sample.input_bytes / sample.tasks for sample in settings}) > 1:
        sizes = _column(sample.input_bytes / sample.tasks for sample in settings)
        yield system.affine("size", sizes)
    if ROWS_MIN <= len({sample.tasks for sample in settings}) <= ROWS_MAX:
        yield system.table()


def _column(values: Iterable[float]) -> FloatArray:
    import numpy as np

    return np.array(list(values))


def _medians(samples: Iterable[Sample]) -> list[Sample]:
    """One sample for each setting: the median of its repetitions, which is robust to outliers."""
    lengths_s: dict[tuple[int, int, float], list[float]] = defaultdict(list)
    for sample in samples:
        lengths_s[sample.tasks, sample.input_bytes, sample.concurrency].append(sample.length_s)
    return [Sample(*setting, median(found)) for setting, found in sorted(lengths_s.items())]


def _left_out_error(by_fold: Sequence[LengthCurve], settings: Sequence[Sample]) -> float | None:
    """Mean absolute log-ratio over the settings, each predicted by the curve of its fold.

    None if a prediction is not a positive number.
    """
    misses = []
    for fold, curve in enumerate(by_fold):
        for sample in settings[fold :: len(by_fold)]:
            predicted_s = curve.length_s(sample.tasks, sample.input_bytes, sample.concurrency)
            if not 0 < predicted_s < math.inf:
                return None
            misses.append(abs(math.log(predicted_s / sample.length_s)))
    return math.fsum(misses) / len(misses)


def kept_by_fold(settings: int) -> FloatArray:
    """1 where a fold keeps a setting: a row for each fold, then a row that keeps all.

    Each setting is left out of one fold, alone if there are few settings.

    >>> kept_by_fold(2).tolist()
    [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    import numpy as np

    folds = min(FOLDS_MAX, settings)
    kept = np.ones((folds + 1, settings))
    for fold in range(folds):
        kept[fold, fold::folds] = 0.0
    return kept
