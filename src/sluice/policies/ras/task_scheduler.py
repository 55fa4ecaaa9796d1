"""Which task starts on a node that asks for work: one with a free job slot that fits now.

Slots of the last placement whose tasks still run are honoured: a new slot is used only when enough
is free. Source: RAS spec, section 5.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.policies.ras.job_slots import JobSlots, SlotPair
from sluice.policies.ras.job_stages import (
    fetch_demand,
    map_phase,
    reduce_phase,
    reserve_of,
    works_at_once,
)
from sluice.policies.ras.running_use import NodeUse, RunningUse
from sluice.policies.ras.utility import NO_SLOT

_CONTAINER: Final = SlotKind.CONTAINER


class _Candidate(NamedTuple):
    """A task that may start, with the key that orders candidates."""

    key: tuple[float, float, str, int]
    phase: PhaseEntry


class TaskScheduler:
    """Starts tasks in free job slots."""

    def __init__(self, slots: JobSlots, running: RunningUse, shuffle_memory: str) -> None:
        self._slots = slots
        self._running = running
        self._shuffle_memory = shuffle_memory

    def assign(self, node: NodeEntry, filling: Iterable[JobEntry]) -> Iterator[Assignment]:
        """Tasks for the node, lowest utility first, reduces before maps of the same job.

        filling: jobs that need no job slot on a node that states nothing but slots. The job slots
        of running tasks may have gone to a job that cannot use them yet, or a job may have come
        since the last cycle, and no resource can be short there.
        """
        use = self._running.on(node)
        is_filled = node.node.capacity.is_zero
        # Maps that start now would keep a reduce that waits for room from ever starting its work.
        # Every task takes a slot: a full node is not compared with each job that waits.
        while not use.held and use.has_slot:
            candidate = self._first(node, use) or (
                self._filling(node, filling) if is_filled else None
            )
            if candidate is None:
                return
            yield self._assignment(candidate.phase, node)

    def _first(self, node: NodeEntry, use: NodeUse) -> _Candidate | None:
        found: _Candidate | None = None
        for job, slots in self._slots.on.get(node, {}).items():
            if job.has_ended:
                continue
            for kind, phase in enumerate(_free_slots(job, slots, use)):
                if phase is None:
                    continue
                key = (self._slots.utility[job], *job.seniority, kind)
                if (found is None or key < found.key) and self.fits(phase, node):
                    found = _Candidate(key, phase)
        return found

    def _filling(self, node: NodeEntry, jobs: Iterable[JobEntry]) -> _Candidate | None:
        """The first task of the jobs that can work at once."""
        return min(
            (
                _Candidate((self._utility(job), *job.seniority, kind), phase)
                for job in jobs
                for kind, phase in enumerate((reduce_phase(job), map_phase(job)))
                if phase is not None
                and phase.is_queued
                and works_at_once(phase)
                and self.fits(phase, node)
            ),
            default=None,
        )

    def _utility(self, job: JobEntry) -> float:
        return self._slots.utility.get(job, NO_SLOT)

    def has_room(self, job: JobEntry, nodes: Sequence[NodeEntry]) -> bool:
        """Whether a task of the job that waits fits on a node, with or without a job slot.

        nodes: of `open_nodes`.
        """
        waiting = [phase for phase in (map_phase(job), reduce_phase(job)) if phase is not None]
        return any(self.fits(phase, node) for phase in waiting if phase.is_queued for node in nodes)

    def open_nodes(self, nodes: Iterable[NodeEntry]) -> list[NodeEntry]:
        """The nodes that are up and have a slot, and where no reduce waits for room to work."""
        found = []
        for node in nodes:
            use = self._running.on(node) if node.is_up else None
            if use is not None and use.has_slot and not use.held:
                found.append(node)
        return found

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task fits by what runs now, and by what was set aside when each task started.

        The two differ once a reduce has stopped shuffling: its start may have set aside more of one
        resource than its work takes.
        """
        return self._running.fits(phase, node) and node.fits(self._reserve(phase, node))

    def _reserve(self, phase: PhaseEntry, node: NodeEntry) -> Resources:
        demand = phase.phase.demand.work
        if not works_at_once(phase):
            demand = fetch_demand(phase, self._shuffle_memory)
        return reserve_of(demand, node)

    def _assignment(self, phase: PhaseEntry, node: NodeEntry) -> Assignment:
        numbers = (("utility", round(max(-99.0, self._utility(phase.job)), 4)),)
        reason = Reason(ReasonCode.JOB_SLOT, numbers)
        return Assignment(phase, _CONTAINER, reason, reserve=self._reserve(phase, node))


def _free_slots(
    job: JobEntry, slots: SlotPair, use: NodeUse
) -> tuple[PhaseEntry | None, PhaseEntry | None]:
    """The phases that start the next reduce and the next map in free slots of the node."""
    reduces = maps = None
    if slots.reduces > use.reduces.get(job, 0):
        reduces = reduce_phase(job)
    if slots.maps > use.maps.get(job, 0):
        maps = map_phase(job)
    return (
        reduces if reduces is not None and reduces.is_queued else None,
        maps if maps is not None and maps.is_queued else None,
    )
