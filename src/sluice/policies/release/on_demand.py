"""Release on demand: a job is held back until a slot would be idle without it.

What has not been released can still be overtaken, so waiting costs nothing while the cluster is
busy. The best-ranked waiting job is released whenever a map slot would idle (a job without maps:
whenever a reduce slot would). For total completion time one rule more keeps reduces from piling
up: a job is taken only while fewer released reduces wait than there are slots, or while their work
is over within twice the time in which the job maps. Source: ordering spec, section 10.5.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.protocols import ReleaseOrder, ReleasePolicy
from sluice.core.state import ClusterState
from sluice.estimate.flow_shop import SlotWork, johnson_key, slot_work, task_s
from sluice.model.job import Job, Phase
from sluice.model.settings import SettingsGroup, word
from sluice.model.slot_kind import SlotKind
from sluice.policies.rooms.slot_counts import has_any_slot, idle_slots, owed_release, widths

# A heap of waiting jobs by rank, the order of submission at the end; who was released or killed
# meanwhile is passed over.
_Line = list[tuple[float, float, int, JobEntry]]

_BACKLOG_SPANS = 2.0  # how many of the candidate's map spans the waiting reduces may last


@dataclass(slots=True)
class _Room:
    """The slots that would be idle: free, without a released task for them.

    map_kind, reduce_kind: what a task of either phase runs in; both the same in containers.
    """

    free: dict[SlotKind, int]
    map_kind: SlotKind
    reduce_kind: SlotKind
    reduces_waiting: int = 0
    reduce_work_s: float = 0.0

    @property
    def maps(self) -> int:
        """Idle slots for maps."""
        return self.free[self.map_kind]

    @property
    def reduces(self) -> int:
        """Idle slots for reduces."""
        return self.free[self.reduce_kind]

    def take(self, job: Job, work: SlotWork) -> None:
        """The job is released."""
        maps = [phase for phase in job.phases if phase.kind is SlotKind.MAP]
        others = job.tasks - sum(phase.tasks for phase in maps)
        # Maps that wait for a phase before them take no slot yet.
        self.free[self.map_kind] -= sum(phase.tasks for phase in maps if not phase.after)
        self.reduces_waiting += others
        self.reduce_work_s += work.reduce_s
        if not maps:
            self.free[self.reduce_kind] -= others


class OnDemand(ReleasePolicy):
    """Holds jobs back until a slot would idle. The objective "makespan" ranks by Johnson's rule,
    "tct" (total completion time) by the shortest job.
    """

    name = "on-demand"
    remembers = ()  # who waits is ranked again

    @dataclass(frozen=True, kw_only=True)
    class Settings(SettingsGroup):
        """Source: ordering spec, section 10.5."""

        objective: str = word(
            "makespan", "what the rank of waiting jobs minimises", "makespan", "tct"
        )

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self._is_for_tct = self.settings.objective == "tct"
        self._works: dict[str, SlotWork] = {}
        self._slots = (0, 0)  # that jobs were ranked for
        self._ranked: set[str] = set()  # who was lined up
        self._mapping: _Line = []
        self._reducing: _Line = []  # who has no maps
        self._unphased: list[JobEntry] = []
        self._going: set[str] = set()  # released just now, whatever their rank

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        slots = widths(state)
        self._enqueue(waiting, slots)
        order, self._unphased = self._unphased, []
        owed = owed_release(waiting, state)
        self._going = {entry.job_id for entry in owed}
        order += owed
        if self._is_worth_a_look(state):
            room = _room(state, with_reduces=self._is_for_tct or bool(self._reducing))
            for entry in owed:
                room.take(entry.job, self._work(entry.job))
            order += self._without_maps(room, state)
            order += self._with_maps(room, state, slots)
        return ReleaseOrder(order)

    def _enqueue(self, waiting: Sequence[JobEntry], slots: tuple[int, int]) -> None:
        """Rank who is new; everybody, where slots came or went."""
        if slots != self._slots:
            self._slots = slots
            self._mapping, self._reducing, self._ranked = [], [], set()
        for entry in reversed(waiting):
            if entry.job_id in self._ranked:
                break  # those before it came before it
            self._ranked.add(entry.job_id)
            if not entry.phases:
                self._unphased.insert(0, entry)
                continue
            line = self._reducing if _maps(entry.job) is None else self._mapping
            heapq.heappush(line, (*self._rank(entry, slots), entry.seq, entry))

    def _is_worth_a_look(self, state: ClusterState) -> bool:
        """Whether a slot may idle: not if more maps could start than there are slots at all."""
        slots = max(state.slots[SlotKind.MAP], state.slots[SlotKind.CONTAINER])
        if self._reducing or not slots:  # without slots, resources alone limit the nodes
            return True
        for phase in state.backlogs[SlotKind.MAP].in_order():
            slots -= phase.pending.count
            if slots <= 0:
                return False
        return True

    def _without_maps(self, room: _Room, state: ClusterState) -> Iterator[JobEntry]:
        """Jobs of reduces alone, as long as a slot for one would idle."""
        while (best := self._first(self._reducing, state)) is not None and room.reduces > 0:
            heapq.heappop(self._reducing)
            room.take(best.job, self._work(best.job))
            yield best

    def _with_maps(
        self, room: _Room, state: ClusterState, slots: tuple[int, int]
    ) -> Iterator[JobEntry]:
        """Jobs with maps, as long as a slot for one would idle and their reduces may wait."""
        while (best := self._first(self._mapping, state)) is not None and room.maps > 0:
            maps = _maps(best.job)
            assert maps is not None, "it was put in this line for them"
            if not self._may_map(maps, room, slots):
                return
            heapq.heappop(self._mapping)
            room.take(best.job, self._work(best.job))
            yield best

    def _first(self, line: _Line, state: ClusterState) -> JobEntry | None:
        """The best-ranked one that still waits."""
        while line and (
            line[0][-1].job_id not in state.waiting or line[0][-1].job_id in self._going
        ):
            heapq.heappop(line)
        return line[0][-1] if line else None

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


def _room(state: ClusterState, *, with_reduces: bool) -> _Room:
    """Free slots, less the released tasks that could take them now.

    with_reduces: whether it matters how many reduces wait, too.
    """
    up = [node for node in state.nodes.values() if node.is_up]
    if has_any_slot(state) or any(node.is_mixed(SlotKind.MAP) for node in up):
        free = {SlotKind.CONTAINER: sum(map(idle_slots, up))}
        room = _Room(free, SlotKind.CONTAINER, SlotKind.CONTAINER)
    else:
        free = {kind: sum(node.free[kind] for node in up) for kind in SlotKind}
        room = _Room(free, SlotKind.MAP, SlotKind.REDUCE)
    for phase in state.backlogs[SlotKind.MAP].phases():
        room.free[room.map_kind] -= phase.pending.count
    if with_reduces or room.map_kind is room.reduce_kind:
        for entry in state.active.values():
            for phase in entry.phases:
                if phase.kind is not SlotKind.MAP:
                    _leave_to(phase, room)
    return room


def _leave_to(phase: PhaseEntry, room: _Room) -> None:
    """The reduces of a released job take what they can."""
    waiting = phase.pending.count
    # What may start takes the free slots at this very instant, and waits no longer.
    starting = min(waiting, max(0, room.reduces)) if phase.is_open else 0
    room.reduces_waiting += waiting - starting
    room.reduce_work_s += (waiting - starting) * task_s(phase.phase)
    room.free[room.reduce_kind] -= waiting if phase.is_open else 0
