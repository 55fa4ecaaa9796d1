"""Fits task length as a function of task count, input size and concurrency.

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
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

FOLDS_MAX = 12  # more settings than this are left out in groups
ROWS_MIN, ROWS_MAX = 3, 24  # of a table: two rows are a line, and very many follow the noise
FORM_SETTINGS_MIN = 3  # with fewer settings a slope cannot be distinguished from noise
# Slow-down of a task when the concurrency is twice the threshold; 1 means fair sharing.
SLOWNESSES = np.array([*np.arange(0.05, 1.0, 0.05), *np.arange(1.0, 2.01, 0.1)])
# A later, richer model must be better by this share: by chance one of many models is a bit better.
GAIN_MIN = 0.1

One = TypeVar("One")
Model_co = TypeVar("Model_co", covariant=True)
FloatArray = NDArray[np.float64]


class Sample(NamedTuple):
    """Task length measured in one phase of one run, and the variables that explain it."""

    tasks: int
    input_bytes: int
    concurrency: float
    length_s: float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowDown:
    """Above `threshold` concurrent tasks each task takes longer, in proportion to the excess."""

    threshold: float = math.inf
    slowness: float = 0.0

    def factor(self, concurrency: float) -> float:
        """How many times longer a task takes than alone.

        >>> SlowDown(threshold=2, slowness=1.0).factor(concurrency=4)
        2.0
        """
        return 1.0 + self.slowness * max(0.0, concurrency / self.threshold - 1.0)

    @property
    def name(self) -> str:
        """Part of the model's name; empty without a slow-down."""
        return f", slower beyond {self.threshold:g} at once" if self.slowness else ""


NO_SLOW_DOWN = SlowDown()


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthCurve:
    """Length of a task: (fixed_s + work_s/n + rate_s_per_byte * bytes/n) times the slow-down.

    rows: used instead of the first three: (task count, length) with rising counts.
    """

    form: str
    fixed_s: float = 0.0
    work_s: float = 0.0
    rate_s_per_byte: float = 0.0
    rows: tuple[tuple[int, float], ...] = ()
    slow_down: SlowDown = NO_SLOW_DOWN

    @property
    def name(self) -> str:
        """Name of the form and of the slow-down."""
        return self.form + self.slow_down.name

    def length_s(self, tasks: int, input_bytes: int, concurrency: float) -> float:
        """Seconds of one task of a phase with `tasks` tasks that read `input_bytes` in total.

        >>> curve = LengthCurve(form="work", fixed_s=2.0, work_s=30.0)
        >>> curve.length_s(10, input_bytes=0, concurrency=1.0)
        5.0
        """
        alone_s = self.fixed_s + (self.work_s + self.rate_s_per_byte * input_bytes) / tasks
        if self.rows:
            alone_s = _between(self.rows, tasks)
        return alone_s * self.slow_down.factor(concurrency)


def _between(rows: Sequence[tuple[int, float]], tasks: int) -> float:
    """Interpolate linearly between the rows; constant outside."""
    right = bisect_left(rows, (tasks,))
    if right in {0, len(rows)}:
        return rows[min(right, len(rows) - 1)][1]
    (low, low_s), (high, high_s) = rows[right - 1], rows[right]
    return low_s + (tasks - low) / (high - low) * (high_s - low_s)


def fitted_curve(samples: Iterable[Sample]) -> ModelFit[LengthCurve]:
    """Return the curve with the least error on left-out settings. Lengths must be above 0."""
    settings = _medians(samples)
    if len(settings) == 1:
        only = settings[0]
        return ModelFit(
            LengthCurve(form="constant", fixed_s=only.length_s), None, "one setting only", {}
        )
    fits = dict(_candidates(settings))
    errors: dict[str, float] = {}
    best = ""
    for name, fit in fits.items():
        error = _left_out_error(fit, settings)
        if error is None:
            continue
        errors[name] = error
        if not best or error < errors[best] * (1 - GAIN_MIN):
            best = name
    why = f"least error of {len(errors)} models over {len(settings)} settings left out in turn"
    return ModelFit(fits[best](settings), errors[best], why, errors)


