"""Release on demand: a job is held back until a slot would stand idle without it.

What has not been released can still be overtaken, so waiting costs nothing while the cluster is
busy. The best-ranked waiting job is released whenever a map slot would idle (a job without maps:
whenever a reduce slot would). For total completion time one rule more keeps reduces from piling
up: a job is taken only while fewer released reduces wait than there are slots, or while their work
is over within twice the time in which the job maps. Source: ordering spec, section 10.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sluice.core.entries import JobEntry
from sluice.core.protocols import ReleaseOrder
from sluice.core.state import ClusterState
from sluice.estimate.flow_shop import SlotWork, johnson_key, slot_work, task_s
from sluice.model.job import Job, Phase, SlotKind

_BACKLOG_SPANS = 2.0  # how many of the candidate's map spans the waiting reduces may last


@dataclass(slots=True)
class _Room:
    """What would stand idle: free slots without a released task for them."""

    maps: int
    reduces: int
    reduces_waiting: int
    reduce_work_s: float

    def take(self, job: Job, work: SlotWork) -> None:
        """The job is released."""
        maps = sum(phase.tasks for phase in job.phases if phase.kind is SlotKind.MAP)
        others = job.tasks - maps
        self.maps -= maps
        self.reduces_waiting += others
        self.reduce_work_s += work.reduce_s
        if not maps:
            self.reduces -= others


class OnDemand:
    """Holds jobs back until a slot would idle. objective: "makespan" ranks by Johnson's rule,
    "tct" (total completion time) by the shortest job.
    """

    name = "on-demand"

    def __init__(self, objective: str = "makespan") -> None:
        self._is_for_tct = objective == "tct"
        self._works: dict[str, SlotWork] = {}

    @classmethod
    def build(cls, settings: Mapping[str, Any]) -> Self:
        """From the settings of a workload file."""
        return cls(settings.get("objective", "makespan"))

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        slots = (max(1, state.slots[SlotKind.MAP]), max(1, state.slots[SlotKind.REDUCE]))
        room = _room(state)
        ranked = sorted(waiting, key=lambda entry: (*self._rank(entry, slots), entry.seq))
        order = []
        for entry in ranked:
            if _maps(entry.job) is None and (room.reduces > 0 or not entry.phases):
                order.append(entry)
                room.take(entry.job, self._work(entry.job))
        for entry in ranked:
            maps = _maps(entry.job)
            if maps is None:
                continue
            if room.maps <= 0 or not self._may_map(maps, room, slots):
                break
            order.append(entry)
            room.take(entry.job, self._work(entry.job))
        return ReleaseOrder(order)

    def _may_map(self, maps: Phase, room: _Room, slots: tuple[int, int]) -> bool:
        """Whether the reduces that wait already leave room for those of one job more."""
        if not self._is_for_tct or room.reduces_waiting < slots[1]:
            return True
        span_s = math.ceil(maps.tasks / slots[0]) * task_s(maps)
        return room.reduce_work_s / slots[1] <= _BACKLOG_SPANS * span_s

    def _rank(self, entry: JobEntry, slots: tuple[int, int]) -> tuple[float, float]:
        work = self._work(entry.job)
        return (0, work.span_s(*slots)) if self._is_for_tct else johnson_key(work, *slots)

    def _work(self, job: Job) -> SlotWork:
        return self._works.setdefault(job.job_id, slot_work(job))


def _maps(job: Job) -> Phase | None:
    return next((phase for phase in job.phases if phase.kind is SlotKind.MAP), None)


def _room(state: ClusterState) -> _Room:
    """Free slots, less the released tasks that could take them now."""
    room = _Room(0, 0, 0, 0.0)
    for node in state.nodes.values():
        if node.is_up:
            room.maps += node.free[SlotKind.MAP]
            room.reduces += node.free[SlotKind.REDUCE]
    for entry in state.active.values():
        for phase in entry.phases:
            waiting = phase.pending.count
            if phase.kind is SlotKind.MAP:
                room.maps -= waiting
                continue
            # What may start takes the free slots at this very instant, and waits no longer.
            starting = min(waiting, max(0, room.reduces)) if phase.is_open else 0
            room.reduces_waiting += waiting - starting
            room.reduce_work_s += (waiting - starting) * task_s(phase.phase)
            room.reduces -= waiting if phase.is_open else 0
    return room
