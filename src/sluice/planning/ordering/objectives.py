"""Objectives of a search: the makespan, the total completion time, or both."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_TIE = 1e-3  # weight of the total completion time as a tie breaker of the makespan
_ROUNDING = 1e-9  # values with a smaller relative difference are equal
_STEPS_MAX = 1e7  # with more steps than this, one step is lost in rounding


class Objective(Enum):
    """Measure to minimise."""

    MAKESPAN = "makespan"
    TCT = "tct"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedObjective:
    """Weights of makespan and total completion time.

    makespan, total: weights of the value to minimise.  guide_makespan, guide_total: weights that
    guide annealing. They contain a little of the other measure, because many orders have the same
    makespan and the search needs a direction among them.
    """

    makespan: float
    total: float
    guide_makespan: float
    guide_total: float

    def value(self, makespan_s: float, total_s: float) -> float:
        """The value to minimise."""
        return self.makespan * makespan_s + self.total * total_s

    def guide_value(self, makespan_s: float, total_s: float) -> float:
        """The value that guides annealing."""
        return self.guide_makespan * makespan_s + self.guide_total * total_s


def weighted_objective(
    objective: Objective, makespan_s: float, total_s: float
) -> WeightedObjective:
    """Return the weights for an objective.

    makespan_s, total_s: for `both`, the least known value of each; otherwise only their magnitude.
    """
    if objective is Objective.MAKESPAN:
        return WeightedObjective(
            makespan=1.0, total=0.0, guide_makespan=1.0, guide_total=_TIE * makespan_s / total_s
        )
    if objective is Objective.TCT:
        return WeightedObjective(makespan=0.0, total=1.0, guide_makespan=0.0, guide_total=1.0)
    weights = 1 / makespan_s, 1 / total_s
    return WeightedObjective(
        makespan=weights[0], total=weights[1], guide_makespan=weights[0], guide_total=weights[1]
    )


def tolerance(goal: WeightedObjective, value: float, step_s: float) -> float:
    """Return how much lower a value must be to count as better.

    step_s: every instant is an integer multiple of it. So a single measure has no value between
    two multiples, and a bound above the lower multiple already proves the higher one.
    """
    is_single = goal.makespan == 0 or goal.total == 0
    if is_single and step_s * _STEPS_MAX >= value:
        return step_s - _ROUNDING * value
    return _ROUNDING * value
