"""A job order by a key of each job.

An order of your own derives from `JobOrder` and defines `candidates` and `job_place`; one whose
places change only when a job's tasks change derives from `RankedJobs` and defines `key`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mypy_extensions import mypyc_attr

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.job_ranking import JobRanking
from sluice.core.state import ClusterState
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder, Key

CandidateOrder = JobOrder  # its name up to release 0.3


@mypyc_attr(allow_interpreted_subclasses=True)
class RankedJobs(JobOrder):
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
