"""Pools of VMs at task level: a job has the nodes that it was granted to itself.

Pools are the nodes of one VM type. A planner decides which job gets how many nodes of which type,
and when; the policy chooses the nodes, the first free ones of the type, and runs the tasks of the
job on them first in, first out. A job keeps its nodes until it ends, as a job of Cura keeps its
Hadoop cluster. If a node is lost the job goes on with the others, and without any it asks for nodes
again. On a cluster whose nodes have no VM type it serves tasks as `fifo` does.
Source: Cura, spec sections 2 and 5.3.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.events import AttemptKey
from sluice.core.protocols import Assignment, SlotShortage, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job, SlotKind
from sluice.model.settings import SettingsGroup, number, word
from sluice.model.vm_pools import VmGrant
from sluice.policies.fifo import Fifo

_CONTAINER = SlotKind.CONTAINER
_LATE = 1e-9  # relative; a job that ends this little after its deadline has met it


class PoolPlanner(Protocol):
    """Decides which jobs get which VMs; `sluice.planning.pools` has one."""

    def set_pool(self, vm_type: str, units: float, vms: int, now_s: float) -> None:
        """A pool has this many VMs from now on."""

    def arrive(self, job: Job, now_s: float) -> None:
        """A job wants VMs."""

    def finish(self, job_id: JobId, now_s: float) -> None:
        """A job has given its VMs back."""

    def leave(self, job_id: JobId) -> None:
        """A job without VMs wants none any more."""

    def decide(self, now_s: float) -> Sequence[VmGrant]:
        """The jobs that get VMs now."""

    def next_at_s(self, now_s: float) -> float | None:
        """When to ask again if nothing else happens; None for never."""

    def reservation(self, job_id: JobId) -> VmGrant | None:
        """The tentative reservation of a job."""

    def is_late(self, job_id: JobId) -> bool:
        """Whether the job can no longer meet its deadline."""


class _Lease:
    """The nodes of one job. nodes: their indexes.  ready_s: when they have booted."""

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
        self.units = units  # of all its VMs
        self.reason = Reason(ReasonCode.OWN_VMS, (("vms", grant.vms), ("type", grant.vm_type)))


class PooledVms(TaskPolicy):
    """Nodes for each job to itself. planner: decides which; None if no node has a VM type."""

    name: ClassVar[str] = "vm-pools"

    @dataclass(frozen=True, kw_only=True)
    class Settings(SettingsGroup):
        """How the planner decides."""

        vm_rule: str = word(
            "vm-aware",
            "how jobs get VMs (vm-pools): compared with each other, or each its own optimum",
            "vm-aware",
            "instant-opt",
        )
        vm_boot_s: float = number(0.0, "seconds that VMs boot for each job (vm-pools)")
        vm_tick_s: float = number(0.0, "planned times are whole ticks; 0 for exact (vm-pools)")
        vm_window_s: float | None = number(
            None, "longest reservation window in seconds (vm-pools)", above=0.0
        )

    def __init__(self, planner: PoolPlanner | None = None, *, boot_s: float = 0.0) -> None:
        super().__init__(self.Settings())
        self._planner = planner
        self._boot_s = boot_s
        self._fifo = Fifo()

    def attach(self, state: ClusterState) -> None:
        self._fifo.attach(state)
        self._touched: dict[JobId, JobEntry] = {}
        self._nodes_seen = -1
        self._types: dict[str, float] = {}  # units of one VM
        self._free: dict[str, list[int]] = {}  # indexes of free nodes, ascending
        self._sizes: dict[str, int] = {}  # VMs that are up
        self._owner: dict[int, _Lease] = {}
        self._leases: dict[JobId, _Lease] = {}
        self._known: set[JobId] = set()
        self._rows: dict[JobId, dict[str, Any] | None] = {}  # of jobs that ended; None without VMs
        self._before: dict[JobId, tuple[float, float]] = {}  # first grant, unit-seconds of lost VMs
        self._stories: dict[JobId, list[tuple[float, str, str]]] = {}
        state.observe(self)

    def touch(self, phase: PhaseEntry) -> None:
        """A job may have come, or ended; it is looked at when the instant is complete."""
        self._touched[phase.job_id] = phase.job

    # --- bookkeeping, at each decision ------------------------------------------------------------

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """No attempt is ended. It is the first question of every decision, so that nodes change
        hands here, before any work is assigned.
        """
        planner = self._planner
        is_same = self._nodes_seen == state.node_changes
        if planner is None or (is_same and not self._types):
            return ()
        touched = self._touched
        for job_id, entry in touched.items():
            if entry.has_ended and job_id in self._leases:
                self._take_back(self._leases[job_id], planner, now_s)
        if not is_same:
            self._nodes_seen = state.node_changes
            self._count_nodes(state, planner, now_s)
        if not self._types:
            return ()  # tasks are served as `fifo` does
        self._touched = {}
        for job_id, entry in touched.items():
            if job_id in state.active and job_id not in self._known:
                self._known.add(job_id)
                planner.arrive(entry.job, now_s)
            elif entry.has_ended and job_id in self._known and job_id not in self._rows:
                self._rows[job_id] = None
                planner.leave(job_id)  # it was killed before it had any VMs
        for grant in planner.decide(now_s):
            self._give(grant, state, now_s)
        return ()

    def _give(self, grant: VmGrant, state: ClusterState, now_s: float) -> None:
        free = self._free[grant.vm_type]
        nodes, self._free[grant.vm_type] = free[: grant.vms], free[grant.vms :]
        assert len(nodes) == grant.vms, "the planner knows how many VMs there are"
        units = grant.vms * self._types[grant.vm_type]
        lease = _Lease(state.jobs[grant.job_id], grant, nodes, now_s, self._boot_s, units)
        self._leases[grant.job_id] = lease
        for index in nodes:
            self._owner[index] = lease
        self._note(grant.job_id, now_s, f"got {grant.vms} {_vms(grant.vms)} of {grant.vm_type}",
                   f"planned until {round(grant.until_s, 1):g} s")  # fmt: skip

    def _take_back(self, lease: _Lease, planner: PoolPlanner, now_s: float) -> None:
        """A job has ended."""
        job = lease.entry.job
        planner.finish(job.job_id, now_s)
        self._return(lease)
        self._rows[job.job_id] = self._row(lease, now_s)
        self._note(job.job_id, now_s, f"gave back its VMs of {lease.grant.vm_type}", "it ended")

    def _return(self, lease: _Lease) -> None:
        del self._leases[lease.grant.job_id]
        for index in lease.nodes:
            del self._owner[index]
            insort(self._free[lease.grant.vm_type], index)

    def _count_nodes(self, state: ClusterState, planner: PoolPlanner, now_s: float) -> None:
        """Nodes have come or gone: count each pool again, and take lost nodes from their jobs."""
        up: dict[str, list[int]] = {}
        for node in state.node_at:
            if node.node.vm_type:
                here = up.setdefault(node.node.vm_type, [])
                self._types.setdefault(node.node.vm_type, node.node.vm_units)
                if node.is_up:
                    here.append(node.index)
        stranded = []
        for lease in self._leases.values():
            lost = [index for index in lease.nodes if not state.node_at[index].is_up]
            for index in lost:
                lease.nodes.remove(index)
                del self._owner[index]
            if not lease.nodes:
                stranded.append(lease)
        for vm_type, indexes in up.items():
            if len(indexes) != self._sizes.get(vm_type):
                planner.set_pool(vm_type, self._types[vm_type], len(indexes), now_s)
            self._free[vm_type] = [index for index in indexes if index not in self._owner]
            self._sizes[vm_type] = len(indexes)
        for lease in stranded:
            began_s, unit_s = self._before.get(lease.grant.job_id, (lease.given_s, 0.0))
            unit_s += (now_s - lease.given_s) * lease.units
            self._before[lease.grant.job_id] = began_s, unit_s
            self._return(lease)
            planner.finish(lease.grant.job_id, now_s)
            planner.arrive(lease.entry.job, now_s)
            self._note(lease.grant.job_id, now_s, "lost all its VMs", "their nodes were lost")

    # --- placing ----------------------------------------------------------------------------------

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        if self._planner is None or not node.node.vm_type:
            yield from self._fifo.assign(node, state, now_s)
            return
        lease = self._owner.get(node.index)
        if lease is None or now_s < lease.ready_s:
            return
        for phase in lease.entry.phases:
            kind = phase.kind
            if kind is _CONTAINER and not phase.has_inputs:
                continue  # it could hold the containers that the tasks before it need again
            while phase.is_queued and node.free[kind]:
                is_alike = phase.job.alike
                tasks = min(node.free[kind], phase.pending.count) if is_alike else 1
                yield Assignment(phase, kind, lease.reason, tasks)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return state.backlogs[slot_kind].first() is not None

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        if self._planner is None:
            return None
        instants = [one.ready_s for one in self._leases.values() if one.ready_s > now_s]
        next_s = self._planner.next_at_s(now_s)
        return min(instants if next_s is None else [*instants, next_s], default=None)

    # --- answers ----------------------------------------------------------------------------------

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        planner, job_id = self._planner, phase.job_id
        if planner is None or not self._types:
            return self._fifo.explain(phase, state, now_s)
        lease = self._leases.get(job_id)
        if lease is not None:
            if now_s < lease.ready_s:
                return Reason(ReasonCode.VMS_BOOT, (("at_s", round(lease.ready_s, 1)),))
            return Reason(ReasonCode.OWN_VMS_BUSY, lease.reason.numbers)
        found = planner.reservation(job_id)
        if found is not None:
            numbers = (
                ("vms", found.vms),
                ("type", found.vm_type),
                ("at_s", round(found.start_s, 1)),
            )
            late = planner.is_late(job_id)
            return Reason(
                ReasonCode.VMS_RESERVED_LATE if late else ReasonCode.VMS_RESERVED, numbers
            )
        return Reason(ReasonCode.VMS_LATE if planner.is_late(job_id) else ReasonCode.VMS_AWAITED)

    def notes(self, job: JobEntry) -> Iterable[tuple[float, str, str]]:
        return tuple(self._stories.get(job.job_id, ()))

    def _note(self, job_id: JobId, at_s: float, what: str, why: str) -> None:
        self._stories.setdefault(job_id, []).append((at_s, what, why))

    def _row(self, lease: _Lease, now_s: float) -> dict[str, Any]:
        job, ended_s = lease.entry.job, lease.entry.finished_at_s
        limit_s = math.inf if job.deadline_at_s is None else job.deadline_at_s
        is_done = lease.entry.state is JobState.DONE
        began_s, unit_s = self._before.get(job.job_id, (lease.given_s, 0.0))
        return {
            "vm_type": lease.grant.vm_type,
            "vms": lease.grant.vms,
            "started_at_s": began_s,
            "planned_until_s": lease.grant.until_s,
            "finished_at_s": ended_s,
            "unit_s": unit_s + (now_s - lease.given_s) * lease.units,
            "met": is_done and ended_s <= limit_s + _LATE * max(1.0, abs(ended_s)),
        }

    def report(self) -> Mapping[str, object]:
        if not self._types:
            return {}
        ran = {job_id: row for job_id, row in self._rows.items() if row is not None}
        return {
            "vm_pools": {"unit_s": math.fsum(row["unit_s"] for row in ran.values()), "jobs": ran}
        }

    # --- checks -----------------------------------------------------------------------------------

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        pools: dict[str, int] = {}
        for node in nodes:
            if node.vm_type:
                pools[node.vm_type] = pools.get(node.vm_type, 0) + 1
        if not pools:
            return
        if any(not node.vm_type for node in nodes):
            raise InvalidInput(
                "some nodes have a VM type and some have none",
                where="cluster",
                hint="give vm_types without a cluster",
            )
        for job in jobs:
            if not any(one.vms <= pools.get(one.vm_type, 0) for one in job.predictions):
                what = "no prediction of it fits" if job.predictions else "it has no predictions"
                raise InvalidInput(
                    f"{what}, so that it cannot get VMs of the pools",
                    where=f"job {job.job_id!r}",
                    hint="give predictions for numbers of VMs up to the size of a pool",
                )

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        return self._fifo.shortage(kind, nodes)


def _vms(count: int) -> str:
    return "VM" if count == 1 else "VMs"
