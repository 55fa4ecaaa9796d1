"""The map slots that a job needs to meet its goal, and its utility: its satisfaction with those
that it is given.

Counts of tasks left include those that run. Source: RAS spec, section 4 (errata E1 to E3).
"""

from __future__ import annotations

import math

NO_SLOT = -math.inf  # the utility of a job with maps left and no map slot
_ROUNDING = 1e-9


def map_satisfaction(slots: int, needed: int, left: int) -> float:
    """Satisfaction with map slots: 0 with the slots that its goal needs, 1 with one for each map.

    slots: map slots of the job.  needed: slots that its goal needs.  left: maps not done.

    >>> map_satisfaction(20, 20, 35), map_satisfaction(35, 20, 35), map_satisfaction(1, 20, 35)
    (0.0, 1.0, -1.0)
    """
    if left == 0 or slots >= left:
        return 1.0
    if slots == 0:
        return NO_SLOT
    needed = max(1, min(needed, left))
    if slots >= needed:
        return (slots - needed) / (left - needed)
    return math.log(slots) / math.log(needed) - 1.0


def reduce_satisfaction(slots: int, left: int) -> float:
    """Satisfaction with reduce slots, -1 to 0.

    >>> reduce_satisfaction(10, 10), reduce_satisfaction(1, 10), reduce_satisfaction(0, 10)
    (0.0, -1.0, -1.0)
    """
    if left == 0 or slots >= left:
        return 0.0
    if slots == 0:
        return -1.0
    return math.log(slots) / math.log(left) - 1.0


def job_utility(
    map_slots: int, map_slots_needed: int, maps_left: int, reduce_slots: int, reduces_left: int
) -> float:
    """The utility of a job, at most 1.

    >>> round(job_utility(25, 20, 35, 5, 10), 4)
    0.0323
    """
    maps = map_satisfaction(map_slots, map_slots_needed, maps_left)
    return min(1.0, maps + reduce_satisfaction(reduce_slots, reduces_left))


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
