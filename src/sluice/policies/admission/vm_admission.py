"""Admission to pools of VMs: a job is refused at its arrival, with the least deadline possible.

A job is refused if no cluster of idle pools could meet its deadline; a later chance cannot come.
With immediate service it is also refused if it gets no VMs at its arrival. The refusal names the
least deadline that would be accepted. The pools themselves are those of the task policy `vm-pools`.
Source: Cura, spec section 6, E11, and the two service models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sluice.core.entries import JobEntry
from sluice.core.protocols import AdmissionPolicy, Admit, Refuse
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.ids import JobId
from sluice.model.job import Job


class RefusingPools(Protocol):
    """The pools, which know what they can serve."""

    def refusals(
        self, entries: Sequence[JobEntry], state: ClusterState
    ) -> dict[JobId, Reason | None]:
        """By job that arrived, why it is refused; None for one that is accepted."""


class VmAdmission(AdmissionPolicy):
    """Takes the jobs that the pools can serve in time. pools: set before the first event."""

    name = "vm-pools"
    remembers = ()  # a round answers all that ask, and leaves nothing

    def __init__(self, settings: object = None) -> None:
        super().__init__(settings)
        self.pools: RefusingPools | None = None
        self._refusals: dict[JobId, Reason | None] = {}

    def round_at_s(self, now_s: float) -> float:
        return now_s  # once an instant, when it is complete: jobs that arrive together compete

    def decide(self, job: Job, state: ClusterState) -> Admit | Refuse:
        assert self.pools is not None, "it is set when the scheduler is made"
        if job.job_id not in self._refusals:
            self._refusals = self.pools.refusals(tuple(state.deferred.values()), state)
        reason = self._refusals.pop(job.job_id)
        return Admit() if reason is None else Refuse(reason)