# --- the models that are tried --------------------------------------------------------------------

CurveFitter = Callable[[Sequence[Sample]], LengthCurve]


def _candidates(settings: Sequence[Sample]) -> Iterator[tuple[str, CurveFitter]]:
    """Name and fitter of each model that these settings can support, simplest first."""
    for threshold in _thresholds(settings):
        end = "" if math.isinf(threshold) else f", slower beyond {threshold:g} at once"
        for form, fitter in _forms(settings):
            yield form + end, _with_threshold(fitter, threshold)


def _with_threshold(
    fitter: Callable[[Sequence[Sample], float], LengthCurve], threshold: float
) -> CurveFitter:
    return lambda settings: fitter(settings, threshold)


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


def _forms(
    settings: Sequence[Sample],
) -> Iterator[tuple[str, Callable[[Sequence[Sample], float], LengthCurve]]]:
    yield "constant", _constant
    if len(settings) < FORM_SETTINGS_MIN:
        return
    if len({sample.tasks for sample in settings}) > 1:
        yield "work", _work
    if len({sample.input_bytes / sample.tasks for sample in settings}) > 1:
        yield "size", _size
    if ROWS_MIN <= len({sample.tasks for sample in settings}) <= ROWS_MAX:
        yield "table", _table


def _constant(settings: Sequence[Sample], threshold: float) -> LengthCurve:
    fixed_s, _, slow_down = _affine(settings, None, threshold)
    return LengthCurve(form="constant", fixed_s=fixed_s, slow_down=slow_down)


def _work(settings: Sequence[Sample], threshold: float) -> LengthCurve:
    shares = np.array([1 / sample.tasks for sample in settings])
    fixed_s, work_s, slow_down = _affine(settings, shares, threshold)
    return LengthCurve(form="work", fixed_s=fixed_s, work_s=work_s, slow_down=slow_down)


def _size(settings: Sequence[Sample], threshold: float) -> LengthCurve:
    sizes = np.array([sample.input_bytes / sample.tasks for sample in settings])
    fixed_s, rate, slow_down = _affine(settings, sizes, threshold)
    return LengthCurve(form="size", fixed_s=fixed_s, rate_s_per_byte=rate, slow_down=slow_down)


def _table(settings: Sequence[Sample], threshold: float) -> LengthCurve:
    counts, places = np.unique([sample.tasks for sample in settings], return_inverse=True)
    inverse, slownesses = _inverse_lengths(settings, threshold)
    per_count = np.eye(len(counts))[places]  # maps each setting to the row of its task count
    rows = (inverse @ per_count) / (inverse**2 @ per_count)
    misses = (rows[:, places] * inverse - 1) ** 2
    best = int(misses.sum(axis=1).argmin())
    return LengthCurve(
        form="table",
        rows=tuple(zip(counts.tolist(), rows[best].tolist(), strict=True)),
        slow_down=_slow_down(threshold, slownesses[best]),
    )


# --- relative least squares, for all values of slowness at once -----------------------------------
#
# The model is linear in its coefficients once the slowness is fixed, so the normal equations of
# every slowness are solved together, in arrays. Dividing each equation by the measured length makes
# the residuals relative. A general nonlinear solver would be slower and could stop at a local
# optimum.


