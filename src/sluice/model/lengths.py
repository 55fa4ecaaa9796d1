"""Task lengths of one phase, as a function of the number of tasks.

There are four forms. Each has `avg_s(n)` and `max_s(n)`: the average and the longest task if the
phase has n tasks. Source: pareto, spec section 2.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from sluice.model.errors import InvalidInput, wrong_value


class TaskLengths(Protocol):
    """Average and longest task length, in seconds, of a phase with `tasks` tasks."""

    def avg_s(self, tasks: int) -> float: ...

    def max_s(self, tasks: int) -> float: ...


def _checked_span(avg_s: float, max_s: float) -> None:
    if not 0 < avg_s < math.inf:
        raise wrong_value("avg_s", avg_s, "avg_s", "give a finite number of seconds above 0")
    if not avg_s <= max_s < math.inf:
        raise InvalidInput(
            f"max_s is {max_s}, below avg_s = {avg_s}" if max_s < avg_s else f"max_s is {max_s}",
            where="max_s",
            hint="give a finite number of seconds, at least avg_s",
        )


@dataclass(frozen=True, slots=True)
class ConstantLengths:
    """Lengths with one average and one maximum for any task count.

    >>> ConstantLengths(22.0, 30.0).max_s(tasks=160)
    30.0
    """

    average_s: float
    longest_s: float

    def __post_init__(self) -> None:
        _checked_span(self.average_s, self.longest_s)

    def avg_s(self, tasks: int) -> float:
        return self.average_s

    def max_s(self, tasks: int) -> float:
        return self.longest_s


@dataclass(frozen=True, slots=True)
class ListedLengths:
    """One length for each task, in task order; the list also fixes the number of tasks."""

    durations_s: tuple[float, ...]
    # Policies ask for the average at each decision; a sum of 250 lengths each time made the one
    # that the documents teach 7 times slower.
    _avg_s: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.durations_s:
            raise InvalidInput(
                "durations_s is empty", where="durations_s", hint="list one length for each task"
            )
        # A sum is finite only if all its terms are. The walk, which finds the wrong one, is slow.
        if min(self.durations_s) > 0 and math.isfinite(sum(self.durations_s)):
            mean_s = math.fsum(self.durations_s) / len(self.durations_s)
            object.__setattr__(self, "_avg_s", mean_s)
            return
        object.__setattr__(self, "_avg_s", math.inf)  # each may be finite, and their sum not
        for index, duration_s in enumerate(self.durations_s):
            if not 0 < duration_s < math.inf:
                raise InvalidInput(
                    f"durations_s[{index}] is {duration_s}",
                    where="durations_s",
                    hint="give finite numbers of seconds above 0",
                )

    def avg_s(self, tasks: int) -> float:
        return self._avg_s

    def max_s(self, tasks: int) -> float:
        return max(self.durations_s)


@dataclass(frozen=True, slots=True)
class WorkLengths:
    """avg(n) = fixed_s + work_s/n and max(n) = max_factor * avg(n).

    >>> WorkLengths(fixed_s=2.0, work_s=100.0, max_factor=1.5).avg_s(tasks=10)
    12.0
    """

    fixed_s: float
    work_s: float
    max_factor: float = 1.0

    def __post_init__(self) -> None:
        for name, low in (("fixed_s", 0.0), ("work_s", 0.0), ("max_factor", 1.0)):
            number = getattr(self, name)
            if not low <= number < math.inf:
                raise wrong_value(name, number, name, f"give a finite number of at least {low:g}")
        if self.fixed_s + self.work_s <= 0:
            raise InvalidInput(
                "fixed_s and work_s are both 0", where="work_s", hint="give one of them above 0"
            )

    def avg_s(self, tasks: int) -> float:
        return self.fixed_s + self.work_s / tasks

    def max_s(self, tasks: int) -> float:
        return self.max_factor * self.avg_s(tasks)


@dataclass(frozen=True, slots=True)
class TableLengths:
    """Rows of (task count, average, longest): linear between rows, constant outside.

    >>> TableLengths(((10, 30.0, 40.0), (20, 20.0, 28.0))).avg_s(tasks=15)
    25.0
    """

    rows: tuple[tuple[int, float, float], ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise InvalidInput("rows is empty", where="rows", hint="give at least one row")
        counts = [row[0] for row in self.rows]
        if counts[0] < 1 or any(a >= b for a, b in pairwise(counts)):
            raise InvalidInput(
                f"rows has the task counts {counts}",
                where="rows",
                hint="give rising task counts of at least 1",
            )
        for _, average_s, longest_s in self.rows:
            try:
                _checked_span(average_s, longest_s)
            except InvalidInput as error:
                raise error.within("rows") from None

    def avg_s(self, tasks: int) -> float:
        return self._between(tasks, 1)

    def max_s(self, tasks: int) -> float:
        return self._between(tasks, 2)

    def _between(self, tasks: int, column: int) -> float:
        right = bisect.bisect_left(self.rows, (tasks,))
        if right == len(self.rows):
            return self.rows[-1][column]
        # A task count that has a row returns it exactly; interpolation would add rounding.
        if right == 0 or self.rows[right][0] == tasks:
            return self.rows[right][column]
        low, high = self.rows[right - 1], self.rows[right]
        share = (tasks - low[0]) / (high[0] - low[0])
        return low[column] + share * (high[column] - low[column])


def changed_lengths(
    lengths: TaskLengths, *, factor: float = 1.0, more_s: float = 0.0
) -> TaskLengths:
    """Each length times a factor, then that many seconds longer; an unknown form stays as it is.

    WorkLengths keep the ratio of their longest to their average.

    >>> changed_lengths(ConstantLengths(2.0, 3.0), factor=2.0, more_s=0.5)
    ConstantLengths(average_s=4.5, longest_s=6.5)
    """

    def changed_s(length_s: float) -> float:
        return length_s * factor + more_s

    if isinstance(lengths, ConstantLengths):
        return ConstantLengths(changed_s(lengths.average_s), changed_s(lengths.longest_s))
    if isinstance(lengths, TableLengths):
        rows = ((tasks, changed_s(avg_s), changed_s(max_s)) for tasks, avg_s, max_s in lengths.rows)
        return TableLengths(tuple(rows))
    if isinstance(lengths, ListedLengths):
        return ListedLengths(tuple(map(changed_s, lengths.durations_s)))
    if isinstance(lengths, WorkLengths):
        fixed_s, work_s = changed_s(lengths.fixed_s), lengths.work_s * factor
        return WorkLengths(fixed_s, work_s, lengths.max_factor)
    return lengths
