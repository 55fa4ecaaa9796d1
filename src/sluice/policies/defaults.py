"""The policies that leave things as they are: take every job, release it at once, rent nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.core.entries import JobEntry
from sluice.core.protocols import (
    AdmissionPolicy,
    Admit,
    PoolPolicy,
    ReleaseOrder,
    ReleasePolicy,
)
from sluice.core.state import ClusterState
from sluice.model.job import Job


class AdmitAll(AdmissionPolicy):
    """Takes every job."""

    name = "all"

    def decide(self, job: Job, state: ClusterState) -> Admit:
        return Admit()


class ReleaseOnArrival(ReleasePolicy):
    """Sends each job to the cluster as it arrives, in the order of arrival."""

    name = "input"
    is_on_arrival = True

    def release(
        self,
        waiting: Sequence[JobEntry],
        state: ClusterState,
        now_s: float,
    ) -> ReleaseOrder:
        return ReleaseOrder(order=waiting)


class KeepPools(PoolPolicy):
    """Leaves the set of machines alone."""

    name = "keep"
