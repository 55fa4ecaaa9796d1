"""Time of a phase or job on a number of slots, from the average and longest task alone.

There are three models of the same few numbers; each source uses its own:

- wave estimates (`phase_low_s`, `phase_up_s`), with ceilings, for planning. The low estimate is
  not a lower bound, because greedy slots need not work in waves (pareto spec, erratum E2);
- the makespan theorem (`makespan_bounds_s`), without ceilings. Its bounds hold for every greedy
  schedule of tasks with this average and longest length;
- a linear law (`TimeLaw`) for jobs that share containers, from low, average or up estimates.

The functions do not check their arguments: model values are valid by construction, and planners
call these functions millions of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sluice.model.errors import InvalidInput


class SingleWave(Enum):
    """Time model for a phase with no more tasks than slots.

    ESTIMATED: the formula for several waves; its high estimate exceeds the longest task.
    EXACT: the longest task, which is the true time. Source: pareto, erratum E3.
    """

    ESTIMATED = "estimated"
    EXACT = "exact"


class Bound(Enum):
    """Estimate of a job's time: optimistic, mean or pessimistic."""

    LOW = "low"
    AVERAGE = "avg"
    UP = "up"


def waves(tasks: int, slots: int) -> int:
    """Number of rounds in which the slots run all tasks.

    >>> waves(tasks=10, slots=3)
    4
    """
    return -(-tasks // slots)


def phase_low_s(tasks: int, slots: int, avg_s: float) -> float:
    """Low estimate of a phase: waves of average tasks. Source: pareto (5).

    >>> phase_low_s(tasks=10, slots=3, avg_s=5.0)
    20.0
    """
    return waves(tasks, slots) * avg_s


def phase_up_s(tasks: int, slots: int, avg_s: float, max_s: float) -> float:
    """High estimate of a phase: the longest task starts last. Source: pareto (6).

    >>> phase_up_s(tasks=10, slots=3, avg_s=5.0, max_s=9.0)
    24.0
    """
    return waves(tasks - 1, slots) * avg_s + max_s


@dataclass(frozen=True, slots=True)
class DurationEstimate:
    """Low and high estimate of a duration, in seconds. Estimates of phases can be added."""

    low_s: float
    up_s: float

    @property
    def mean_s(self) -> float:
        """Mean of both estimates. Source: pareto (9).

        >>> DurationEstimate(4200.0, 6000.0).mean_s
        5100.0
        """
        return (self.low_s + self.up_s) / 2

    def __add__(self, other: DurationEstimate) -> DurationEstimate:
        return DurationEstimate(self.low_s + other.low_s, self.up_s + other.up_s)


def phase_estimate(
    tasks: int,
    slots: int,
    avg_s: float,
    max_s: float,
    single_wave: SingleWave = SingleWave.ESTIMATED,
) -> DurationEstimate:
    """Low and high estimate of one phase. Source: pareto (5), (6), and E3 for a single wave.

    >>> phase_estimate(5, 4, 10.0, 12.0)
    DurationEstimate(low_s=20.0, up_s=22.0)
    >>> phase_estimate(3, 4, 10.0, 12.0, SingleWave.EXACT)
    DurationEstimate(low_s=12.0, up_s=12.0)
    """
    if tasks <= slots and single_wave is SingleWave.EXACT:
        return DurationEstimate(max_s, max_s)
    return DurationEstimate(
        phase_low_s(tasks, slots, avg_s), phase_up_s(tasks, slots, avg_s, max_s)
    )


def makespan_bounds_s(tasks: int, slots: int, mean_s: float, max_s: float) -> tuple[float, float]:
    """Least and greatest makespan of independent tasks assigned greedily to equal slots.

    tasks, slots: counts, at least 1.    mean_s, max_s: length of a task, seconds.
    Returns (lower_s, upper_s). Raises InvalidInput if max_s < mean_s.
    Source: Verma et al., "ARIA", ICAC 2011, makespan theorem. The lower bound is raised to the
    longest task, because no number of slots shortens it.

    >>> makespan_bounds_s(tasks=10, slots=4, mean_s=8.0, max_s=12.0)
    (20.0, 30.0)
    """
    if max_s < mean_s:
        raise InvalidInput(
            f"max_s is {max_s}, below mean_s = {mean_s}",
            where="max_s",
            hint="give a number of seconds of at least mean_s",
        )
    return max(tasks * mean_s / slots, max_s), (tasks - 1) * mean_s / slots + max_s


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Average and longest length of tasks of one kind, in seconds."""

    avg_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLaw:
    """Time of one job while jobs of its class share containers. Source: capacity, section 3.1.

    xi_map_s, xi_reduce_s: container-seconds of one job.  xi_fixed_s: time that more containers
    do not shorten.  With very few tasks the high estimate makes the first two 0 or less, and the
    low estimate can make the last negative (capacity, erratum E4). Check before you divide.
    """

    xi_map_s: float
    xi_reduce_s: float
    xi_fixed_s: float

    def time_s(self, jobs: float, map_containers: float, reduce_containers: float) -> float:
        """Seconds from start to end of each of `jobs` concurrent jobs. Source: capacity (1).

        >>> TimeLaw(xi_map_s=4000, xi_reduce_s=4160, xi_fixed_s=-64).time_s(10, 40, 52)
        1736.0
        """
        return (
            self.xi_map_s * jobs / map_containers
            + self.xi_reduce_s * jobs / reduce_containers
            + self.xi_fixed_s
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedJob:
    """One job in the capacity model: its task counts and the task lengths of four steps.

    first_shuffle: shuffle of the first reduce wave after the last map.
    shuffle: shuffle of the later waves.
    """

    map_tasks: int
    reduce_tasks: int
    map: LengthSummary
    first_shuffle: LengthSummary
    shuffle: LengthSummary
    reduce: LengthSummary

    def law(self, bound: Bound) -> TimeLaw:
        """Return the optimistic, mean or pessimistic law. Source: capacity, section 3.1."""
        if bound is Bound.LOW:
            return self._low()
        if bound is Bound.UP:
            return self._up()
        low, up = self._low(), self._up()
        return TimeLaw(
            xi_map_s=(low.xi_map_s + up.xi_map_s) / 2,
            xi_reduce_s=(low.xi_reduce_s + up.xi_reduce_s) / 2,
            xi_fixed_s=(low.xi_fixed_s + up.xi_fixed_s) / 2,
        )

    def _low(self) -> TimeLaw:
        return TimeLaw(
            xi_map_s=self.map_tasks * self.map.avg_s,
            xi_reduce_s=self.reduce_tasks * (self.shuffle.avg_s + self.reduce.avg_s),
            xi_fixed_s=self.first_shuffle.avg_s - self.shuffle.avg_s,
        )

    def _up(self) -> TimeLaw:
        low = self._low()
        fetch_and_work_s = self.shuffle.max_s + self.reduce.max_s
        return TimeLaw(
            xi_map_s=low.xi_map_s - 2 * self.map.max_s,
            xi_reduce_s=low.xi_reduce_s - 2 * fetch_and_work_s,
            xi_fixed_s=self.first_shuffle.max_s + 2 * (fetch_and_work_s + self.map.max_s),
        )
