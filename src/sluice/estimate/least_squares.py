"""Relative least squares for task lengths: every slow-down and every fold in one pass of arrays.

A curve is linear in its coefficients once the slow-down is fixed, so the normal equations of every
slow-down are solved together. A general nonlinear solver would be slower and could stop at a local
optimum. Dividing each equation by the measured length makes the residuals relative.

A model is judged by its error on left-out settings, so it is fitted once for each fold. The folds
share their samples, so they are one more axis of the same arrays: a mask says which settings a fold
keeps. Axes are (slow-down, fold, setting), and sums run over the last one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sluice.estimate.length_curves import NO_SLOW_DOWN, LengthCurve, Sample, SlowDown

# Slow-down of a task when the concurrency is twice the threshold; 1 means fair sharing.
SLOWNESSES = (*np.arange(0.05, 1.0, 0.05).tolist(), *np.arange(1.0, 2.01, 0.1).tolist())

TIE_MAX = 1e-12  # sums of squared relative errors closer than this differ by rounding only

FloatArray = NDArray[np.float64]
# By threshold, then by fold.
CurvesByThreshold = list[list[LengthCurve]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSystem:
    """The equations of one set of samples.

    slow_downs: all that are tried, those of one threshold next to each other.
    thresholds: the rows of each threshold.
    inverse: slow-down factor over measured length: a row for each slow-down, a column a setting.
    kept: 1 where a fold keeps a setting, a row for each fold.
    """

    settings: Sequence[Sample]
    slow_downs: Sequence[SlowDown]
    thresholds: Sequence[slice]
    inverse: FloatArray
    kept: FloatArray

    @classmethod
    def of(
        cls, settings: Sequence[Sample], thresholds: Sequence[float], kept: FloatArray
    ) -> CurveSystem:
        """The system of these settings. An infinite threshold means no slow-down."""
        slow_downs: list[SlowDown] = []
        rows = []
        for threshold in thresholds:
            first = len(slow_downs)
            slow_downs += _slow_downs(threshold)
            rows.append(slice(first, len(slow_downs)))
        concurrencies = np.array([one.concurrency for one in settings])
        beyond = np.array([[slow.threshold] for slow in slow_downs])
        slownesses = np.array([[slow.slowness] for slow in slow_downs])
        factors = 1.0 + slownesses * np.maximum(0.0, concurrencies / beyond - 1.0)
        return cls(
            settings=settings,
            slow_downs=slow_downs,
            thresholds=rows,
            inverse=factors / np.array([one.length_s for one in settings]),
            kept=kept,
        )

    def affine(self, form: str, column: FloatArray | None) -> CurvesByThreshold:
        """The best fixed part, and slope over the column, of each threshold and fold.

        Neither part is below 0. With two coefficients the non-negative optimum is one of three:
        both free, or one of them 0. All three are computed and the best valid one is taken.
        """
        one, two = self.inverse, np.zeros_like(self.inverse)
        # Bytes and 1/n differ by many orders of magnitude, so the column is scaled.
        scale = 1.0
        if column is not None and column.max() > 0:
            scale = float(column.max())
            two = one * (column / scale)
        sums = _Sums.of(one, two, self.kept)
        options = [sums.constant(), *([sums.both(), sums.slope()] if two.any() else [])]
        misses = np.array([self._misses(one, two, a, b) for a, b in options])
        # Where a fold keeps one task count, constant and slope fit equally: then it is a constant.
        misses[1:] += TIE_MAX
        parts = np.array(options)
        return [self._chosen(form, parts, misses, rows, scale) for rows in self.thresholds]

    def _misses(self, one: FloatArray, two: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        """Sum of squared relative errors, infinite where a part is below 0."""
        errors = a[..., None] * one[:, None, :] + b[..., None] * two[:, None, :] - 1
        total: FloatArray = (errors**2 * self.kept).sum(-1)
        return np.where((a < 0) | (b < 0), np.inf, total)

    def _chosen(
        self, form: str, parts: FloatArray, misses: FloatArray, rows: slice, scale: float
    ) -> list[LengthCurve]:
        here = misses[:, rows, :]
        count = here.shape[1]
        best = here.reshape(-1, here.shape[2]).argmin(0)
        curves = []
        for fold, place in enumerate(best.tolist()):
            option, row = divmod(place, count)
            fixed_s, slope = parts[option, :, rows.start + row, fold].tolist()
            curves.append(
                _affine_curve(form, fixed_s, slope / scale, self.slow_downs[rows.start + row])
            )
        return curves

    def table(self) -> CurvesByThreshold:
        """One length for each task count that a fold keeps, by threshold and fold."""
        counts, places = np.unique([one.tasks for one in self.settings], return_inverse=True)
        per_count = np.eye(len(counts))[places]  # maps each setting to the row of its task count
        mask = self.kept[:, :, None] * per_count  # axes (fold, setting, count)
        present = np.asarray(mask.any(axis=1))
        one = self.inverse[:, None, :, None]
        sums, squares = (one * mask).sum(2), (one**2 * mask).sum(2)
        rows = sums / np.where(present, squares, 1.0)
        fitted = rows[:, :, places] * self.inverse[:, None, :]
        misses = ((fitted - 1) ** 2 * self.kept).sum(-1)
        found: CurvesByThreshold = []
        for threshold in self.thresholds:
            best = threshold.start + misses[threshold].argmin(0)
            found.append(
                [
                    self._table(counts[present[fold]], rows[row, fold, present[fold]], row)
                    for fold, row in enumerate(best.tolist())
                ]
            )
        return found

    def _table(self, counts: NDArray[np.int64], lengths_s: FloatArray, row: int) -> LengthCurve:
        return LengthCurve(
            form="table",
            rows=tuple(zip(counts.tolist(), lengths_s.tolist(), strict=True)),
            slow_down=self.slow_downs[row],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Sums over the settings that each fold keeps; axes (slow-down, fold)."""

    one: FloatArray
    two: FloatArray
    one_one: FloatArray
    one_two: FloatArray
    two_two: FloatArray

    @classmethod
    def of(cls, one: FloatArray, two: FloatArray, kept: FloatArray) -> _Sums:
        def total(values: FloatArray) -> FloatArray:
            # Not a matrix product: its rounding depends on the library behind numpy.
            found: FloatArray = (values[:, None, :] * kept).sum(-1)
            return found

        return cls(
            one=total(one),
            two=total(two),
            one_one=total(one**2),
            one_two=total(one * two),
            two_two=total(two**2),
        )

    def constant(self) -> tuple[FloatArray, FloatArray]:
        """The fixed part alone."""
        return self.one / self.one_one, np.zeros_like(self.one)

    def both(self) -> tuple[FloatArray, FloatArray]:
        """Both parts; -1 where the settings do not determine them."""
        determinant = self.one_one * self.two_two - self.one_two**2
        is_sound = determinant > 1e-12 * self.one_one * self.two_two
        safe = np.where(is_sound, determinant, 1.0)
        fixed = (self.one * self.two_two - self.two * self.one_two) / safe
        slope = (self.two * self.one_one - self.one * self.one_two) / safe
        return np.where(is_sound, fixed, -1.0), np.where(is_sound, slope, -1.0)

    def slope(self) -> tuple[FloatArray, FloatArray]:
        """The slope alone; -1 where a fold keeps no setting with a value in the column."""
        is_sound = self.two_two > 0
        slope = self.two / np.where(is_sound, self.two_two, 1.0)
        return np.zeros_like(self.one), np.where(is_sound, slope, -1.0)


@lru_cache(maxsize=64)
def _slow_downs(threshold: float) -> tuple[SlowDown, ...]:
    if math.isinf(threshold):
        return (NO_SLOW_DOWN,)
    return tuple(SlowDown(threshold=threshold, slowness=slowness) for slowness in SLOWNESSES)


def _affine_curve(form: str, fixed_s: float, slope: float, slow_down: SlowDown) -> LengthCurve:
    work_s, rate = (slope, 0.0) if form == "work" else (0.0, slope)
    return LengthCurve(
        form=form, fixed_s=fixed_s, work_s=work_s, rate_s_per_byte=rate, slow_down=slow_down
    )
