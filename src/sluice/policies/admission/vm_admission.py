"""Admission to pools of VMs: a job is refused at its arrival, with the least deadline possible.

A job is refused if no cluster of idle pools could meet its deadline; a later chance cannot come.
With immediate service it is also refused if it gets no VMs at its arrival. The refusal names the
least deadline that would be accepted. The pools themselves are those of the task policy `vm-pools`.
Source: Cura, spec section 6, E11, and the two service models.
"""

from __future__ import annotations

from sluice.core.protocols import AdmissionPolicy, Admit, Policy, Refuse
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.policies.machines.vm_pools import PooledVms


class VmAdmission(AdmissionPolicy):
    """Takes the jobs that the pools can serve in time. pools: set before the first event."""

    name = "vm-pools"

    def __init__(self, settings: object = None) -> None:
        super().__init__(settings)
        self.pools: PooledVms | None = None
        self._refusals: dict[JobId, Reason | None] = {}

    def saved(self) -> dict[str, object]:
        return {}  # a round answers all that ask, and leaves nothing

    def round_at_s(self, now_s: float) -> float:
        return now_s  # once an instant, when it is complete: jobs that arrive together compete

    def decide(self, job: Job, state: ClusterState) -> Admit | Refuse:
        assert self.pools is not None, "it is set when the scheduler is made"
        if job.job_id not in self._refusals:
            self._refusals = self.pools.refusals(tuple(state.deferred.values()), state)
        reason = self._refusals.pop(job.job_id)
        return Admit() if reason is None else Refuse(reason)


def link_admission(admission: Policy, tasks: Policy) -> None:
    """Let admission to pools of VMs ask the pools. Raises InvalidInput if one of the two lacks."""
    is_immediate = isinstance(tasks, PooledVms) and tasks.settings.vm_service == "immediate"
    if isinstance(admission, VmAdmission):
        if not isinstance(tasks, PooledVms):
            raise InvalidInput(
                f"it has no effect with --tasks {tasks.name}",
                where=f"--admission {admission.name}",
                hint=f"add --tasks {PooledVms.name}",
            )
        admission.pools = tasks
    elif is_immediate:
        raise InvalidInput(
            "no job can be refused, and immediate service refuses jobs that would wait",
            where="vm_service",
            hint=f"add --admission {VmAdmission.name}",
        )
