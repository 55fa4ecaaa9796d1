"""Who runs how much: demand and running tasks by kind, for pools and for the whole cluster.

An index that share policies attach to the state; policies that know no shares do not pay for it.
"""

from __future__ import annotations

import math

from sluice.core.entries import PhaseEntry, PoolEntry
from sluice.core.state import ClusterState
from sluice.model.job import SlotKind


class Tally:
    """Tasks of one kind. `demand`: running ones and those that could run if there were room."""

    __slots__ = ("demand", "running")

    def __init__(self) -> None:
        self.demand = 0
        self.running = 0

    @property
    def waiting(self) -> int:
        """Tasks that could start now."""
        return self.demand - self.running


class Shares:
    """Tallies of pools and of the cluster, kept up to date as phases change."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.cluster: dict[SlotKind, Tally] = {kind: Tally() for kind in SlotKind}
        self._pools: dict[tuple[PoolEntry, SlotKind], Tally] = {}
        # What each phase counted for when it was last looked at: (demand, running).
        self._counted: dict[PhaseEntry, tuple[int, int]] = {}

    def of_pool(self, pool: PoolEntry, kind: SlotKind) -> Tally:
        """The tally of one pool; do not change it."""
        tally = self._pools.get((pool, kind))
        if tally is None:
            tally = self._pools[pool, kind] = Tally()
        return tally

    def count(self, phase: PhaseEntry) -> None:
        """Count a phase anew after it changed."""
        running = phase.running
        demand = running + phase.pending.count if phase.is_open else running
        demand_before, running_before = self._counted.get(phase, (0, 0))
        if demand or running:
            self._counted[phase] = (demand, running)
        else:
            self._counted.pop(phase, None)
        for tally in (self.cluster[phase.kind], self.of_pool(phase.job.pool, phase.kind)):
            tally.demand += demand - demand_before
            tally.running += running - running_before

    def load(self, kind: SlotKind) -> float:
        """Demand for a kind of slot per slot there is; 0/0 counts 0. dynamicmr spec, section 4."""
        demand, slots = self.cluster[kind].demand, self._state.slots[kind]
        if slots:
            return demand / slots
        return math.inf if demand else 0.0
