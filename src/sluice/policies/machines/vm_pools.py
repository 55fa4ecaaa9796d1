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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.offers import Offer
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.fitting import SlotShortage
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.model.vm_pools import VmGrant
from sluice.policies.machines.pool_planner import PoolPlanner
from sluice.policies.machines.vm_lease import VmLease, ended_entry, saved_end
from sluice.policies.machines.vm_nodes import VmNodes
from sluice.policies.machines.vm_settings import VmPoolSettings
from sluice.policies.memory import Memory
from sluice.policies.orders.fifo import Fifo


class PooledVms(TaskPolicy):
    """Nodes for each job to itself. planner: decides which; None if no node has a VM type.

    others: serves nodes without a VM type, says how tasks are seen, and copies slow tasks to other
        nodes of their job; None for `fifo`.
    """

    name: ClassVar[str] = "vm-pools"
    Settings: ClassVar[type[Any]] = VmPoolSettings

    def __init__(
        self,
        planner: PoolPlanner | None = None,
        settings: VmPoolSettings | None = None,
        others: TaskPolicy | None = None,
    ) -> None:
        super().__init__(settings)
        self._planner = planner
        self._boot_s: float = self.settings.vm_boot_s
        self._others = others or Fifo()

    @property
    def needs_containers(self) -> bool:
        return self._others.needs_containers

    @property
    def has_any_slot(self) -> bool:
        return self._others.has_any_slot

    @property
    def reads_progress(self) -> bool:
        return self._others.reads_progress

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        has_pools = any(node.vm_type for node in nodes)
        return not has_pools and self._others.keeps_promises(jobs, nodes)

    def attach(self, state: ClusterState) -> None:
        self._others.attach(state)
        self._touched: dict[JobId, JobEntry] = {}
        self._nodes = VmNodes()
        self._owner: dict[int, VmLease] = {}
        self._leases: dict[JobId, VmLease] = {}
        self._known: set[JobId] = set()
        self._rows: dict[JobId, dict[str, Any] | None] = {}  # of jobs that ended; None without VMs
        self._refused: dict[JobId, dict[str, Any]] = {}
        self._last_s = 0.0  # of the last decision
        self._before: dict[JobId, tuple[float, float]] = {}  # first grant, unit-seconds of lost VMs
        self._stories: dict[JobId, list[tuple[float, str, str]]] = {}
        state.observe(self)

    def touch(self, phase: PhaseEntry) -> None:
        """A job may have come, or ended; it is looked at when the instant is complete."""
        self._touched[phase.job_id] = phase.job

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self._others.forget(jobs)
        for job in [one for one in jobs if one.job_id not in self._leases]:
            self._known.discard(job.job_id)
            for table in (self._touched, self._rows, self._refused, self._before, self._stories):
                table.pop(job.job_id, None)

    # --- memory -----------------------------------------------------------------------------------

    def saved(self) -> Memory | None:
        others = self._others.saved()
        if others is None or self._planner is None:
            return others
        return {
            "before": self._before,
            "known": sorted(self._known),
            "last_s": self._last_s,
            "leases": [lease.saved() for lease in self._leases.values()],
            "nodes": self._nodes.saved(),
            "others": others,
            "planner": self._planner.saved(),
            "refused": self._refused,
            "rows": self._rows,
            "stories": self._stories,
            "touched": [
                [job_id, saved_end(entry) if self._must_end(entry) else None]
                for job_id, entry in self._touched.items()
                if not entry.has_ended or self._must_end(entry)
            ],
        }

    def _must_end(self, entry: JobEntry) -> bool:
        """Whether the job has ended since the last decision, with VMs or waiting for some."""
        job_id = entry.job_id
        waits = job_id in self._known and job_id not in self._rows
        return entry.has_ended and (job_id in self._leases or waits)

    def restored(self, saved: Memory, state: ClusterState) -> None:
        if self._planner is None:
            self._others.restored(saved, state)
            return
        self._others.restored(saved["others"], state)
        ended = {job_id: ended_entry(end, state) for job_id, end in saved["touched"] if end}
        jobs = {**ended, **state.jobs}
        self._touched = {job_id: jobs[job_id] for job_id, _ in saved["touched"]}
        self._known, self._last_s = set(saved["known"]), saved["last_s"]
        self._rows, self._refused = dict(saved["rows"]), dict(saved["refused"])
        self._before = {
            job_id: (at_s, unit_s) for job_id, (at_s, unit_s) in saved["before"].items()
        }
        self._stories = {
            job_id: [(at_s, what, why) for at_s, what, why in story]
            for job_id, story in saved["stories"].items()
        }
        self._nodes.restored(saved["nodes"], state)
        leases = [VmLease.restored(one, jobs) for one in saved["leases"]]
        self._leases = {lease.grant.job_id: lease for lease in leases}
        self._owner = {index: lease for lease in leases for index in lease.nodes}
        self._planner.restored(saved["planner"], {one: jobs[one].job for one in jobs})

    # --- bookkeeping, at each decision ------------------------------------------------------------

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """No attempt is ended. It is the first question of every decision, so that nodes change
        hands here, before any work is assigned.
        """
        planner = self._planner
        if planner is None or not self._has_pools(state, planner, now_s):
            return self._others.kills(state, now_s)
        touched, self._touched = self._touched, {}
        self._last_s = now_s
        for job_id, entry in touched.items():
            if job_id in state.active and job_id not in self._known:
                self._known.add(job_id)
                planner.arrive(entry.job, now_s)
            elif entry.has_ended and job_id in self._known and job_id not in self._rows:
                self._rows[job_id] = None
                planner.leave(job_id)  # it was killed before it had any VMs
        if state.active or not state.is_closed:
            self._resize(planner, state, now_s)
        for grant in planner.decide(now_s):
            self._give(grant, state, now_s)
        return ()

    def refusals(
        self, entries: Sequence[JobEntry], state: ClusterState
    ) -> dict[JobId, Reason | None]:
        """Ask the planner about jobs that have just arrived; the reason for each refusal."""
        planner, now_s = self._planner, state.now_s
        answers: dict[JobId, Reason | None] = {one.job_id: None for one in entries}
        if planner is None or not self._has_pools(state, planner, now_s):
            return answers
        self._resize(planner, state, now_s)
        asked = [one.job for one in entries if one.phases]
        is_immediate = self.settings.vm_service == "immediate"
        refused, grants = planner.ask(asked, now_s, at_once=is_immediate)
        self._known.update(job.job_id for job in asked if job.job_id not in refused)
        for grant in grants:
            self._give(grant, state, now_s)
        for job_id, least_s in refused.items():
            code = ReasonCode.VMS_BUSY if is_immediate else ReasonCode.VMS_TOO_SLOW
            reason = answers[job_id] = Reason(code, (("least", _seconds(least_s)),))
            self._refused[job_id] = {
                "at_s": now_s, "least_deadline_at_s": least_s, "why": reason.text(),
            }  # fmt: skip
        return answers

    def _has_pools(self, state: ClusterState, planner: PoolPlanner, now_s: float) -> bool:
        """Bring nodes up to date; returns whether any has a VM type. If not, tasks are served as
        `fifo` does.
        """
        nodes = self._nodes
        for job_id, entry in self._touched.items():
            if entry.has_ended and job_id in self._leases:
                self._take_back(self._leases[job_id], planner, now_s)
        if not nodes.has_counted(state):
            self._count_nodes(state, planner, now_s)
        return bool(nodes.units)

    def _resize(self, planner: PoolPlanner, state: ClusterState, now_s: float) -> None:
        """Shut down and start VMs as the planner wants."""
        if not self.settings.vm_reconfigure:
            return
        nodes = self._nodes
        for vm_type, vms in planner.sizes(now_s).items():
            if not nodes.resize(vm_type, vms, state):
                planner.set_pool(vm_type, nodes.units[vm_type], nodes.sizes[vm_type], now_s)

    def _give(self, grant: VmGrant, state: ClusterState, now_s: float) -> None:
        nodes = self._nodes.take(grant.vm_type, grant.vms)
        units = grant.vms * self._nodes.units[grant.vm_type]
        places, boot_s = self._nodes.places(nodes), self._boot_s
        if self._planner is not None:
            boot_s += self._planner.occupy(grant.vm_type, places, now_s)
        lease = VmLease(state.jobs[grant.job_id], grant, nodes, now_s, boot_s, units)
        self._leases[grant.job_id] = lease
        for index in nodes:
            self._owner[index] = lease
        until_s = grant.known_until_s
        why = "until it ends" if until_s is None else f"planned until {round(until_s, 1):g} s"
        what = f"got {grant.vms} {_vms(grant.vms)} of {grant.vm_type}"
        self._note(grant.job_id, now_s, what, why)

    def _take_back(self, lease: VmLease, planner: PoolPlanner, now_s: float) -> None:
        """A job has ended."""
        job = lease.entry.job
        planner.finish(job.job_id, now_s)
        self._return(lease, planner, now_s)
        before = self._before.get(job.job_id, (lease.given_s, 0.0))
        self._rows[job.job_id] = lease.row(now_s, before, planner.late_offer(job.job_id))
        self._note(job.job_id, now_s, f"gave back its VMs of {lease.grant.vm_type}", "it ended")

    def _return(self, lease: VmLease, planner: PoolPlanner, now_s: float) -> None:
        planner.vacate(lease.grant.vm_type, self._nodes.places(lease.nodes), now_s)
        del self._leases[lease.grant.job_id]
        for index in lease.nodes:
            del self._owner[index]
        self._nodes.give_back(lease.grant.vm_type, lease.nodes)

    def _count_nodes(self, state: ClusterState, planner: PoolPlanner, now_s: float) -> None:
        """Nodes have come or gone: count each pool again, and take lost nodes from their jobs."""
        stranded = []
        for lease in self._leases.values():
            lost = [index for index in lease.nodes if not state.node_at[index].is_up]
            planner.vacate(lease.grant.vm_type, self._nodes.places(lost), now_s)
            for index in lost:
                lease.nodes.remove(index)
                del self._owner[index]
            if not lease.nodes:
                stranded.append(lease)
        nodes = self._nodes
        for vm_type in nodes.count(state, self._owner):
            planner.set_pool(vm_type, nodes.units[vm_type], nodes.sizes[vm_type], now_s)
        for lease in stranded:
            began_s, unit_s = self._before.get(lease.grant.job_id, (lease.given_s, 0.0))
            unit_s += (now_s - lease.given_s) * lease.units
            self._before[lease.grant.job_id] = began_s, unit_s
            self._return(lease, planner, now_s)
            planner.finish(lease.grant.job_id, now_s)
            planner.arrive(lease.entry.job, now_s)
            self._note(lease.grant.job_id, now_s, "lost all its VMs", "their nodes were lost")

    # --- placing ----------------------------------------------------------------------------------

    def fill(self, offer: Offer) -> None:
        if self._planner is None or not offer.node.node.vm_type:
            self._others.fill(offer)
        else:
            super().fill(offer)

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        lease = self._owner.get(node.index)
        if lease is None or now_s < lease.ready_s:
            return
        yield from lease.assignments(node)
        yield from self._others.copies_on(lease.entry, node, now_s)

    def wants_offer(self, state: ClusterState) -> bool:
        if not self._nodes.units:
            return self._others.wants_offer(state)
        # Pools that may change are checked also while no task waits.
        is_checked = self.settings.vm_reconfigure and (bool(self._leases) or not state.is_closed)
        return is_checked or self._others.wants_offer(state)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        if self._planner is None or not self._nodes.units:
            return self._others.wake_at_s(state, now_s)
        instants = [one.ready_s for one in self._leases.values() if one.ready_s > now_s]
        found = [self._planner.next_at_s(now_s)]
        if self.wants_offer(state):
            found.append(self._planner.next_check_s(now_s))
        if self._others.wants_offer(state):  # it copies tasks, and looks for slow ones then
            found.append(self._others.wake_at_s(state, now_s))
        return min([*instants, *(at_s for at_s in found if at_s is not None)], default=None)

    # --- answers ----------------------------------------------------------------------------------

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        planner, job_id = self._planner, phase.job_id
        if planner is None or not self._nodes.units:
            return self._others.explain(phase, state, now_s)
        lease = self._leases.get(job_id)
        if lease is not None:
            return lease.why_waiting(now_s)
        found, late = planner.reservation(job_id), planner.late_offer(job_id)
        least = () if late is None else (("least", _seconds(late.least_deadline_at_s)),)
        if found is None:
            return Reason(ReasonCode.VMS_LATE if late else ReasonCode.VMS_AWAITED, least)
        numbers = (
            ("vms", found.vms),
            ("type", found.vm_type),
            ("at_s", round(found.start_s, 1)),
            *least,
        )
        return Reason(ReasonCode.VMS_RESERVED_LATE if late else ReasonCode.VMS_RESERVED, numbers)

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        reason = self._others.explain_copy(attempt, state, now_s)
        lease = self._leases.get(attempt.phase.job_id)
        is_due = lease is not None and reason.code is ReasonCode.COPY_DUE
        return (lease.why_no_copy(attempt, state) if lease and is_due else None) or reason

    def notes(self, job: JobEntry) -> Iterable[tuple[float, str, str]]:
        noted = list(self._stories.get(job.job_id, ()))
        late = None if self._planner is None else self._planner.late_offer(job.job_id)
        if late is not None:
            least = f"the least that would have been accepted: {_seconds(late.least_deadline_at_s)}"
            is_start = job.job.deadline_at_s is None and job.job.vm_request is not None
            lost = "start in time" if is_start else "meet its deadline"
            noted.append((late.at_s, f"can no longer {lost}", least))
        return sorted(noted, key=lambda note: note[0])

    def _note(self, job_id: JobId, at_s: float, what: str, why: str) -> None:
        self._stories.setdefault(job_id, []).append((at_s, what, why))

    def report(self) -> Mapping[str, object]:
        if self._planner is None or not self._nodes.units:
            return {}
        ran = {job_id: row for job_id, row in self._rows.items() if row is not None}
        power = self._planner.power(
            max([self._last_s, *(one["finished_at_s"] for one in ran.values())])
        )
        return {
            "vm_pools": {
                **({} if power is None else {"power": power}),
                "unit_s": math.fsum(row["unit_s"] for row in ran.values()),
                "jobs": ran,
                "refused": self._refused,
                "reconfigurations": [one.document() for one in self._planner.changes()],
            }
        }

    # --- checks -----------------------------------------------------------------------------------

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        pools: dict[str, int] = {}
        for node in nodes:
            if node.vm_type:
                pools[node.vm_type] = pools.get(node.vm_type, 0) + 1
        if not pools:
            self._others.check(jobs, nodes)
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
        return self._others.shortage(kind, nodes)


def _vms(count: int) -> str:
    return "VM" if count == 1 else "VMs"


def _seconds(at_s: float | None) -> str:
    """An instant for people; no pool is large enough for a job without one."""
    return "none" if at_s is None else f"{math.ceil(at_s * 10) / 10:g} s"
