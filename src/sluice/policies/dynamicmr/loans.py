"""The running tasks by their kind and the kind of slot they hold, counted as they come and go.

Demand is counted here too, for cluster-wide loads: what waits and may start, plus what runs. What
its pool's cap keeps from starting is no demand, or slots would idle for its sake.
"""

from __future__ import annotations

import math
from typing import Final

from sluice.core.entries import Attempt, PhaseEntry, PoolEntry
from sluice.core.indexes.by_kind import ByKind
from sluice.core.indexes.number_table import NumberTable
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.reasons import ReasonCode
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind

_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_AHEAD: Final = ReasonCode.LENT_AHEAD
_BACK: Final = ReasonCode.LENT_BACK


class Loans(AttemptIndex):
    """Counts over all nodes.

    maps_in_reduce_slots, reduces_in_map_slots: borrowers.  ahead: maps that prescheduling put in
    reduce slots; back: reduces that it put in map slots in return.
    """

    def __init__(self, state: ClusterState) -> None:
        self.maps = 0  # in map slots
        self.reduces = 0  # in reduce slots
        self.maps_in_reduce_slots = 0
        self.reduces_in_map_slots = 0
        self.ahead = 0
        self.back = 0
        state.observe_attempts(self)

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._count(attempt, attempt.tasks)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._count(attempt, -attempt.tasks)

    def _count(self, attempt: Attempt, tasks: int) -> None:
        kind, slot_kind = attempt.phase.kind, attempt.slot_kind
        if kind is _MAP:
            if slot_kind is _MAP:
                self.maps += tasks
            elif slot_kind is _REDUCE:
                self.maps_in_reduce_slots += tasks
        elif slot_kind is _REDUCE:
            self.reduces += tasks
        elif slot_kind is _MAP:
            self.reduces_in_map_slots += tasks
        code = attempt.reason[0]
        if code is _AHEAD:
            self.ahead += tasks
        elif code is _BACK:
            self.back += tasks

    def lent_in(self, slot_kind: SlotKind) -> int:
        """Borrowers in slots of a kind."""
        return self.reduces_in_map_slots if slot_kind is _MAP else self.maps_in_reduce_slots

    def own_in(self, slot_kind: SlotKind) -> int:
        """Tasks in slots of their own kind."""
        return self.maps if slot_kind is _MAP else self.reduces


class _PoolDemand:
    """The tasks of a pool that wait and that run. cap: how many of them may run at once."""

    __slots__ = ("cap", "running", "waiting")

    def __init__(self, cap: float) -> None:
        self.cap = cap
        self.waiting = 0
        self.running = 0

    @property
    def startable(self) -> int:
        """Waiting tasks that the cap lets start."""
        room = self.cap - self.running
        if self.waiting <= room:  # as nearly always
            return self.waiting
        return max(0, int(room))


class _PhaseDemand:
    """The tasks that were last counted for a phase, and the pool they were counted for."""

    __slots__ = ("of_pool", "running", "waiting")

    def __init__(self, of_pool: _PoolDemand) -> None:
        self.of_pool = of_pool
        self.waiting = 0
        self.running = 0


class _KindDemand:
    """All tasks of a kind: those that wait and may start; the same and those that run."""

    __slots__ = ("tasks", "waiting")

    def __init__(self) -> None:
        self.tasks = 0
        self.waiting = 0


class Demand:
    """Waiting startable tasks and running ones, by kind; an index over the state.

    has_caps: whether the caps of pools are kept to.
    """

    def __init__(self, state: ClusterState, *, has_caps: bool) -> None:
        self._has_caps = has_caps
        self._kinds: ByKind[_KindDemand] = ByKind(lambda _: _KindDemand())
        self._pools: dict[tuple[PoolEntry, SlotKind], _PoolDemand] = {}
        self._known: NumberTable[_PhaseDemand] = NumberTable()
        self._touched = state.touched_phases(self._settle)  # counted at the next question

    def tasks(self, kind: SlotKind) -> int:
        """N_M or N_R: all that wait and may start, or run."""
        if self._touched.count:
            self._settle()
        return self._kinds.of(kind).tasks

    def waiting(self, kind: SlotKind) -> int:
        """Those that wait and may start."""
        if self._touched.count:
            self._settle()
        return self._kinds.of(kind).waiting

    def _settle(self) -> None:
        while (phase := self._touched.take()) is not None:
            self._count(phase)

    def _count(self, phase: PhaseEntry) -> None:
        """Count the phase as it is now in place of what it was."""
        waiting, running = phase.pending.count if phase.is_open else 0, phase.running
        known = self._known.get(phase.number)
        if known is None:
            known = _PhaseDemand(self._pool(phase.job.pool, phase.kind))
            self._known.put(phase.number, known)
        of_pool, of_kind = known.of_pool, self._kinds.of(phase.kind)
        more_running = running - known.running
        before = of_pool.startable
        of_pool.waiting += waiting - known.waiting
        of_pool.running += more_running
        more = of_pool.startable - before
        of_kind.waiting += more
        of_kind.tasks += more + more_running
        known.waiting, known.running = waiting, running
        if not (waiting or running):
            self._known.discard(phase.number)

    def _pool(self, pool: PoolEntry, kind: SlotKind) -> _PoolDemand:
        of_pool = self._pools.get((pool, kind))
        if of_pool is None:
            cap = pool.pool.slots_max(kind) if self._has_caps else math.inf
            of_pool = self._pools[pool, kind] = _PoolDemand(cap)
        return of_pool
