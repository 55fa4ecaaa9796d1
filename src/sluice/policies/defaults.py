"""The policies that leave things as they are: take every job, release it at once, rent nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.core.entries import JobEntry
from sluice.core.protocols import Admit, ReleaseOrder, Reservation
from sluice.core.state import ClusterState
from sluice.model.job import Job


class AdmitAll:
    """Takes every job."""

    name = "all"

    def decide(self, job: Job, state: ClusterState) -> Admit:
        return Admit()


class ReleaseOnArrival:
    """Sends each job to the cluster as it arrives, in the order of arrival."""

    name = "input"

    def release(
        self,
        waiting: Sequence[JobEntry],
        state: ClusterState,
        now_s: float,
    ) -> ReleaseOrder:
        return ReleaseOrder(order=waiting)


class KeepPools:
    """Leaves the set of machines alone."""

    name = "keep"

    def reserve(
        self,
        waiting: Sequence[JobEntry],
        state: ClusterState,
        now_s: float,
    ) -> Sequence[Reservation]:
        return ()
