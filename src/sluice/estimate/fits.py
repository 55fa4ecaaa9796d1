"""The length of a phase's tasks as a function of how it is cut, how big it is, and how crowded.

A curve is a *form* times a *slow-down*. Forms: constant; work (fixed + work/n for n tasks); size
(fixed + rate * bytes a task); table (a length for each task count seen, linear between). Tasks that
run side by side share processors and disks, so that beyond some number of them each slows down in
proportion to the crowd. Which form and which slow-down hold is chosen by leave-one-out error: each
setting is predicted by a fit to the others. The errors of all that were tried stay with the choice.

Fits minimise relative errors, over the median of each setting's repetitions, with no coefficient
below 0: tasks do not take less than no time because the input shrank.
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

FOLDS_MAX = 12  # beyond, settings are left out by groups
ROWS_MIN, ROWS_MAX = 3, 24  # of a table: two are a line, and very many are noise
FORM_SETTINGS_MIN = 3  # fewer cannot tell a slope from chance
# How much a task slows down when the crowd doubles beyond what has room; 1 = it shares fairly.
SLOWNESSES = np.array([*np.arange(0.05, 1.0, 0.05), *np.arange(1.0, 2.01, 0.1)])
# A richer curve must earn its place: by chance alone one of many is a little better.
GAIN_MIN = 0.1

One = TypeVar("One")
Model_co = TypeVar("Model_co", covariant=True)
FloatArray = NDArray[np.float64]


class Sample(NamedTuple):
    """What one phase of one run measured: the length, and what it is to be explained by."""

    tasks: int
    input_bytes: int
    crowd: float
    length_s: float


@dataclass(frozen=True, slots=True)
class ModelFit(Generic[Model_co]):
    """A model, how far off it is where it was not fitted, and what else was tried.

    error: mean absolute log-ratio of predicted to measured over left-out settings, which is about
    the relative error; None where there was nothing to leave out.
    alternatives: the same of every model that was tried, by name.
    """

    model: Model_co
    error: float | None
    why: str
    alternatives: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowDown:
    """Beyond `room` tasks side by side each takes longer, in proportion to the crowd."""

    room: float = math.inf
    slowness: float = 0.0

    def factor(self, crowd: float) -> float:
        """How many times longer a task takes than alone.

        >>> SlowDown(room=2, slowness=1.0).factor(crowd=4)
        2.0
        """
        return 1.0 + self.slowness * max(0.0, crowd / self.room - 1.0)

    @property
    def name(self) -> str:
        """As the choice of models names it; empty for none."""
        return f", slower beyond {self.room:g} at once" if self.slowness else ""


NO_SLOW_DOWN = SlowDown()


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthCurve:
    """Length of a task: (fixed_s + work_s/n + rate_s_per_byte * bytes/n), slowed down by a crowd.

    rows: instead of the first three, (task count, length) with rising counts.
    """

    form: str
    fixed_s: float = 0.0
    work_s: float = 0.0
    rate_s_per_byte: float = 0.0
    rows: tuple[tuple[int, float], ...] = ()
    slow_down: SlowDown = NO_SLOW_DOWN

    @property
    def name(self) -> str:
        """The form and the slow-down."""
        return self.form + self.slow_down.name

    def length_s(self, tasks: int, input_bytes: int, crowd: float) -> float:
        """Seconds of one task when the phase has so many, reading so much altogether.

        >>> LengthCurve(form="work", fixed_s=2.0, work_s=30.0).length_s(
        ...     10, input_bytes=0, crowd=1.0
        ... )
        5.0
        """
        alone_s = self.fixed_s + (self.work_s + self.rate_s_per_byte * input_bytes) / tasks
        if self.rows:
            alone_s = _between(self.rows, tasks)
        return alone_s * self.slow_down.factor(crowd)


def _between(rows: Sequence[tuple[int, float]], tasks: int) -> float:
    """Linear between the rows, constant outside."""
    right = bisect_left(rows, (tasks,))
    if right in {0, len(rows)}:
        return rows[min(right, len(rows) - 1)][1]
    (low, low_s), (high, high_s) = rows[right - 1], rows[right]
    return low_s + (tasks - low) / (high - low) * (high_s - low_s)


def fitted_curve(samples: Iterable[Sample]) -> ModelFit[LengthCurve]:
    """The curve that predicts left-out settings best. Needs a sample of a length above 0."""
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


# --- what is tried --------------------------------------------------------------------------------

CurveFitter = Callable[[Sequence[Sample]], LengthCurve]


def _candidates(settings: Sequence[Sample]) -> Iterator[tuple[str, CurveFitter]]:
    """Name and fitter of each model that so many different settings can tell, simplest first."""
    for room in _rooms(settings):
        end = "" if math.isinf(room) else f", slower beyond {room:g} at once"
        for form, fitter in _forms(settings):
            yield form + end, _with_room(fitter, room)


def _with_room(
    fitter: Callable[[Sequence[Sample], float], LengthCurve], room: float
) -> CurveFitter:
    return lambda settings: fitter(settings, room)


def _rooms(settings: Sequence[Sample]) -> list[float]:
    """How many tasks may run side by side before they slow down: for all numbers, 1, 2, 4, .."""
    crowds = {sample.crowd for sample in settings}
    rooms = [math.inf]
    if len(crowds) > 1 and len(settings) >= FORM_SETTINGS_MIN:
        room = 1.0
        while room < max(crowds):
            rooms.append(room)
            room *= 2
    return rooms


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


def _constant(settings: Sequence[Sample], room: float) -> LengthCurve:
    fixed_s, _, slow_down = _affine(settings, None, room)
    return LengthCurve(form="constant", fixed_s=fixed_s, slow_down=slow_down)


def _work(settings: Sequence[Sample], room: float) -> LengthCurve:
    shares = np.array([1 / sample.tasks for sample in settings])
    fixed_s, work_s, slow_down = _affine(settings, shares, room)
    return LengthCurve(form="work", fixed_s=fixed_s, work_s=work_s, slow_down=slow_down)


def _size(settings: Sequence[Sample], room: float) -> LengthCurve:
    sizes = np.array([sample.input_bytes / sample.tasks for sample in settings])
    fixed_s, rate, slow_down = _affine(settings, sizes, room)
    return LengthCurve(form="size", fixed_s=fixed_s, rate_s_per_byte=rate, slow_down=slow_down)


def _table(settings: Sequence[Sample], room: float) -> LengthCurve:
    counts, places = np.unique([sample.tasks for sample in settings], return_inverse=True)
    inverse, slownesses = _inverse_lengths(settings, room)
    per_count = np.eye(len(counts))[places]  # which setting tells of which row
    rows = (inverse @ per_count) / (inverse**2 @ per_count)
    misses = (rows[:, places] * inverse - 1) ** 2
    best = int(misses.sum(axis=1).argmin())
    return LengthCurve(
        form="table",
        rows=tuple(zip(counts.tolist(), rows[best].tolist(), strict=True)),
        slow_down=_slow_down(room, slownesses[best]),
    )


# --- relative least squares, for all slownesses at once -------------------------------------------


def _affine(
    settings: Sequence[Sample], column: FloatArray | None, room: float
) -> tuple[float, float, SlowDown]:
    """Fixed part, slope over the column, and slow-down, neither part below 0."""
    one, slownesses = _inverse_lengths(settings, room)
    fixed = one.sum(axis=1) / (one**2).sum(axis=1)
    options = [(fixed, np.zeros_like(fixed))]
    # Of runs that all read nothing, there is no slope to be told.
    if column is not None and column.max() > 0:
        # Scaled, so that bytes and shares are solved for alike.
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
    return float(a[best]), float(b[best]) / scale, _slow_down(room, slownesses[best])


def _with_slope(one: FloatArray, two: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Both parts free, and the slope alone."""
    a11, a12, a22 = (one**2).sum(1), (one * two).sum(1), (two**2).sum(1)
    b1, b2 = one.sum(1), two.sum(1)
    determinant = a11 * a22 - a12**2
    is_sound = determinant > 1e-12 * a11 * a22
    safe = np.where(is_sound, determinant, 1.0)
    fixed = np.where(is_sound, (b1 * a22 - b2 * a12) / safe, -1.0)
    slope = np.where(is_sound, (b2 * a11 - b1 * a12) / safe, -1.0)
    return [(fixed, slope), (np.zeros_like(a22), b2 / a22)]