def _affine(
    settings: Sequence[Sample], column: FloatArray | None, threshold: float
) -> tuple[float, float, SlowDown]:
    """Fixed part, slope over the column, and slow-down; neither part is below 0.

    With two coefficients the non-negative optimum is one of three: both free, or one of them 0.
    All three are computed and the best valid one is taken.
    """
    one, slownesses = _inverse_lengths(settings, threshold)
    fixed = one.sum(axis=1) / (one**2).sum(axis=1)
    options = [(fixed, np.zeros_like(fixed))]
    # If no run read anything, the slope is undefined.
    if column is not None and column.max() > 0:
        # Scale the column, because bytes and 1/n differ by many orders of magnitude.
        scale = float(column.max())
        two = one * (column / scale)
        options += _with_slope(one, two)
    else:
        scale, two = 1.0, np.zeros_like(one)
    misses = [
        np.where((a < 0) | (b < 0), np.inf, ((a[:, None] * one + b[:, None] * two - 1) ** 2).sum(1))
        for a, b in options
    ]
    option, best = np.unravel_index(int(np.argmin(misses)), (len(misses), len(slownesses)))
    a, b = options[int(option)]
    return float(a[best]), float(b[best]) / scale, _slow_down(threshold, slownesses[best])


def _with_slope(one: FloatArray, two: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Solutions with both parts free, and with the slope alone."""
    a11, a12, a22 = (one**2).sum(1), (one * two).sum(1), (two**2).sum(1)
    b1, b2 = one.sum(1), two.sum(1)
    determinant = a11 * a22 - a12**2
    is_sound = determinant > 1e-12 * a11 * a22
    safe = np.where(is_sound, determinant, 1.0)
    fixed = np.where(is_sound, (b1 * a22 - b2 * a12) / safe, -1.0)
    slope = np.where(is_sound, (b2 * a11 - b1 * a12) / safe, -1.0)
    return [(fixed, slope), (np.zeros_like(a22), b2 / a22)]


def _inverse_lengths(settings: Sequence[Sample], threshold: float) -> tuple[FloatArray, FloatArray]:
    """Slow-down divided by measured length: a row for each slowness, a column for each setting."""
    lengths_s = np.array([sample.length_s for sample in settings])
    if math.isinf(threshold):
        return 1.0 / lengths_s[None, :], np.zeros(1)
    concurrencies = np.array([sample.concurrency for sample in settings])
    excess = np.maximum(0.0, concurrencies / threshold - 1.0)
    return (1.0 + SLOWNESSES[:, None] * excess) / lengths_s, SLOWNESSES


def _slow_down(threshold: float, slowness: float) -> SlowDown:
    return (
        NO_SLOW_DOWN
        if math.isinf(threshold)
        else SlowDown(threshold=threshold, slowness=float(slowness))
    )


# --- leave-one-out error --------------------------------------------------------------------------


def _medians(samples: Iterable[Sample]) -> list[Sample]:
    """One sample for each setting: the median of its repetitions, which is robust to outliers."""
    lengths_s: dict[tuple[int, int, float], list[float]] = defaultdict(list)
    for sample in samples:
        lengths_s[sample.tasks, sample.input_bytes, sample.concurrency].append(sample.length_s)
    return [Sample(*setting, median(found)) for setting, found in sorted(lengths_s.items())]


def _left_out_error(fit: CurveFitter, settings: Sequence[Sample]) -> float | None:
    """Mean absolute log-ratio over the settings, each predicted from the other folds.

    None if a prediction is not a positive number.
    """
    misses = []
    for left_out, kept in folds(settings):
        curve = fit(kept)
        for sample in left_out:
            predicted_s = curve.length_s(sample.tasks, sample.input_bytes, sample.concurrency)
            if not 0 < predicted_s < math.inf:
                return None
            misses.append(abs(math.log(predicted_s / sample.length_s)))
    return math.fsum(misses) / len(misses)


def folds(settings: Sequence[One]) -> Iterator[tuple[Sequence[One], Sequence[One]]]:
    """Yield (left out, kept). Each setting is left out once, alone if there are few settings."""
    count = min(FOLDS_MAX, len(settings))
    for fold in range(count):
        left_out = settings[fold::count]
        yield left_out, [one for index, one in enumerate(settings) if index % count != fold]
