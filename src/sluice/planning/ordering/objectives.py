"""What a search minimises: the makespan, the total completion time, or both at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

_TIE = 1e-3  # what the other measure counts beside the makespan, share for share
_ROUNDING = 1e-9  # values nearer to each other than this share are one value
_STEPS_MAX = 1e7  # beyond, the steps between possible values are lost in rounding


class Objective(Enum):
    """What the user wants to be least."""

    MAKESPAN = "makespan"
    TCT = "tct"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedObjective:
    """A weighted sum of makespan and total completion, and a hint of the other one.

    makespan, total: the weights of what is minimised.  way_makespan, way_total: the weights by
    which a walk goes, so that it drifts to the better of orders that are equally good.
    """

    makespan: float
    total: float
    guide_makespan: float
    guide_total: float

    def value(self, makespan_s: float, total_s: float) -> float:
        """What is minimised."""
        return self.makespan * makespan_s + self.total * total_s

    def guide_value(self, makespan_s: float, total_s: float) -> float:
        """What the walk goes by."""
        return self.guide_makespan * makespan_s + self.guide_total * total_s


def weighted_objective(
    objective: Objective, makespan_s: float, total_s: float
) -> WeightedObjective:
    """The aim for an objective.

    makespan_s, total_s: of `both`, the least known of each; otherwise just their magnitude.
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
    """By how much a value must be below another to be a better one.

    step_s: every instant is a whole multiple of it, so that of one measure by itself nothing lies
    between two multiples.
    """
    is_single = goal.makespan == 0 or goal.total == 0
    if is_single and step_s * _STEPS_MAX >= value:
        return step_s - _ROUNDING * value
    return _ROUNDING * value
