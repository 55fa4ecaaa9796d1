"""From the jobs of the cluster to what a control cycle needs to know of them."""

from __future__ import annotations

import math
from typing import NamedTuple

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.model.resources import NOTHING
from sluice.policies.ras.job_stages import fetch_demand, map_phase, map_phases, reduce_phase, vector
from sluice.policies.ras.placement import JobNeed
from sluice.policies.ras.running_use import RunningUse
from sluice.policies.ras.utility import map_slots_needed


class JobOutlook(NamedTuple):
    """The work that is left of a job. reduce_s: expected length of its reduce phase from now on."""

    maps_left: int
    reduces_left: int
    mean_map_s: float | None
    reduce_s: float


def outlook(job: JobEntry, running: RunningUse, reduce_slots: int) -> JobOutlook:
    """Return what is left of the job, as far as its tasks have shown it.

    reduce_slots: those that it has now; its reduces run in that many at a time.
    """
    maps, reduces = map_phase(job), reduce_phase(job)
    left = 0 if reduces is None else reduces.tasks - reduces.done
    waves = math.ceil(left / reduce_slots) if reduce_slots else 1
    reduce_s = 0.0 if reduces is None else waves * _reduce_task_s(reduces, running)
    return JobOutlook(
        maps_left=sum(phase.tasks - phase.done for phase in map_phases(job)),
        reduces_left=left,
        mean_map_s=None if maps is None else running.mean_s(maps),
        reduce_s=reduce_s,
    )


def _reduce_task_s(reduces: PhaseEntry, running: RunningUse) -> float:
    """Expected length of a reduce: that of its profile, else of the done ones, else 0."""
    phase = reduces.phase
    if phase.lengths is None:
        return running.mean_s(reduces) or 0.0
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
    return fetch_s + phase.lengths.avg_s(phase.tasks)


def expected_map_s(job: JobEntry, view: JobOutlook) -> float | None:
    """Expected length of a map: that of the done ones, else of the profile; None if unknown."""
    phase = map_phase(job)
    if view.mean_map_s is not None or phase is None or phase.phase.lengths is None:
        return view.mean_map_s
    return phase.phase.lengths.avg_s(phase.tasks)


def reduce_time_s(view: JobOutlook) -> float:
    """Seconds from the instant at which the maps should have ended to the end of the job."""
    # The last map may start just before the others end.
    return view.reduce_s + (view.mean_map_s or 0.0)


def goal_slots(job: JobEntry, view: JobOutlook, now_s: float, reserved_s: float) -> int:
    """Map slots that the job needs to meet its goal, with `reserved_s` kept free before it."""
    goal_at_s = job.job.deadline_at_s
    return map_slots_needed(view.maps_left, view.mean_map_s, goal_at_s, now_s, reserved_s)


def job_need(job: JobEntry, view: JobOutlook, slots_needed: int, shuffle_memory: str) -> JobNeed:
    """The job as a control cycle sees it."""
    maps, reduces = map_phase(job), reduce_phase(job)
    # With the names that all demands of the workload have.
    nothing = NOTHING.with_names(job.phases[0].phase.demand.work.other_names)
    no_task = vector(nothing)
    per_map, shuffle, work = vector(nothing, slots=0.0), no_task, no_task
    if reduces is not None:
        demand = reduces.phase.demand
        per_map = vector(demand.fetch_per_map, slots=0.0)
        shuffle = vector(fetch_demand(reduces, shuffle_memory))
        work = vector(demand.work)
    return JobNeed(
        job_id=job.job_id,
        submitted_at_s=job.submitted_at_s,
        maps_left=view.maps_left,
        reduces_left=view.reduces_left,
        map_slots_needed=slots_needed,
        map_demand=no_task if maps is None else vector(maps.phase.demand.work),
        shuffle_demand=shuffle,
        shuffle_per_map=per_map,
        reduce_demand=work,
        in_reduce_phase=reduces is not None and reduces.has_inputs,
    )
