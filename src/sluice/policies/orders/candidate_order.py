"""A job order that only says who comes first: all other questions are answered from that.

An order of your own derives from `CandidateOrder` and defines `candidates` and `job_place`; one
whose places change only when a job's tasks change derives from `RankedJobs` and defines `key`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.job_ranking import JobRanking
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key, Pick, Place

IN_TURN: Final = Reason(ReasonCode.FIRST_IN_LINE)


@mypyc_attr(allow_interpreted_subclasses=True)
class CandidateOrder(JobOrder):
    """An order by its candidates. All jobs are in one queue, whatever their pools."""

    def attach(self, state: ClusterState) -> None:
        self.state = state

    # --- what an order defines ----------------------------------------------------------------

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        """Phases of a kind with a task that may start, the first in turn first.

        It is asked again after each start, and only as far as it is needed.
        """
        raise AssertionError("a CandidateOrder defines candidates()")

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        """A job's place in the order, also of one that can start nothing; lower is first."""
        raise AssertionError("a CandidateOrder defines job_place()")

    def start_reason(self, phase: PhaseEntry) -> Reason:
        """Why it is this phase's turn."""
        return IN_TURN

    # --- what follows -------------------------------------------------------------------------

    def pool_place(self, pool: PoolEntry, kind: SlotKind) -> Key:
        return ()

    def has_waiting(self, kind: SlotKind) -> bool:
        return self.state.backlogs[kind].count > 0

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return self.has_waiting(slot_kind)

    def has_room(self, node: NodeEntry, kind: SlotKind, more: int) -> bool:
        return node.free[kind] > 0

    def pick(
        self,
        node: NodeEntry,
        kind: SlotKind,
        pool: PoolEntry | None = None,
        before: Place | None = None,
    ) -> Pick | None:
        for phase in self.candidates(kind):
            if before is not None and self.job_place(phase.job, kind) > before.job:
                return None
            if self.may_start(phase, node):
                return Pick(phase, self.start_reason(phase))
        return None

    def may_start(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether a task of a phase may start on the node, now that its turn has come."""
        return self.fits(phase, node)

    def pick_within(
        self, node: NodeEntry, kind: SlotKind, farthest: Locality, pool: PoolEntry | None = None
    ) -> Pick | None:
        for phase in self.candidates(kind):
            nearest = phase.pending.nearest(node.node_id, node.rack)
            is_near = nearest is Locality.NODE or farthest is Locality.ANY
            if is_near and self.fits(phase, node):
                return Pick(phase, self.start_reason(phase))
        return None

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        jobs: dict[JobEntry, int] = {}
        for ahead in self.candidates(phase.kind):
            if ahead is phase:
                break
            if ahead.job is not phase.job:
                jobs[ahead.job] = jobs.get(ahead.job, 0) + ahead.pending.count
        if jobs:
            tasks = sum(jobs.values())
            return Reason(ReasonCode.BEHIND_IN_LINE, (("ahead", len(jobs)), ("tasks", tasks)))
        numbers = (("slots", state.slots[phase.kind]), ("kind", phase.kind.value))
        return Reason(ReasonCode.SLOTS_BUSY, numbers)


@mypyc_attr(allow_interpreted_subclasses=True)
class RankedJobs(CandidateOrder):
    """An order of jobs by a key that changes only when something about the job's tasks changes."""

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._ranking = JobRanking(state, self.key)

    def key(self, job: JobEntry) -> Key:
        """The job's place; ties need a last part that no two jobs share, such as its seniority."""
        raise AssertionError("a RankedJobs order defines key()")

    def candidates(self, kind: SlotKind) -> Iterator[PhaseEntry]:
        return self._ranking.phases(kind)

    def job_place(self, job: JobEntry, kind: SlotKind) -> Key:
        return self.key(job)


def owed_jobs(state: ClusterState) -> list[JobEntry]:
    """The active jobs below their promise, the one with the smallest part of it first."""
    owed = [job for job in state.promises.values() if job.is_owed and job.release_seq >= 0]
    return sorted(owed, key=lambda job: (job.running / job.promised, job.release_seq))
