"""The policies that leave things as they are: take every job, release it at once, rent nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from sluice.core.entries import JobEntry
from sluice.core.protocols import AdmissionPolicy, Admit, PoolPolicy, ReleaseOrder, ReleasePolicy
from sluice.core.state import ClusterState
from sluice.model.job import Job

_ADMIT: Final = Admit()


class AdmitAll(AdmissionPolicy):
    """Takes every job."""

    name: ClassVar[str] = "all"
    remembers = ()

    def decide(self, job: Job, state: ClusterState) -> Admit:
        return _ADMIT


class ReleaseOnArrival(ReleasePolicy):
    """Sends each job to the cluster as it arrives, in the order of arrival."""

    name: ClassVar[str] = "input"
    is_on_arrival: ClassVar[bool] = True
    remembers = ()

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        return ReleaseOrder(order=waiting)


class KeepPools(PoolPolicy):
    """Leaves the set of machines alone."""

    name: ClassVar[str] = "keep"
    remembers = ()
