"""The stage with the longest path to the end of its job first, whatever its job and pool.

The path of a stage is its longest task and the longest path of a stage behind it, from expected
lengths; a stage of unknown lengths counts as nothing. Of equal paths the older job's comes first.
Source: list scheduling by the longest path (Hu 1961; Graham 1966).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.ranking import Ranking
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.job import Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key


class CriticalPath(JobOrder):
    """Stages by the time that their jobs need at least from their start on, the longest first."""

    name: ClassVar[str] = "critical-path"
    remembers = ()

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._paths_s: dict[PhaseEntry, float] = {}
        self._ranking: Ranking[PhaseEntry] = Ranking(self._key_if_waiting)
        state.observe(self, self._ranking.settle)

    def touch(self, phase: PhaseEntry) -> None:
        """See `Observer`."""
        self._ranking.touch(phase)

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        return (phase for phase in self._ranking.in_order() if phase.kind is kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        phases = [phase for phase in job.phases if phase.kind is kind]
        waiting = [phase for phase in phases if phase.is_queued] or phases
        return min((self._key(phase) for phase in waiting), default=(0.0, job.seniority, 0))

    def start_reason(self, phase: PhaseEntry) -> Reason:
        return Reason(ReasonCode.LONGEST_PATH, (("left_s", self._path_s(phase)),))

    def _key_if_waiting(self, phase: PhaseEntry) -> Key | None:
        if phase.is_queued:
            return self._key(phase)
        if phase.done == phase.tasks:
            self._paths_s.pop(phase, None)
        return None

    def _key(self, phase: PhaseEntry) -> Key:
        return (-self._path_s(phase), phase.job.seniority, phase.index)

    def _path_s(self, phase: PhaseEntry) -> float:
        if phase not in self._paths_s:
            self._paths_s |= zip(phase.job.phases, _paths_s(phase.job), strict=True)
        return self._paths_s[phase]


def _paths_s(job: JobEntry) -> list[float]:
    """The path of each phase, from its start to the job's end. Later ones read earlier ones."""
    behind_s = [0.0] * len(job.phases)
    paths_s = [0.0] * len(job.phases)
    for index in reversed(range(len(job.phases))):
        phase = job.phases[index]
        paths_s[index] = _longest_s(phase.phase) + behind_s[index]
        for one in phase.after:
            behind_s[one] = max(behind_s[one], paths_s[index])
    return paths_s


def _longest_s(phase: Phase) -> float:
    parts = (phase.fetch, phase.lengths)
    return sum(lengths.max_s(phase.tasks) for lengths in parts if lengths is not None)
