"""Length of a task as a function of task count, input size and concurrency."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Sample(NamedTuple):
    """Task length measured in one phase of one run, and the variables that explain it."""

    tasks: int
    input_bytes: int
    concurrency: float
    length_s: float


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
            alone_s = between(self.rows, tasks)
        return alone_s * self.slow_down.factor(concurrency)


def between(rows: Sequence[tuple[int, float]], tasks: int) -> float:
    """Interpolate linearly between the rows; constant outside."""
    right = bisect_left(rows, (tasks,))
    if right in {0, len(rows)}:
        return rows[min(right, len(rows) - 1)][1]
    (low, low_s), (high, high_s) = rows[right - 1], rows[right]
    return low_s + (tasks - low) / (high - low) * (high_s - low_s)
