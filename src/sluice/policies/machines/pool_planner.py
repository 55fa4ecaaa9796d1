"""The planner that decides which jobs get which VMs, as the policy `vm-pools` asks it.

Policies and planners do not import each other; bootstrap puts the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.vm_pools import LateOffer, PoolChange, VmGrant


class PoolPlanner(Protocol):
    """Decides which jobs get which VMs; `sluice.planning.pools` has one."""

    def set_pool(self, vm_type: str, units: float, vms: int, now_s: float) -> None:
        """A pool has this many VMs from now on."""

    def sizes(self, now_s: float) -> Mapping[str, int]:
        """VMs that each pool is to have now, of jobs and free."""

    def changes(self) -> Sequence[PoolChange]:
        """The checks of the pool sizes so far."""

    def arrive(self, job: Job, now_s: float) -> None:
        """A job wants VMs."""

    def ask(
        self, jobs: Iterable[Job], now_s: float, *, at_once: bool
    ) -> tuple[Mapping[JobId, float | None], list[VmGrant]]:
        """New jobs want VMs, by their deadline or at once. Returns those that are refused, each
        with the least deadline that would be accepted; and the jobs that get VMs now.
        """

    def finish(self, job_id: JobId, now_s: float) -> None:
        """A job has given its VMs back."""

    def leave(self, job_id: JobId) -> None:
        """A job without VMs wants none any more."""

    def occupy(self, vm_type: str, places: Sequence[int], now_s: float) -> float:
        """A job has these VMs of a pool. Returns the seconds until their servers are up."""

    def vacate(self, vm_type: str, places: Sequence[int], now_s: float) -> None:
        """A job has these VMs no more."""

    def power(self, now_s: float) -> Mapping[str, float] | None:
        """Return what shutting down servers has saved; None for servers that stay on."""

    def decide(self, now_s: float) -> Sequence[VmGrant]:
        """The jobs that get VMs now."""

    def next_at_s(self, now_s: float) -> float | None:
        """When to ask again if nothing else happens; None for never."""

    def next_check_s(self, now_s: float) -> float | None:
        """When the pool sizes are checked next; None for never."""

    def reservation(self, job_id: JobId) -> VmGrant | None:
        """The tentative reservation of a job."""

    def saved(self) -> Mapping[str, Any]:
        """Return what the planner remembers, as JSON values."""

    def restored(self, saved: Mapping[str, Any], jobs: Mapping[JobId, Job]) -> None:
        """Remember again what `saved` returned. jobs: with all that have not ended."""

    def late_offer(self, job_id: JobId) -> LateOffer | None:
        """Return the offer to a job that can no longer meet its deadline; None for others."""
