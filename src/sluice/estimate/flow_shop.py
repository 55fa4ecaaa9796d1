"""A job as two amounts of work, and a batch of jobs as a flow shop of two machines.

All map slots together are the first machine, all reduce slots the second. Exact where every phase
fills its slots evenly, an approximation elsewhere. Source: ordering spec, sections 2 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sluice.model.job import Job, Phase, SlotKind

UNKNOWN_S = 1.0  # of a task that nobody has measured: then the number of tasks decides


class SlotWork(NamedTuple):
    """Slot-seconds of a job's maps, and of all its other tasks."""

    map_s: float
    reduce_s: float

    def span_s(self, map_slots: int, reduce_slots: int) -> float:
        """T of the job: both amounts, each over its slots."""
        return self.map_s / map_slots + self.reduce_s / reduce_slots


def slot_work(job: Job) -> SlotWork:
    """The job's work. What a task fetches first (shuffle) lengthens it."""
    map_s = reduce_s = 0.0
    for phase in job.phases:
        work_s = phase.tasks * task_s(phase)
        if phase.kind is SlotKind.MAP:
            map_s += work_s
        else:
            reduce_s += work_s
    return SlotWork(map_s, reduce_s)


def task_s(phase: Phase) -> float:
    """The average task of a phase with all that it does, seconds."""
    if phase.lengths is None:
        return UNKNOWN_S
    fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
    return fetch_s + phase.lengths.avg_s(phase.tasks)


def johnson_key(work: SlotWork, map_slots: int, reduce_slots: int) -> tuple[int, float]:
    """Where Johnson's rule puts a job: those with less to map first, the least of them ahead;
    then the others, the most to reduce ahead. Source: MK_JR, ordering spec, section 5.

    Amounts are compared crosswise, so that the order depends on the ratio of slots alone.

    >>> sorted([SlotWork(9, 7), SlotWork(1, 6), SlotWork(5, 2)], key=lambda w: johnson_key(w, 1, 1))
    [SlotWork(map_s=1, reduce_s=6), SlotWork(map_s=9, reduce_s=7), SlotWork(map_s=5, reduce_s=2)]
    """
    if work.map_s * reduce_slots <= work.reduce_s * map_slots:
        return (0, work.map_s)
    return (1, -work.reduce_s)


def fluid_makespan_s(order: Iterable[SlotWork], map_slots: int, reduce_slots: int) -> float:
    """F of an order: when the second machine is done. Equation (3.3).

    >>> fluid_makespan_s([SlotWork(5, 2), SlotWork(1, 6)], 1, 1)
    13.0
    """
    mapped_s = reduced_s = 0.0
    for work in order:
        mapped_s += work.map_s / map_slots
        reduced_s = max(mapped_s, reduced_s) + work.reduce_s / reduce_slots
    return reduced_s
