"""A job as two amounts of work, and a batch of jobs as a two-machine flow shop.

All map slots together are the first machine, all reduce slots the second. The model is exact if
every phase fills its slots evenly, and an approximation otherwise. Source: ordering spec, sections
2 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind

UNKNOWN_S = 1.0  # length of an unmeasured task; jobs are then compared by their task counts


class SlotWork(NamedTuple):
    """Slot-seconds of a job's maps and of all its other tasks."""

    map_s: float
    reduce_s: float

    def span_s(self, map_slots: int, reduce_slots: int) -> float:
        """T of the job: the sum of both amounts, each divided by its slots."""
        return self.map_s / map_slots + self.reduce_s / reduce_slots


def slot_work(job: Job) -> SlotWork:
    """Return the work of a job. The shuffle of a task is part of its work."""
    map_s = reduce_s = 0.0
    for phase in job.phases:
        work_s = phase.tasks * task_s(phase)
        if phase.kind is SlotKind.MAP:
            map_s += work_s
        else:
            reduce_s += work_s
    return SlotWork(map_s, reduce_s)


def task_s(phase: Phase) -> float:
    """Average length of a task, shuffle included, in seconds."""
    if phase.lengths is None:
        return UNKNOWN_S
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
    return fetch_s + phase.lengths.avg_s(phase.tasks)


def johnson_key(work: SlotWork, map_slots: int, reduce_slots: int) -> tuple[int, float]:
    """Sort key of Johnson's rule. Source: MK_JR, ordering spec, section 5.

    First come jobs with less map time than reduce time, by rising map work. Then come the others,
    by falling reduce work. The work is cross-multiplied with the slots instead of divided by them:
    the comparison then depends only on the ratio of the slots, without rounding.

    >>> sorted([SlotWork(9, 7), SlotWork(1, 6), SlotWork(5, 2)], key=lambda w: johnson_key(w, 1, 1))
    [SlotWork(map_s=1, reduce_s=6), SlotWork(map_s=9, reduce_s=7), SlotWork(map_s=5, reduce_s=2)]
    """
    if work.map_s * reduce_slots <= work.reduce_s * map_slots:
        return (0, work.map_s)
    return (1, -work.reduce_s)


def fluid_makespan_s(order: Iterable[SlotWork], map_slots: int, reduce_slots: int) -> float:
    """F of an order: the instant at which the second machine is done. Equation (3.3).

    >>> fluid_makespan_s([SlotWork(5, 2), SlotWork(1, 6)], 1, 1)
    13.0
    """
    mapped_s = reduced_s = 0.0
    for work in order:
        mapped_s += work.map_s / map_slots
        reduced_s = max(mapped_s, reduced_s) + work.reduce_s / reduce_slots
    return reduced_s
