"""The nodes that one job has to itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sluice.core.entries import Attempt, JobEntry, NodeEntry
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.codec import as_plain, from_plain
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.model.vm_pools import LateOffer, VmGrant

_CONTAINER = SlotKind.CONTAINER
_LATE = 1e-9  # relative; a job that ends this little after its deadline has met it


class VmLease:
    """The nodes of one job. nodes: their indexes.  units: of all its VMs.

    ready_s: when they have booted.
    """

    __slots__ = ("entry", "given_s", "grant", "nodes", "ready_s", "reason", "units")

    def __init__(
        self, entry: JobEntry, grant: VmGrant, nodes: list[int], now_s: float, boot_s: float,
        units: float,
    ) -> None:  # fmt: skip
        self.entry = entry
        self.grant = grant
        self.nodes = nodes
        self.given_s = now_s
        self.ready_s = now_s + boot_s
        self.units = units
        self.reason = Reason(ReasonCode.OWN_VMS, (("vms", grant.vms), ("type", grant.vm_type)))

    def assignments(self, node: NodeEntry) -> Iterator[Assignment]:
        """The tasks of the job that start on a node of it, which changes with each."""
        for phase in self.entry.phases:
            kind = phase.kind
            if kind is _CONTAINER and not phase.has_inputs:
                continue  # it could hold the containers that the tasks before it need again
            while phase.is_queued and node.free[kind]:
                is_alike = phase.job.alike
                tasks = min(node.free[kind], phase.pending.count) if is_alike else 1
                yield Assignment(phase, kind, self.reason, tasks)

    def why_waiting(self, now_s: float) -> Reason:
        """Why a task of the job waits."""
        if now_s < self.ready_s:
            return Reason(ReasonCode.VMS_BOOT, (("at_s", round(self.ready_s, 1)),))
        return Reason(ReasonCode.OWN_VMS_BUSY, self.reason.numbers)

    def why_no_copy(self, attempt: Attempt, state: ClusterState) -> Reason | None:
        """Why a slow attempt is copied to no other node of the job; None if one has room."""
        kind = attempt.phase.kind
        nodes = [state.node_at[index] for index in self.nodes]
        if any(node is not attempt.node and node.free[kind] for node in nodes):
            return None
        return Reason(ReasonCode.NO_SLOT_FOR_COPY, (("kind", kind.value),))

    def saved(self) -> dict[str, Any]:
        """The lease as JSON values."""
        return {
            "given_s": self.given_s,
            "grant": list(self.grant),
            "nodes": self.nodes,
            "ready_s": self.ready_s,
            "units": self.units,
        }

    def row(
        self, now_s: float, before: tuple[float, float], late: LateOffer | None
    ) -> dict[str, Any]:
        """Its row of a report. before: first grant, and unit-seconds of VMs that were lost."""
        job, ended_s = self.entry.job, self.entry.finished_at_s
        limit_s = math.inf if job.deadline_at_s is None else job.deadline_at_s
        is_done = self.entry.state is JobState.DONE
        began_s, unit_s = before
        return {
            "vm_type": self.grant.vm_type,
            "vms": self.grant.vms,
            "started_at_s": began_s,
            "planned_until_s": self.grant.known_until_s,
            "finished_at_s": ended_s,
            "unit_s": unit_s + (now_s - self.given_s) * self.units,
            "met": is_done
            and ended_s <= limit_s + _LATE * max(1.0, abs(ended_s))
            and (late is None or job.vm_request is None),
            "least_deadline_at_s": None if late is None else late.least_deadline_at_s,
        }

    @classmethod
    def restored(cls, saved: Mapping[str, Any], jobs: Mapping[str, JobEntry]) -> VmLease:
        """The lease of which `saved` gave the values."""
        grant = VmGrant(*saved["grant"])
        nodes, given_s = list(saved["nodes"]), saved["given_s"]
        made = cls(jobs[grant.job_id], grant, nodes, given_s, 0.0, saved["units"])
        made.ready_s = saved["ready_s"]
        return made


def saved_end(entry: JobEntry) -> dict[str, Any]:
    """A job that has ended, which an opening leaves out."""
    return {
        "finished_at_s": entry.finished_at_s,
        "job": as_plain(entry.job),
        "state": entry.state.value,
    }


def ended_entry(saved: Mapping[str, Any], state: ClusterState) -> JobEntry:
    """The job of which `saved_end` gave the values. Nothing of it runs or waits."""
    job: Job = from_plain(Job, saved["job"])
    entry = JobEntry(job, 0, state.pools[job.pool], alike=False)
    entry.state, entry.finished_at_s = JobState(saved["state"]), saved["finished_at_s"]
    return entry
