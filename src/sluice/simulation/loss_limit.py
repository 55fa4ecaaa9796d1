"""The end of a simulation in which nodes fail too often for the work to be done.

A task that is longer than nodes last is lost again and again. Without a limit such a simulation
never ends, and keeps a record of every lost attempt. Two counts are limited:

1. how often one task, or its finished output, is lost with its node;
2. how many nodes fail in a row while jobs wait and no attempt starts or ends.

The limit reads the state and changes nothing, so a run within it is the same with any limit.
"""

from __future__ import annotations

from collections.abc import Iterable

from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.errors import Infeasible
from sluice.simulation.settings import SimulationSettings

LOSSES_MAX = 1000  # of one task, whose work is then as good as impossible


class LossLimit:
    """Counts losses; raises Infeasible beyond LOSSES_MAX of one task."""

    def __init__(self, settings: SimulationSettings, nodes: int) -> None:
        self._mtbf_s = settings.node_mtbf_s
        self._idle_max = LOSSES_MAX * max(1, nodes)
        self._losses: dict[tuple[str, int, int], int] = {}
        self._idle = 0  # nodes that failed since an attempt last started or ended
        self._attempts = -1

    def node_died(self, state: ClusterState, lost: Iterable[AttemptKey]) -> None:
        """Count a failure. lost: attempts that ran there, or whose output is there."""
        for key in lost:
            losses = self._losses.get(key[:3], 0) + 1
            self._losses[key[:3]] = losses
            if losses > LOSSES_MAX:
                raise Infeasible(self._lost_too_often(state, key, losses))
        attempts = len(state.closed) + len(state.running)
        self._idle = self._idle + 1 if state.active and attempts == self._attempts else 0
        self._attempts = attempts
        if self._idle > self._idle_max:
            raise Infeasible(
                f"no task started or ended while {self._idle:,} nodes failed one after the other:"
                f" node_mtbf_s is {self._mtbf_s:g}. Raise node_mtbf_s, or lower node_repair_s,"
                " node_timeout_s or heartbeat_s."
            )

    def _lost_too_often(self, state: ClusterState, key: AttemptKey, losses: int) -> str:
        phase = state.jobs[key.job_id].phases[key.phase].phase
        length = ""
        if phase.lengths is not None:
            length = f"; a task of this phase takes {phase.lengths.avg_s(phase.tasks):g} s"
        return (
            f"job {key.job_id!r}: task {key.task} of phase {phase.name} was lost {losses:,} times"
            f" with its node. A node fails every {self._mtbf_s:g} s on average{length}."
            " Raise node_mtbf_s, or split the work into more and shorter tasks."
        )
