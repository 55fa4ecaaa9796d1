"""The completion-time estimator: map slots that a job needs to meet its goal."""

from __future__ import annotations

import math

_ROUNDING = 1e-9


def map_slots_needed(
    maps_left: int,
    mean_map_s: float | None,
    goal_at_s: float | None,
    now_s: float,
    reserved_s: float = 0.0,
) -> int:
    """Map slots with which the maps end before the goal; all that are left if nothing is known.

    maps_left: maps not done.  mean_map_s: mean length of the done maps; None before the first.
    reserved_s: time kept free before the goal, for the reduce phase and as a margin. The paper
    keeps none. Source: RAS spec, section 4 (estimator) and errata E13 and E15.

    >>> map_slots_needed(150, 180.0, 2600.0, 600.0)
    14
    >>> map_slots_needed(150, None, 2600.0, 600.0), map_slots_needed(150, 180.0, 2600.0, 2700.0)
    (150, 150)
    """
    if maps_left == 0:
        return 0
    if goal_at_s is None or mean_map_s is None or goal_at_s - reserved_s <= now_s:
        return maps_left
    slots = maps_left * mean_map_s / (goal_at_s - reserved_s - now_s)
    return max(1, min(maps_left, math.ceil(slots - _ROUNDING)))
