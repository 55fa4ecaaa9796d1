"""`aim=goals`: meet as many completion-time goals as possible, then raise the lowest utility.

This aim is not in the paper. The paper's utility balances lateness: if not all goals can be met,
all jobs become a little late, and few goals are met.

Every cycle chooses the goals again. Jobs are taken by the latest end of their maps, earliest first,
as in the rule of Moore and Hodgson for the number of late jobs: when the maps of those taken so far
no longer fit before the time of the last one, the one with the most work is dropped. Fit means: for
each resource, the work (length of the maps times demand) is at most what all nodes give until then.
A dropped job yields: it gets what is left over, and is tried again in the next cycle. A job whose
time has passed is dropped at once.

In the placement, a taken job comes before all others until all its maps are placed, the most urgent
one first. To start late, with just the slots that a goal needs, would meet fewer goals: later jobs
may be more urgent. Source of the rule: Moore, Management Science 15 (1968).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluice.policies.ras.placement import JobNeed, NodeCapacity, Vector
from sluice.policies.ras.utility import job_utility

_LEVELS = 1_000_000.0  # below all utilities of jobs whose goal is not to be served first
_IDLE = -3.0  # the utility of another job without a map slot


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOutlook:
    """A job and its goal. maps_end_by_s: seconds from now by which its maps must have ended.

    maps_end_by_s is None for a job without a goal.  map_s: expected length of a map; None if
    nothing is known of it.  goal_is_past: the goal lies before now.
    """

    need: JobNeed
    maps_end_by_s: float | None
    map_s: float | None
    goal_is_past: bool = False

    @property
    def work(self) -> Vector:
        """Seconds of each resource that the maps left take."""
        length_s = self.need.maps_left * (self.map_s or 0.0)
        return tuple(length_s * amount for amount in self.need.map_demand)

    @property
    def is_lost(self) -> bool:
        """Whether even enough slots for all maps at once could not meet the goal."""
        if self.maps_end_by_s is None:
            return False
        least_s = (self.map_s or 0.0) if self.need.maps_left else -math.inf
        return self.goal_is_past or self.maps_end_by_s < least_s


def with_goals(jobs: Sequence[GoalOutlook], nodes: Sequence[NodeCapacity]) -> list[JobNeed]:
    """The jobs, ranked by the goals to meet; those whose goal cannot be met yield."""
    taken = _taken(jobs, nodes)
    rank = {job.need.job_id: place for place, job in enumerate(taken)}
    needs = []
    for job in jobs:
        place = rank.get(job.need.job_id)
        yields = place is None and job.maps_end_by_s is not None
        needed = job.need.maps_left if place is not None else job.need.map_slots_needed
        needs.append(replace(job.need, goal_rank=place, yields=yields, map_slots_needed=needed))
    return needs


def _taken(jobs: Sequence[GoalOutlook], nodes: Sequence[NodeCapacity]) -> list[GoalOutlook]:
    """The jobs whose goals are to be met, the most urgent first."""
    hopeful = [job for job in jobs if job.maps_end_by_s is not None and not job.is_lost]
    hopeful.sort(key=_urgency)
    capacity = [
        math.fsum(column) for column in zip(*(node.capacity for node in nodes), strict=True)
    ]
    taken: list[GoalOutlook] = []
    for job in hopeful:
        taken.append(job)
        if not job.need.maps_left:
            continue
        until_s = _urgency(job)[0]
        if _share(taken, capacity) > until_s:
            taken.remove(max(taken, key=lambda one: (_share([one], capacity), _urgency(one))))
    return taken


def _urgency(job: GoalOutlook) -> tuple[float, float, str]:
    assert job.maps_end_by_s is not None, "only jobs with a goal are ranked"
    return (job.maps_end_by_s, job.need.submitted_at_s, job.need.job_id)


def _share(jobs: Sequence[GoalOutlook], capacity: Sequence[float]) -> float:
    """Seconds that all nodes together need for the maps of the jobs."""
    totals = [math.fsum(column) for column in zip(*(job.work for job in jobs), strict=True)]
    return max(
        (work / most for work, most in zip(totals, capacity, strict=True) if most < math.inf),
        default=0.0,
    )


def goal_utility(job: JobNeed, map_slots: int, reduce_slots: int) -> float:
    """The utility under `aim=goals`: that of the paper, but goals to be met come first.

    A taken job without the slots that it needs is below every other job; among those, the more
    urgent one is lower.
    """
    needed = min(job.map_slots_needed, job.maps_left)
    if job.goal_rank is not None and map_slots < needed:
        return -_LEVELS + job.goal_rank + map_slots / needed
    usual = job_utility(
        map_slots, job.map_slots_needed, job.maps_left, reduce_slots, job.reduces_left
    )
    return max(_IDLE, usual)