def _inverse_lengths(settings: Sequence[Sample], room: float) -> tuple[FloatArray, FloatArray]:
    """Slow-down over measured length: a row for each slowness, a column for each setting."""
    lengths_s = np.array([sample.length_s for sample in settings])
    if math.isinf(room):
        return 1.0 / lengths_s[None, :], np.zeros(1)
    crowds = np.array([sample.crowd for sample in settings])
    excess = np.maximum(0.0, crowds / room - 1.0)
    return (1.0 + SLOWNESSES[:, None] * excess) / lengths_s, SLOWNESSES


def _slow_down(room: float, slowness: float) -> SlowDown:
    return NO_SLOW_DOWN if math.isinf(room) else SlowDown(room=room, slowness=float(slowness))


# --- leaving out ----------------------------------------------------------------------------------


def _medians(samples: Iterable[Sample]) -> list[Sample]:
    """One sample a setting: the median of its repetitions, which no single bad run moves."""
    lengths_s: dict[tuple[int, int, float], list[float]] = defaultdict(list)
    for sample in samples:
        lengths_s[sample.tasks, sample.input_bytes, sample.crowd].append(sample.length_s)
    return [Sample(*setting, median(found)) for setting, found in sorted(lengths_s.items())]


def _left_out_error(fit: CurveFitter, settings: Sequence[Sample]) -> float | None:
    """Mean absolute log-ratio over the settings, each predicted from those of other folds."""
    misses = []
    for left_out, kept in folds(settings):
        curve = fit(kept)
        for sample in left_out:
            told_s = curve.length_s(sample.tasks, sample.input_bytes, sample.crowd)
            if not 0 < told_s < math.inf:
                return None
            misses.append(abs(math.log(told_s / sample.length_s)))
    return math.fsum(misses) / len(misses)


def folds(settings: Sequence[One]) -> Iterator[tuple[Sequence[One], Sequence[One]]]:
    """(left out, kept), each setting left out once; one by one where there are not too many."""
    count = min(FOLDS_MAX, len(settings))
    for fold in range(count):
        left_out = settings[fold::count]
        yield left_out, [one for index, one in enumerate(settings) if index % count != fold]
